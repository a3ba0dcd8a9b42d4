"""The views of one call, each with what its span says and what surrounds it.

Owns the bundle that the columns of a call are read from. Refuses to decide anything.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ingest.calls.aliases import FieldName
from ingest.calls.context import Context
from ingest.calls.reading import Reading
from ingest.calls.roles import Part
from ingest.records import Span


class View(NamedTuple):
    """One span that describes a call. `child_http_status` is of the request that it sent."""

    span: Span
    part: Part
    context: Context
    reading: Reading
    child_http_status: int | None = None


class Views(NamedTuple):
    """All views of one call: `own` innermost first, then those around several calls.

    `sender` is the HTTP request by which the call came to the server that wrote the outermost own
    view; it tells how its client saw it end.
    """

    own: tuple[View, ...]
    wrapper: View | None = None
    operation: View | None = None
    sender: View | None = None

    @property
    def innermost(self) -> View:
        """The span that is the call."""
        return self.own[0]

    @property
    def outermost(self) -> View:
        """The view that everything enclosing the call encloses."""
        return self.operation or self.own[-1]

    @property
    def client(self) -> View:
        """The view of whoever waited for this one call."""
        return self.sender or self.own[-1]

    @property
    def identity(self) -> str:
        """What `call_id` is derived from."""
        return f"span:{self.innermost.span.trace_id}:{self.innermost.span.span_id}"

    def readings(self, *, with_wrapper: bool = False) -> list[Reading]:
        """What the call's own views say, innermost first, then the wrapper where asked for."""
        return [view.reading for view in self._chosen(with_wrapper=with_wrapper)]

    def first(self, field: FieldName, *, with_wrapper: bool = False) -> object | None:
        """The value of `field` by the innermost view that has one."""
        for view in self._chosen(with_wrapper=with_wrapper):
            value: object | None = view.reading.first(field)
            if value is not None:
                return value
        return None

    def text(self, field: FieldName, *, with_wrapper: bool = False) -> str | None:
        """`first` of a text field."""
        value = self.first(field, with_wrapper=with_wrapper)
        return None if value is None else str(value)

    def _chosen(self, *, with_wrapper: bool) -> Iterator[View]:
        yield from self.own
        if with_wrapper and self.wrapper is not None:
            yield self.wrapper

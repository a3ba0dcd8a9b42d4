"""What a call asked for: limits, sampling, streaming, format, number of choices.

Owns the columns of the request, and which of its parameters make it another question. Refuses to
fill in a server's default: what nobody said is not known.
"""

from collections.abc import Sequence
from typing import Any

from ingest.calls.aliases import FieldName
from ingest.calls.fingerprints import json_text
from ingest.calls.reading import Reading
from ingest.calls.roles import is_vllm
from ingest.calls.values import as_text, parsed_json
from ingest.calls.views import View, Views
from ingest.records import Json

NUMBERS: tuple[FieldName, ...] = ("max_tokens", "temperature", "top_p", "seed", "n_choices")
STRUCTURES: tuple[FieldName, ...] = ("stop", "response_format")
MAX_CHOICES = 2**31 - 1
"""What the ledger's column holds."""
DEFAULTS: dict[str, Any] = {"temperature": 1.0, "top_p": 1.0, "n_choices": 1}
"""What the API documents for a parameter that is left out: said or not, it asks for the same."""


def request(views: Sequence[Reading]) -> dict[str, Any]:
    """Column to value, from the innermost view that says it."""
    columns: dict[str, Any] = {field: nearest(views, field) for field in (*NUMBERS, "stream")}
    if not 0 < (columns["n_choices"] or 1) <= MAX_CHOICES:
        columns["n_choices"] = None
    for field in STRUCTURES:
        columns[field] = structure_text(nearest(views, field))
    return columns


def told_apart_by(views: Views) -> dict[str, Any]:
    """The parameters that tell two requests with one prompt apart; defaults are left out.

    They are those of the outermost view that states any. An engine states what it made of the
    request: its defaults as well, which the client's silence must equal.
    """
    outward_in = [*([views.wrapper] if views.wrapper else []), *reversed(views.own)]
    stated = next(filter(None, map(_stated, outward_in)), {})
    return {name: value for name, value in stated.items() if value != DEFAULTS.get(name)}


def _stated(view: View) -> dict[str, Any]:
    """What `view` says of the request, in which a stream is the same as an answer at once."""
    said = request([view.reading])
    stated = {name: value for name, value in said.items() if value is not None}
    stated.pop("stream", None)
    if stated and is_vllm(view.span):
        return {"temperature": 0.0, **stated}
    return stated


def nearest(views: Sequence[Reading], field: FieldName) -> Any:
    """The value of `field` by the innermost view that has one."""
    for view in views:
        value = view.first(field)
        if value is not None:
            return value
    return None


def structure_text(raw: Json) -> str | None:
    """A scalar as it is, a list or object as JSON with ordered keys."""
    if raw is None:
        return None
    given = parsed_json(raw)
    if given is None or isinstance(given, str | int | float):
        return as_text(given)
    return json_text(given)

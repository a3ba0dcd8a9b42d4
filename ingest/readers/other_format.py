"""A source that is read as one format and is of another.

Owns the refusal of such a source as a whole, with what it looks like. Refuses to make rejects, or
calls, of the records of another format: a file of which one record shows the format that it is
read as keeps its bad records as rejects.
"""

from collections.abc import Iterator

import orjson

from ingest.files import HEAD_BYTES, RefusedSourceError, Source
from ingest.readers import READERS
from ingest.readers.documents import Document, records
from ingest.readers.foreign import companion, described, other_signal
from ingest.readers.opening import begins_as_json
from ingest.readers.reader import Reader
from ingest.records import Batch, Reject


def read_as(reader: Reader, source: Source) -> Iterator[Batch]:
    """What `reader` makes of `source`.

    Raises what `reader.read` raises, and `RefusedSourceError` that says what the content looks
    like where it is of another format.
    """
    if reader.recognise(source.head, source):
        yield from reader.read(source)
        return
    try:
        if not _may_be(reader, source):
            raise source.refusal(_not_of(reader, _first_reject(reader, source)))
        yield from _taken(reader, source)
    except RefusedSourceError as error:
        seen = _looks_like(source)
        if seen.removeprefix("it is ") in error.found:
            raise
        raise source.refusal(f"{error.found}; {seen}") from error


def _may_be(reader: Reader, source: Source) -> bool:
    """Whether a source of which the head does not show the reader's format may be of it all the
    same: some record shows it, or there is none, or it is no JSON and for the reader to judge.
    """
    if other_signal(source.head) is not None:
        return False
    if not begins_as_json(source.head):
        return True
    is_empty = True
    for item in records(source):
        if isinstance(item, Document):
            is_empty = False
            shown = orjson.dumps(item.value)[:HEAD_BYTES]
            if reader.recognise(shown + b"\n" + shown, source):
                return True
    return is_empty


def _first_reject(reader: Reader, source: Source) -> Reject | None:
    """The first of what `reader` rejects in its first batch; it may make records of the others."""
    for batch in reader.read(source):
        return next(iter(batch.rejects), None)
    return None


def _taken(reader: Reader, source: Source) -> Iterator[Batch]:
    """The batches of `reader`, of which some must have a record or a source without any."""
    is_taken = False
    first: Reject | None = None
    for batch in reader.read(source):
        is_taken = is_taken or bool(batch.spans or batch.calls or batch.samples)
        first = first or next(iter(batch.rejects), None)
        yield batch
    if not is_taken and not begins_as_json(source.head):
        raise source.refusal(_not_of(reader, first))


def _not_of(reader: Reader, first: Reject | None) -> str:
    because = "" if first is None else f" ({first.position}: {first.reason})"
    return f"not in the format {reader.name}, {reader.recognised_by}{because}"


def _looks_like(source: Source) -> str:
    for reader in READERS:
        if reader.recognise(source.head, source):
            return f"it looks like {reader.name} ({reader.title}); name that, or no --format"
    return f"it is {companion(source.head) or described(source.head)}"

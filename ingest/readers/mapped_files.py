"""Reads files of records through a mapping file: each row is a call.

Owns the identity of a row: by the columns that the mapping names, else by what the row says.
Refuses a file that has none of the columns that the mapping names, or, where its columns are fixed,
lacks one of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ingest.files import Source
from ingest.readers.documents import Document
from ingest.readers.identity import Occurrences
from ingest.readers.mapped_rows import call_of_row, identity_of_row
from ingest.readers.mapping_file import RowMapping, nearest
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import rejected
from ingest.readers.table_rows import has_fixed_columns, named_columns, table_rows
from ingest.records import Batch, Call, Json, Reject

_NAMESPACE = "rows"


@dataclass(frozen=True, slots=True)
class MappedFile:
    """Files whose rows a mapping makes calls of."""

    mapping: RowMapping
    name: str = "mapped"
    title: str = "any CSV, JSON, JSON lines or Parquet file through a mapping file"
    recognised_by: str = "--map with a file that has [columns]"

    def recognise(self, head: bytes, source: Source) -> bool:
        """True: whoever names a mapping says what the file is."""
        return True

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls. Raises `UnreadableSourceError` for a file of other columns."""
        self._refuse_other_columns(source)
        return batches(self._calls(source))

    def _calls(self, source: Source) -> Iterator[Call | Reject]:
        occurrences = Occurrences(self.name)
        for row in table_rows(source):
            yield row if isinstance(row, Reject) else self._call_of(row, occurrences)

    def _call_of(self, document: Document, occurrences: Occurrences) -> Call | Reject:
        try:
            row = record_of(document.value)
            return call_of_row(row, self.mapping, self._identity(row, occurrences))
        except ValueError as error:
            return rejected(document.where, error, _plain(document.value))

    def _identity(self, row: Mapping[str, Any], occurrences: Occurrences) -> str:
        terms = self.mapping.table
        if not terms.identity:
            return occurrences.identity(_bytes(row))
        return identity_of_row(row, self.mapping, terms.namespace or terms.name or _NAMESPACE)

    def _refuse_other_columns(self, source: Source) -> None:
        """Raise where the mapping names what the file does not have."""
        present = named_columns(source)
        terms = self.mapping.table
        named = [each.column for each in self.mapping.columns.values() if each.column is not None]
        needed = list(dict.fromkeys([*terms.identity, *named]))
        missing = [name for name in needed if not _is_in(name, present)]
        if not missing or (len(missing) < len(needed) and not has_fixed_columns(source)):
            return
        raise source.refusal(
            f"it has no column {missing[0]!r}, which the mapping names; "
            f"{nearest(missing[0], present[:20])}"
        )


def _is_in(name: str, present: tuple[str, ...]) -> bool:
    """Whether a column, or one in whose JSON it lies, is present."""
    return any(name == each or name.startswith(f"{each}.") for each in present)


def _bytes(row: Json) -> bytes:
    """What a row says, whatever the order of its columns."""
    return orjson.dumps(row, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _plain(value: Json) -> Json:
    """A row that was rejected, with what JSON has no word for as text."""
    return orjson.loads(_bytes(value))

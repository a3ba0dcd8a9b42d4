"""Reads the Azure LLM inference traces: an arrival and two counts a row.

Owns their instants of seven digits, in UTC though no zone is written. Refuses to make up a
duration: the rows have none.
"""

from collections.abc import Iterator

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.documents import lines
from ingest.readers.identity import Occurrences
from ingest.readers.instants import instant_of_text
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import tokens_of
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Reject

_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


class AzureLlmTrace:
    """The Azure LLM inference traces of 2023 and 2024."""

    name = "azure-llm-trace"
    title = "Azure LLM inference trace, CSV"
    recognised_by = "a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first line is that header."""
        return set(_cells(opening(head).first_line)) >= set(_COLUMNS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know only their arrival and their counts."""
        return batches(_records(source))


def _records(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(AzureLlmTrace.name)
    with source.open() as stream:
        rows = lines(stream)
        _, header = next(rows, (0, b""))
        columns = _cells(header)
        if missing := [column for column in _COLUMNS if column not in columns]:
            raise source.refusal(f"a CSV file without the column {missing[0]}")
        for number, row in rows:
            try:
                yield _call_of(columns, _cells(row), occurrences)
            except ValueError as error:
                yield rejected(f"line {number}", error, row)


def _cells(row: bytes) -> list[str]:
    """The cells of a row; the format has no commas inside of them."""
    return [cell.strip().strip('"') for cell in row.decode("utf-8", "replace").split(",")]


def _call_of(columns: list[str], cells: list[str], occurrences: Occurrences) -> Call:
    if len(cells) != len(columns):
        raise RecordError(f"{len(cells)} cells in a row, {len(columns)} in the header")
    record = dict(zip(columns, cells, strict=True))
    arrived_at = instant_of_text(record["TIMESTAMP"])
    input_tokens = tokens_of(record, "ContextTokens")
    output_tokens = tokens_of(record, "GeneratedTokens")
    return Call(
        identity=occurrences.identity(b"%d,%d,%d" % (arrived_at, input_tokens, output_tokens)),
        timing_source="tokens",
        timing_quality=quality(arrived_at, None, None, None),
        arrived_at=arrived_at,
        **buckets(input_tokens=input_tokens, output_tokens=output_tokens).columns(),
    )

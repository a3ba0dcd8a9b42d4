"""Reads the Azure LLM inference traces: an arrival and two counts a row.

Owns their instants of seven digits, in UTC though no zone is written. Refuses to make up a
duration: the rows have none.
"""

from collections.abc import Iterator

from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import instants, with_notes
from ingest.readers.identity import Occurrences
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, tokens_of
from ingest.readers.rejection import RecordError
from ingest.readers.trace_rows import Row, calls_of_rows, has_columns
from ingest.records import Batch, Call

_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


class AzureLlmTrace:
    """The Azure LLM inference traces of 2023 and 2024."""

    name = "azure-llm-trace"
    title = "Azure LLM inference trace, CSV"
    recognised_by = "a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first line is that header."""
        return has_columns(head, _COLUMNS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know only their arrival and their counts."""
        occurrences = Occurrences(self.name)
        return batches(calls_of_rows(source, _COLUMNS, lambda row: _call_of(row, occurrences)))


def _call_of(record: Row, occurrences: Occurrences) -> Call:
    arrived_at = instant_or_none(record, "TIMESTAMP")
    if arrived_at is None:
        raise RecordError("TIMESTAMP is missing")
    input_tokens = tokens_of(record, "ContextTokens")
    output_tokens = tokens_of(record, "GeneratedTokens")
    call = {
        **instants(arrived_at, None, None),
        **buckets(input_tokens=input_tokens, output_tokens=output_tokens).columns(),
    }
    return Call(
        identity=occurrences.identity(b"%d,%d,%d" % (arrived_at, input_tokens, output_tokens)),
        **with_notes(call),
    )

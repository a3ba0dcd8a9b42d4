"""A mapping for a file of records that no reader takes, proposed from its columns.

Owns the question whether such a file looks like calls. Refuses to propose one for records that
tell neither tokens nor a model.
"""

from itertools import islice
from typing import Any

from ingest.files import RefusedSourceError, Source
from ingest.files.content import no_data
from ingest.readers.documents import Document
from ingest.readers.mapping_proposal import matches, proposed_mapping
from ingest.readers.not_calls import not_calls
from ingest.readers.table_rows import named_columns, table_rows

SAMPLE_ROWS = 20
_TOKENS = frozenset({"input_tokens", "output_tokens"})
_INSTANTS = frozenset({"arrived_at", "ended_at"})
_ADVICE = (
    "a mapping is proposed from its columns; save it as mapping.toml, correct it, and run again "
    "with --map mapping.toml"
)


def proposal(source: Source) -> str | None:
    """What to do with a file that looks like calls, with its mapping; None for any other file."""
    if no_data(source.head) or not_calls(source.head):
        return None
    try:
        columns = named_columns(source)
        if not _looks_like_calls(matches(columns)):
            return None
        text = proposed_mapping(_samples(source, columns))
    except RefusedSourceError:
        return None
    return f"{_ADVICE}:\n\n{text}"


def _looks_like_calls(matched: dict[str, str]) -> bool:
    """Whether columns are called like tokens, or like a model beside an instant."""
    has_model = "model" in matched or "model_requested" in matched
    return bool(_TOKENS & matched.keys()) or (has_model and bool(_INSTANTS & matched.keys()))


def _samples(source: Source, columns: tuple[str, ...]) -> dict[str, list[Any]]:
    """Some values of each column, those that are absent left out."""
    samples: dict[str, list[Any]] = {column: [] for column in columns}
    for row in islice(table_rows(source), SAMPLE_ROWS):
        if isinstance(row, Document) and isinstance(row.value, dict):
            for column in columns:
                if row.value.get(column) not in (None, ""):
                    samples[column].append(row.value[column])
    return samples

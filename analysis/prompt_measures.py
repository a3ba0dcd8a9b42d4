"""What the questions about measured prompts share: who is missing, and what there is to do.

Owns the sentences. Refuses an answer where the prompt of no call was measured.
"""

from collections.abc import Iterator

from analysis.errors import NoDataError
from analysis.wording import counted

NO_MEASURES = (
    "no prompt here was measured: prompts are measured when their text passes, unless `content` is "
    '"off" or `count_sections` is false; send gen_ai.input.messages, and take telemetry that was '
    "ingested before prompts were measured into a new ledger; see docs/counting.md"
)


def refuse_unmeasured(known_count: int) -> None:
    """Raise `NoDataError` where `known_count`, of measured prompts, is 0."""
    if not known_count:
        raise NoDataError(NO_MEASURES)


def unmeasured_notes(unknown_count: int) -> Iterator[str]:
    """How many prompts were not measured, and why that may be; nothing where all were."""
    if unknown_count:
        yield (
            f"not measured: {counted(unknown_count, 'call')} whose prompt was not seen, or came "
            "before prompts were measured: ingest it into a new ledger"
        )

"""Operations that took several attempts: their latency as the user felt it, and what was wasted.

Owns the columns of `ask operations`. Refuses to call anything wasted but attempts that failed.
"""

from collections.abc import Mapping

from analysis.answer import Answer
from analysis.listing import Listing, listed
from analysis.repetition import known_values
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

OPERATION_FILTERS = ("endpoint", "team", "model")
"""What a list of operations may be filtered by: the columns of the last attempt."""


def operations(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """One row an operation of several attempts, the slowest first, at most `limit`.

    `latency_s` spans all attempts and the pauses between them. Columns: docs/metrics/operations.md.
    An empty answer is an answer: no call was repeated.
    """
    found = listed(
        ledger,
        "operations",
        window=window,
        limit=limit,
        instants=("begun_at", "ended_at"),
        **known_values(where, OPERATION_FILTERS, "operations"),
    )
    return Answer(frame=found.frame, notes=(_note(found),), window=window)


def _note(found: Listing) -> str:
    if found.fitting_count == 0:
        return "no operation took more than one attempt"
    shown = counted(found.frame.height, "operation")
    if found.more_count:
        return f"the slowest {shown}, {found.more_count:,} more; raise --limit"
    return f"{shown} of several attempts, the slowest first"

"""The records that could not be taken, one row each, with position and reason.

Owns the columns of `ask rejects` and what they may be filtered by. Refuses to show more of a record
than the privacy setting stored: the record itself, its hash, or nothing.
"""

from collections.abc import Mapping

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.listing import Listing, listed
from analysis.window import Window, instant_text
from analysis.wording import counted
from ingest.ledger import Ledger

REJECT_FILTERS = ("source", "format", "delivery_id")
"""What a list of rejects may be filtered by."""


def rejects(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """The records that were rejected by deliveries in `window`, at most `limit`.

    `where` has columns of `REJECT_FILTERS`. `delivered_at` is RFC 3339 text in the window's zone;
    columns in docs/metrics/rejects.md. An empty answer is an answer: nothing was rejected.
    """
    filters = dict(where or {})
    for column, value in filters.items():
        if value is None:
            raise WrongQuestionError(f"every reject has its {column}; write {column}=value")
    found = listed(
        ledger,
        "rejects",
        window=window,
        limit=limit,
        instants=("delivered_at",),
        source=filters.get("source"),
        format=filters.get("format"),
        delivery_id=_whole(filters.get("delivery_id")),
    )
    return Answer(frame=found.frame, notes=(_note(window, filters, found),), window=window)


def _whole(number: str | None) -> int | None:
    if number is None:
        return None
    try:
        return int(number)
    except ValueError:
        raise WrongQuestionError(f"delivery_id {number!r} is no whole number") from None


def _note(window: Window, filters: Mapping[str, str | None], found: Listing) -> str:
    """How many records fit what was asked, and how many of them are not shown."""
    selection = [f"{column}={value}" for column, value in filters.items()]
    if window.since is not None:
        selection.append(f"delivered since {instant_text(window.since, window.timezone)}")
    if window.until is not None:
        selection.append(f"delivered until {instant_text(window.until, window.timezone)}")
    of_what = f" with {', '.join(selection)}" if selection else ""
    if found.fitting_count == 0:
        return f"no record{of_what} was rejected"
    shown = f"{counted(found.frame.height, 'reject')}{of_what}"
    if found.more_count:
        return f"the first {shown}, {found.more_count:,} more; raise --limit"
    return shown

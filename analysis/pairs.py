"""The views that were joined into one call, for review: who told them, when, and by which rule.

Owns the columns of `ask pairs` and what is said of a pair that only resembles. Refuses to judge:
whether two views are of one call is decided where they are stored.
"""

from collections.abc import Mapping

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.listing import Listing, listed
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

PAIR_FILTERS = ("pairing",)
"""What a list of pairs may be filtered by."""

RULES = ("probable", "response_id")
PROBABLE_NOTE = (
    "a probable pair has the same tokens and model, one interval inside of the other, and two "
    "observers; to make it sure, let both send gen_ai.response.id or one trace context"
)


def pairs(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """The views of calls that no trace joins, at most `limit`; `where` may name the `pairing`.

    Instants are RFC 3339 text in the window's zone; columns in docs/metrics/pairs.md. An empty
    answer is an answer: every call was told once, or by views of one trace.
    """
    asked = dict(where or {})
    rule = asked.get("pairing")
    if asked and rule not in RULES:
        raise WrongQuestionError(f"pairing {rule!r} is unknown; allowed: {', '.join(RULES)}")
    found = listed(
        ledger,
        "pairs",
        window=window,
        limit=limit,
        instants=("begun_at", "ended_at"),
        pairing=rule,
    )
    return Answer(frame=found.frame, notes=_notes(found), window=window)


def _notes(found: Listing) -> tuple[str, ...]:
    if found.fitting_count == 0:
        return ("no call was joined from views without a trace in common",)
    shown = found.frame
    call_count = shown["call_id"].n_unique()
    told = f"{counted(shown.height, 'view')} of {counted(call_count, 'call')}"
    if found.more_count:
        told = f"the first {told}, {found.more_count:,} more views; raise --limit"
    is_probable = bool((shown["pairing"] == RULES[0]).any())
    return (told, PROBABLE_NOTE) if is_probable else (told,)

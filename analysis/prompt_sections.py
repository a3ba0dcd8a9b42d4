"""What prompts consist of: their tokens by section, and what reading each of them costs.

Owns the columns of `ask prompt_sections`, and the sentences about what was not seen. Refuses to
guess a section: one that nothing in the prompt shows is not known.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.errors import NoDataError
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

OTHER = "other"
SECTIONS = ("tools", "system", "examples", "history", "context", "user", OTHER)
"""In the order in which they are shown; the last is what the others do not cover."""

NO_SECTIONS = (
    "no call here has its tokens by section: they are counted of the prompts that come with calls, "
    'unless `content` is "off" or `count_sections` is false; send gen_ai.input.messages, see '
    "docs/counting.md"
)
SHARED_NOTE = (
    "prefill_gpu_seconds: a call's prefill shared by the tokens that no cache held; a cache holds "
    "what comes first: tools, system, examples, history, context, user, and `other` in proportion"
)
NOT_SHOWN = (
    "a section that a prompt does not show is unknown and not 0: telemetry often leaves system "
    "messages and tools out, which then are a part of `other`"
)


def prompt_sections(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Tokens and prefill GPU-seconds by the columns `by` and by section of the prompt.

    Columns: docs/metrics/prompt_sections.md. Raises `NoDataError` where no call is in the window,
    or the prompt of none was seen.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    rows = groups.rows_of(ledger.connection, "prompt_sections", sections=list(SECTIONS))
    told = rows.filter(pl.col("section") != OTHER)
    if told["known_count"].sum() == 0:
        raise NoDataError(NO_SECTIONS)
    order = {section: place for place, section in enumerate(SECTIONS)}
    frame = (
        rows.filter(pl.col("known_count") > 0)
        .with_columns(place=pl.col("section").replace_strict(order, return_dtype=pl.Int64))
        .sort(*in_order(groups.columns), "place", nulls_last=True, maintain_order=True)
        .drop("place", "unseen_count")
    )
    notes = tuple(_notes(groups.window, rows.filter(pl.col("section") == OTHER)))
    return Answer(frame=frame, notes=notes, window=groups.window)


def _notes(window: Window, other: pl.DataFrame) -> Iterator[str]:
    """What is said beside; `other` has that section of each group."""
    yield f"window: {window.text()}"
    if unseen := int(other["unseen_count"].sum()):
        yield f"without sections, hence all `other`: {counted(unseen, 'call')}"
    yield SHARED_NOTE
    yield NOT_SHOWN

"""Few-shot examples that are the same in call after call: who sends them, and what reading costs.

Owns the columns of `ask examples`. Refuses to call them waste: what they do to answers is not in
the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.groups import groups_of
from analysis.prompt_measures import refuse_unmeasured
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

BOUND_NOTE = (
    "examples_gpu_seconds: the prefill of examples that no cache held, and at most what leaving "
    "them out, or a prefix cache, saves"
)
NONE_NOTE = (
    "no examples come again here: they are known by <examples>, a line `Examples:` or messages "
    "named `example…`; see docs/counting.md"
)


def examples(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Calls, tokens and prefill of each block of few-shot examples, by the columns `by`.

    Columns: docs/metrics/examples.md. Raises `NoDataError` where no call is in the window, or no
    prompt was measured.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    frame = groups.rows_of(ledger.connection, "examples")
    refuse_unmeasured(int(frame["known_count"].sum()))
    blocks = frame.filter(pl.col("examples_hash").is_not_null())
    return Answer(
        frame=frame, notes=tuple(_notes(groups.window, frame, blocks)), window=groups.window
    )


def _notes(window: Window, frame: pl.DataFrame, blocks: pl.DataFrame) -> Iterator[str]:
    yield f"window: {window.text()}"
    unknown = int((frame["call_count"] - frame["known_count"]).sum())
    if unknown:
        yield f"not measured, hence in no block: {counted(unknown, 'call')}"
    if blocks.is_empty():
        yield NONE_NOTE
        return
    yield BOUND_NOTE

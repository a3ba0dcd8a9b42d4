"""Bursts of arrivals, and what calls wait that arrive in them.

Owns when admission control has something to do. Refuses to call a day's shape a burst.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.capacity.room import NO_QUEUE
from analysis.capacity.verdicts import Verdict, verdict_frame
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

NO_ARRIVAL = "when calls arrived"

STANDS = (
    "bursts are not why calls wait: levers 15 to 20 and 44 are about a queue that stands without "
    "them"
)

LEAST_BURST_RATIO = 0.01
"""Fewer calls than this share in bursts are no matter of admission."""
LEAST_WAIT_S = 0.1
LONGER_RATIO = 2.0
"""A queue in bursts counts whose p99 is as long, and so many times that of other calls."""


def bursts(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a pool, or a group of the columns `by`. Columns: docs/capacity.md.

    Raises `NoDataError` where no call is in the window.
    """
    columns = tuple(by) or ("pool",)
    groups = groups_of(ledger.connection, configuration, by=columns, window=window, where=where)
    frame = groups.rows_of(ledger.connection, "bursts").sort(in_order(columns), nulls_last=True)
    return Answer(frame=frame, notes=tuple(_notes(frame, groups.window)), window=groups.window)


def bursts_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether lever 40 (admission control) applies to each pool; see `Verdict`."""
    frame = bursts(ledger, configuration, by=("pool",), window=window).frame
    rows = frame.filter(pl.col("pool").is_not_null())
    return verdict_frame(_verdict(row) for row in rows.iter_rows(named=True))


def _notes(frame: pl.DataFrame, window: Window) -> Iterator[str]:
    yield f"window: {window.text()}"
    yield (
        "a second or a minute is a burst beside the mean of its quarter-hour; a dispersion is "
        "variance ÷ mean of the counts within quarter-hours, 1 where arrivals know nothing of each "
        "other"
    )
    if unknown := int(frame["unknown_count"].sum()):
        yield f"not told, hence in no count: the arrival of {counted(unknown, 'call')}"
    if unknown := int(frame["unknown_queue_count"].sum()):
        yield f"not told, hence in no percentile: the queue of {counted(unknown, 'call')}"


def _verdict(row: Mapping[str, Any]) -> Verdict:
    pool, share = row["pool"], row["burst_ratio"]
    if share is None:
        return Verdict(lever=40, pool=pool, applies=None, evidence=None, missing=NO_ARRIVAL)
    text = f"{share:.1%} of calls arrive in bursts"
    if row["burst_call_count"]:
        text += (
            f"; most in a second are {counted(row['second_peak_count'], 'call')}, in a minute "
            f"{row['minute_peak_count']:,}"
        )
    stands = (row["calm_queue_p99_s"] or 0) >= LEAST_WAIT_S
    if share < LEAST_BURST_RATIO:
        if stands:
            text += f"; p99 of the queue is {row['calm_queue_p99_s']:.2f} s without any; {STANDS}"
        return Verdict(lever=40, pool=pool, applies=False, evidence=text)
    near = [row[name] for name in ("burst_queue_p99_s", "near_queue_p99_s")]
    burst, calm = max((s for s in near if s is not None), default=None), row["calm_queue_p99_s"]
    if burst is None:
        return Verdict(lever=40, pool=pool, applies=None, evidence=text, missing=NO_QUEUE)
    beside = "there is no other time" if calm is None else f"{calm:.2f} s at other times"
    is_longer = calm is None or burst >= LONGER_RATIO * calm
    if stands and not is_longer:
        beside += f"; {STANDS}"
    return Verdict(
        lever=40,
        pool=pool,
        applies=burst >= LEAST_WAIT_S and is_longer,
        evidence=f"{text}; p99 of the queue is {burst:.2f} s in and near them, {beside}",
    )

"""How much slower calls decode while others of their replica are in prefill.

Owns the estimate. While another call is in prefill a call decodes at `1 - slower` of its pace, so
its tokens a second are a line in the share of its time that has a prefill beside it. How many
others decode, and how many tokens they hold, are held fixed: a larger batch and longer contexts
slow decode by themselves. Refuses calls whose first token was not observed, loads that do not vary
apart, and an effect that calls with much prefill beside them do not show next to those with little.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from analysis.answer import Answer
from analysis.capacity.asked import lane_columns
from analysis.capacity.beside import paces_by_lane
from analysis.capacity.lanes import Lanes, lanes_of
from analysis.capacity.pieces import pieces_of_pools
from analysis.capacity.robust import Floats, robust_line
from analysis.capacity.verdicts import Verdict, verdict_frame
from analysis.columns import TIME_COLUMNS
from analysis.errors import NoDataError, WrongQuestionError
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

MOST_CALLS = 400_000
"""Of a ledger of more calls every second, third, ... is looked at; sums are of all."""
LEAST_CALLS = 100
LEAST_LOST_RATIO = 0.01
"""An effect on less than this share of decode time is none to act on."""

NO_TIMINGS = (
    "when calls got their first token, on which replica, and how many tokens they wrote: engine "
    "timings needed (vLLM's --otlp-traces-endpoint), or streams of clients that name the replica"
)
LEAST_PATTERNS = 12
"""Of fewer combinations of prefill and batch beside a call the line goes through each by itself."""
PATTERN_STEP = (0.005, 0.05)
"""Shares of prefill, and others in decode, that differ by less are one combination."""
MOST_SHARED = 0.99
"""Where the other loads tell so much of the variance of the prefill beside, nobody knows which of
them slows."""
SEEN_RATIO = 0.1
"""Of what the line expects between the quarters of calls so much has to be seen between them."""
LEAST_SEEN_RATIO = 0.001

ALIKE = (
    "calls with more different loads beside them: here prefill beside a decode and the size of the "
    "batch go together, or come in a few combinations"
)
NOT_SEEN = (
    "a comparison that agrees with the line: the calls with most prefill beside them are not "
    "slower than those with least"
)
TOO_FEW = "more calls that decode beside a prefill, over at least five quarter-hours"

NEEDS: Mapping[str | None, str] = {None: TOO_FEW, "alike": ALIKE, "not seen": NOT_SEEN}
"""By doubt: what it takes to say how much slower calls decode."""

SCHEMA: Mapping[str, Any] = {
    "measured_count": pl.Int64,
    "unmeasured_count": pl.Int64,
    "decode_s": pl.Float64,
    "prefill_beside_ratio": pl.Float64,
    "decoding_beside": pl.Float64,
    "quiet_tpot_p50_s": pl.Float64,
    "quiet_prefill_ratio": pl.Float64,
    "loaded_tpot_p50_s": pl.Float64,
    "loaded_prefill_ratio": pl.Float64,
    "slower_ratio": pl.Float64,
    "slower_low_ratio": pl.Float64,
    "slower_high_ratio": pl.Float64,
    "lost_decode_ratio": pl.Float64,
    "doubt": pl.String,
}


def interference(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a pool, or a replica where `by` names it. Columns: docs/capacity.md.

    Raises `NoDataError` where the pace of no call was observed.
    """
    columns = lane_columns(by)
    if any(column in TIME_COLUMNS for column in columns):
        raise WrongQuestionError("interference is by pool, or by pool and replica: it needs days")
    asked = window or Window(timezone=configuration.timezone)
    lanes = lanes_of(ledger.connection, window=asked, where=where)
    pieces = pieces_of_pools(ledger.connection, configuration, lanes, columns)
    stride = -(-lanes.call_count // MOST_CALLS)
    groups: dict[tuple[str | None, ...], _Measured] = {}
    for number, found, rest in paces_by_lane(ledger.connection, lanes, pieces):
        key = tuple(getattr(lanes.lanes[number], column) for column in columns)
        groups.setdefault(key, _Measured()).add(found, rest, stride)
    if not any(group.measured_count for group in groups.values()):
        raise NoDataError(f"no call here tells {NO_TIMINGS}")
    rows = [
        dict(zip(columns, key, strict=True))
        | {"unmeasured_count": group.unmeasured_count}
        | (_effect(group) if group.measured_count else {"measured_count": 0})
        for key, group in groups.items()
    ]
    schema = dict.fromkeys(columns, pl.String) | dict(SCHEMA)
    frame = pl.DataFrame(rows, schema=schema).sort(columns, nulls_last=True)
    return Answer(frame=frame, notes=tuple(_notes(frame, lanes)), window=lanes.window)


def interference_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether levers 19 (chunked prefill) and 36 (prefill and decode apart) apply to each pool."""
    try:
        frame = interference(ledger, configuration, window=window).frame
    except NoDataError:
        asked = window or Window(timezone=configuration.timezone)
        lanes = lanes_of(ledger.connection, window=asked, where=None)
        pools = dict.fromkeys(lane.pool for lane in lanes.lanes)
        rows: list[dict[str, Any]] = [{"pool": pool, "measured_count": 0} for pool in pools]
    else:
        rows = frame.to_dicts()
    return verdict_frame(_verdict(row, lever) for row in rows for lever in (19, 36))


@dataclass(slots=True)
class _Measured:
    """What is known of the calls of one row: sums over all, and the calls that are looked at."""

    measured_count: int = 0
    unmeasured_count: int = 0
    decode_s: float = 0
    prefill_s: float = 0
    decoding_s: float = 0
    kept: list[pl.DataFrame] = field(default_factory=list)

    def add(self, calls: pl.DataFrame, unmeasured_count: int, stride: int) -> None:
        """Take in the calls of a lane in a stretch; of every `stride` one is looked at."""
        self.unmeasured_count += unmeasured_count
        if calls.is_empty():
            return
        self.measured_count += calls.height
        self.decode_s += float(calls["decode_s"].sum())
        self.prefill_s += float((calls["prefill_share"] * calls["decode_s"]).sum())
        self.decoding_s += float((calls["decoding"] * calls["decode_s"]).sum())
        self.kept.append(calls.gather_every(stride))


def _effect(group: _Measured) -> dict[str, Any]:
    """The figures of one row; the effect is null where the calls do not tell it."""
    kept = pl.concat(group.kept)
    mean_share = group.prefill_s / group.decode_s
    decoding = group.decoding_s / group.decode_s
    figures = {
        "measured_count": group.measured_count,
        "decode_s": group.decode_s,
        "prefill_beside_ratio": mean_share,
        "decoding_beside": decoding,
        **_quarters(kept),
    }
    loads = kept.select("prefill_share", "decoding", "context_tokens").to_numpy()
    loads = loads - [0.0, decoding, float(np.average(loads[:, 2], weights=kept["decode_s"]))]
    if kept.height < LEAST_CALLS or float(np.ptp(loads[:, 0])) == 0:
        return figures
    if _is_alike(loads):
        return figures | {"doubt": "alike"}
    line = robust_line(
        np.column_stack((np.ones(kept.height), loads)),
        kept["tokens_per_s"].to_numpy(),
        weights=kept["decode_s"].to_numpy(),
        clusters=kept["quarter"].to_numpy(),
    )
    alone, change = float(line.coefficients[0]), float(line.coefficients[1])
    if alone <= 0:
        return figures
    half = line.half_width(1)
    slower = -change / alone
    if half is not None and slower - half / alone > 0 and not _is_seen(figures, slower):
        return figures | {"doubt": "not seen"}
    return figures | {
        "slower_ratio": slower,
        "slower_low_ratio": None if half is None else slower - half / alone,
        "slower_high_ratio": None if half is None else slower + half / alone,
        "lost_decode_ratio": slower * mean_share,
    }


def _is_alike(loads: Floats) -> bool:
    """Whether the prefill beside calls does not vary apart from the other loads."""
    steps = np.rint(loads[:, :2] / PATTERN_STEP)
    if len(np.unique(steps, axis=0)) < LEAST_PATTERNS:
        return True
    apart = loads - loads.mean(axis=0)
    apart /= np.where(apart.std(axis=0) > 0, apart.std(axis=0), 1)
    others, prefill = apart[:, 1:], apart[:, 0]
    rest = prefill - others @ np.linalg.lstsq(others, prefill, rcond=None)[0]
    return bool(rest.var() < (1 - MOST_SHARED) * prefill.var())


def _is_seen(figures: Mapping[str, Any], slower: float) -> bool:
    """Whether the quarter of calls with most prefill beside is slower than that with least.

    It has to be by a part of what `slower` expects between them; an effect too small to be seen
    there is none to doubt.
    """
    between = figures["loaded_prefill_ratio"] - figures["quiet_prefill_ratio"]
    expected = slower * between
    lost = 1 - figures["quiet_tpot_p50_s"] / figures["loaded_tpot_p50_s"]
    return bool(expected < LEAST_SEEN_RATIO or lost > SEEN_RATIO * expected)


def _quarters(calls: pl.DataFrame) -> dict[str, float]:
    """The median TPOT of the quarter of calls with the least prefill beside, and with the most."""
    ranked = calls.sort("prefill_share")
    size = -(-calls.height // 4)
    found: dict[str, float] = {}
    for name, part in (("quiet", ranked.head(size)), ("loaded", ranked.tail(size))):
        tpot = (1 / pl.col("tokens_per_s")).median()
        found[f"{name}_tpot_p50_s"] = float(part.select(tpot).item())
        found[f"{name}_prefill_ratio"] = float(part.select(pl.col("prefill_share").mean()).item())
    return found


def _notes(frame: pl.DataFrame, lanes: Lanes) -> Iterator[str]:
    yield f"window: {lanes.window.text()}"
    yield (
        "slower_ratio is how much slower a call decodes while another is in prefill, at an equal "
        "batch and equal contexts; what was seen beside each other, not tried out"
    )
    silent = frame.filter(pl.col("measured_count") == 0)["pool"].unique().sort().to_list()
    if silent:
        yield f"{', '.join(silent)}: not told {NO_TIMINGS}"
    if unmeasured := int(frame["unmeasured_count"].sum()):
        yield f"without a pace of their own, hence not measured: {counted(unmeasured, 'call')}"
    open_ones = frame.filter((pl.col("measured_count") > 0) & pl.col("slower_low_ratio").is_null())
    for doubt, needs in NEEDS.items():
        pools = open_ones.filter(pl.col("doubt").eq_missing(doubt))["pool"].unique().sort()
        if not pools.is_empty():
            yield f"{', '.join(pools)}: an interval needs {needs}"


def _verdict(row: Mapping[str, Any], lever: int) -> Verdict:
    pool = row["pool"]
    if not row["measured_count"]:
        return Verdict(lever=lever, pool=pool, applies=None, evidence=None, missing=NO_TIMINGS)
    low, lost = row["slower_low_ratio"], row["lost_decode_ratio"]
    if low is None or lost is None:
        if (beside := row["prefill_beside_ratio"]) < LEAST_LOST_RATIO:
            # A decode can do no worse than stand still.
            text = f"the decode of {counted(row['measured_count'], 'call')}"
            text = (
                f"a prefill runs beside {text} in {beside:.2%} of its time, and no more can be lost"
                if beside
                else f"no prefill runs beside {text}"
            )
            return Verdict(lever=lever, pool=pool, applies=False, evidence=text)
        return Verdict(
            lever=lever,
            pool=pool,
            applies=None,
            evidence=_compared(row),
            missing=NEEDS[row["doubt"]],
        )
    text = (
        f"decode is {row['slower_ratio']:.0%} slower (95 %: {low:.0%} to "
        f"{row['slower_high_ratio']:.0%}) while another call is in prefill, which is so in "
        f"{row['prefill_beside_ratio']:.1%} of decode time: {lost:.1%} of it lost, by "
        f"{counted(row['measured_count'], 'call')}"
    )
    applies = low > 0 and lost >= LEAST_LOST_RATIO
    return Verdict(lever=lever, pool=pool, applies=applies, evidence=text)


def _compared(row: Mapping[str, Any]) -> str | None:
    """The pace of the calls with most and with least prefill beside them; None for few calls."""
    if row["doubt"] is None:
        return None
    return (
        f"TPOT is {row['loaded_tpot_p50_s']:.4g} s where {row['loaded_prefill_ratio']:.1%} of "
        f"decode time have a prefill beside, {row['quiet_tpot_p50_s']:.4g} s where "
        f"{row['quiet_prefill_ratio']:.1%} have"
    )

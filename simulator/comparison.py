"""Baseline against candidate: figures of both, their change, and whether it is more than noise.

Owns the arithmetic of a comparison. The unit is the block of three passes, two of the baseline and
one of the candidate, run one after the other. The two baseline passes against each other are the
noise floor. Inside a pass, calls share a queue and are not independent, so what is drawn again is
stretches of time, the same ones in all passes of a block. Refuses a verdict inside the floor.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Verdict = Literal["lower", "higher", "within noise", "not measured"]

DRAWS = 1_000
INTERVAL = (2.5, 97.5)
STRETCH_RESIDENCES = 10
FEWEST_STRETCHES = 8
LEAST_CHANGE = 1e-6
"""Floating-point sums differ by less than this; the floor is never below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCalls:
    """The calls of one pass, in order of arrival; times in seconds, `offset_s` from its start."""

    offset_s: Floats
    prefill_s: Floats
    decode_s: Floats
    gpu_seconds: Floats
    output_tokens: Floats
    ttft_s: Floats

    @property
    def e2e_s(self) -> Floats:
        """From the intended send time to the last token, in seconds."""
        return self.ttft_s + self.decode_s

    @property
    def tpot_s(self) -> Floats:
        """Seconds per token after the first; calls of one token have none."""
        several = self.output_tokens > 1
        return self.decode_s[several] / (self.output_tokens[several] - 1)

    def taken(self, chosen: NDArray[np.int64]) -> "PassCalls":
        """The calls at `chosen`, repeated as often as they are named."""
        return PassCalls(**{name: getattr(self, name)[chosen] for name in self.__slots__})


def joined(passes: Sequence[PassCalls]) -> PassCalls:
    """The calls of several passes as if of one."""
    return PassCalls(
        **{
            name: np.concatenate([getattr(one, name) for one in passes])
            for name in PassCalls.__slots__
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One pair of baseline and candidate with a second pass of the baseline beside it."""

    baseline: PassCalls
    baseline_again: PassCalls
    candidate: PassCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that is compared: its name, its unit and how it is computed from calls."""

    name: str
    unit: str
    of: Callable[[PassCalls], float]


def _percentile(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if values.size else float("nan")


def _ratio(above: Floats, below: Floats) -> float:
    total = float(below.sum())
    return float(above.sum()) / total if total else float("nan")


FIGURES: tuple[Figure, ...] = (
    Figure(name="Tp", unit="s", of=lambda c: float(c.prefill_s.mean())),
    Figure(name="L", unit="tokens", of=lambda c: float(c.output_tokens.mean())),
    Figure(name="Td", unit="s/token", of=lambda c: _ratio(c.decode_s, c.output_tokens)),
    Figure(name="B", unit="calls", of=lambda c: _ratio(c.prefill_s + c.decode_s, c.gpu_seconds)),
    Figure(name="gpu_seconds", unit="s/call", of=lambda c: float(c.gpu_seconds.mean())),
    Figure(name="TTFT p50", unit="s", of=lambda c: _percentile(c.ttft_s, 50)),
    Figure(name="TTFT p95", unit="s", of=lambda c: _percentile(c.ttft_s, 95)),
    Figure(name="TPOT p50", unit="s", of=lambda c: _percentile(c.tpot_s, 50)),
    Figure(name="TPOT p95", unit="s", of=lambda c: _percentile(c.tpot_s, 95)),
    Figure(name="end to end p50", unit="s", of=lambda c: _percentile(c.e2e_s, 50)),
    Figure(name="end to end p95", unit="s", of=lambda c: _percentile(c.e2e_s, 95)),
)
"""The letters of the law and the latencies. Td and B are ratios of sums, as the law needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and the bounds that hold it in 95 of 100 draws; NaN where it is not known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One figure of both arms. `change` is candidate / baseline - 1.

    `floor_ratio` is the largest change that the baseline shows against itself.
    """

    figure: Figure
    baseline: Interval
    candidate: Interval
    change: Interval
    floor_ratio: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All figures, and what has to be known to read them."""

    rows: tuple[Comparison, ...]
    notes: tuple[str, ...]


def compare(blocks: Sequence[Block], seed: int) -> Compared:
    """Every figure of `blocks` with intervals from `DRAWS` draws of blocks and stretches."""
    stretches, notes = _stretches(blocks)
    draw = np.random.default_rng(seed)
    draws = [_drawn(blocks, stretches, draw) for _ in range(DRAWS)]
    rows = tuple(_compared(figure, blocks, draws) for figure in FIGURES)
    if len(blocks) % 2:
        notes.append("an odd number of pairs: a steady drift of the machine is not cancelled")
    return Compared(rows=rows, notes=tuple(notes))


def _compared(
    figure: Figure, blocks: Sequence[Block], draws: Sequence[Sequence[Block]]
) -> Comparison:
    arms = {
        "baseline": _interval(_baseline(figure, blocks), [_baseline(figure, d) for d in draws]),
        "candidate": _interval(_candidate(figure, blocks), [_candidate(figure, d) for d in draws]),
    }
    change = _interval(_change(figure, blocks), [_change(figure, d) for d in draws])
    own = _interval(_own_change(figure, blocks), [_own_change(figure, d) for d in draws])
    single = [_own_change(figure, [block]) for block in blocks]
    floor = max(LEAST_CHANGE, float(np.max(np.abs([own.low, own.high, *single]))))
    return Comparison(
        figure=figure,
        **arms,
        change=_as_ratio(change),
        floor_ratio=float(np.expm1(floor)),
        verdict=_verdict(change, floor),
    )


def _baseline(figure: Figure, blocks: Sequence[Block]) -> float:
    return figure.of(joined([p for b in blocks for p in (b.baseline, b.baseline_again)]))


def _candidate(figure: Figure, blocks: Sequence[Block]) -> float:
    return figure.of(joined([block.candidate for block in blocks]))


def _change(figure: Figure, blocks: Sequence[Block]) -> float:
    """Mean over blocks of ln(candidate / baseline)."""
    return _mean_log(
        (figure.of(b.candidate), figure.of(joined([b.baseline, b.baseline_again]))) for b in blocks
    )


def _own_change(figure: Figure, blocks: Sequence[Block]) -> float:
    """Mean over blocks of ln(baseline again / baseline)."""
    return _mean_log((figure.of(b.baseline_again), figure.of(b.baseline)) for b in blocks)


def _mean_log(pairs: Iterable[tuple[float, float]]) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.mean([np.log(np.float64(above) / below) for above, below in pairs]))


def _interval(value: float, drawn: Sequence[float]) -> Interval:
    known = np.asarray(drawn)[np.isfinite(drawn)]
    if not (np.isfinite(value) and known.size):
        return Interval(value=float("nan"), low=float("nan"), high=float("nan"))
    low, high = np.percentile(known, INTERVAL)
    return Interval(value=value, low=float(low), high=float(high))


def _as_ratio(logarithms: Interval) -> Interval:
    value, low, high = np.expm1([logarithms.value, logarithms.low, logarithms.high])
    return Interval(value=float(value), low=float(low), high=float(high))


def _verdict(change: Interval, floor: float) -> Verdict:
    """A direction only where the whole interval lies beyond the floor."""
    if not np.isfinite([change.low, change.high, floor]).all():
        return "not measured"
    if change.high < -floor:
        return "lower"
    if change.low > floor:
        return "higher"
    return "within noise"


def _stretches(blocks: Sequence[Block]) -> tuple[Floats, list[str]]:
    """Inner borders (s from the start of a pass) of stretches with equally many calls."""
    first = blocks[0].baseline
    everything = joined([p for b in blocks for p in (b.baseline, b.baseline_again, b.candidate)])
    calls = first.offset_s.size
    length_s = STRETCH_RESIDENCES * float(everything.e2e_s.mean())
    wanted = int(first.offset_s[-1] / length_s)
    count = min(calls, max(wanted, FEWEST_STRETCHES))
    notes = [f"intervals: 95 %, {DRAWS:,} draws of {len(blocks)} blocks and {count} stretches"]
    if count > wanted:
        notes.append(
            f"a pass is too short for stretches of {STRETCH_RESIDENCES} residences "
            f"({length_s:.1f} s each): the intervals are rather too narrow"
        )
    return np.quantile(first.offset_s, np.linspace(0, 1, count + 1)[1:-1]), notes


def _drawn(blocks: Sequence[Block], borders: Floats, draw: np.random.Generator) -> list[Block]:
    """As many blocks, drawn with replacement, each with its stretches drawn with replacement."""
    drawn = []
    for chosen in draw.integers(0, len(blocks), len(blocks)):
        block = blocks[chosen]
        stretches = draw.integers(0, borders.size + 1, borders.size + 1)
        drawn.append(
            Block(
                baseline=_of_stretches(block.baseline, borders, stretches),
                baseline_again=_of_stretches(block.baseline_again, borders, stretches),
                candidate=_of_stretches(block.candidate, borders, stretches),
            )
        )
    return drawn


def _of_stretches(one: PassCalls, borders: Floats, stretches: NDArray[np.int64]) -> PassCalls:
    stretch_of = np.searchsorted(borders, one.offset_s, side="right")
    members = [np.flatnonzero(stretch_of == number) for number in range(borders.size + 1)]
    return one.taken(np.concatenate([members[number] for number in stretches]))

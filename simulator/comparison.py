"""Baseline against candidate: figures of both, their change, and whether it is more than noise.

Owns the arithmetic of a comparison. The unit is the block of three passes, two of the baseline and
one of the candidate, run one after the other. How far the two baseline passes of a block differ is
the noise between passes; from it follows the floor, the change that noise alone would show in 95
of 100 scenarios. Inside a pass, calls share a queue and are not independent, so what is drawn
again is stretches of time, the same ones in all passes of a block. Refuses a verdict inside the
floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from simulator.figures import FIGURES, Figure, Floats, PassCalls, figures_of, joined

Verdict = Literal["lower", "higher", "within noise", "not measured"]

DRAWS = 1_000
INTERVAL = (2.5, 97.5)
STRETCH_RESIDENCES = 10
FEWEST_STRETCHES = 8
LEAST_CHANGE = 1e-6
"""Floating-point sums differ by less than this; the floor is never below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One pair of baseline and candidate with a second pass of the baseline beside it."""

    baseline: PassCalls
    baseline_again: PassCalls
    candidate: PassCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and the bounds that hold it in 95 of 100 draws; NaN where it is not known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One figure of both arms. `change` is candidate / baseline - 1.

    Noise between passes explains a change from `floor_low_ratio` to `floor_high_ratio` alone.
    """

    figure: Figure
    baseline: Interval
    candidate: Interval
    change: Interval
    floor_low_ratio: float
    floor_high_ratio: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All figures, and what has to be known to read them."""

    rows: tuple[Comparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """Values by figure. `change` is the mean over blocks of ln(candidate / baseline).

    `own_changes` is ln(baseline again / baseline), one row a block.
    """

    baseline: Floats
    candidate: Floats
    change: Floats
    own_changes: Floats


def compare(blocks: Sequence[Block], seed: int, known_noise: float = 0.0) -> Compared:
    """Every figure of `blocks` with intervals from `DRAWS` draws of blocks and stretches.

    `known_noise` is a change, as |ln|, that waiting for a processor explains: the floor is not
    below it, except that of processor time, which does not pass while the engine waits.
    """
    borders, notes = _stretches(blocks)
    cut = [_cut(block, borders) for block in blocks]
    random = np.random.default_rng(seed)
    draws = [_values(_drawn(blocks, cut, random)) for _ in range(DRAWS)]
    seen = _values(blocks)
    outside = [0.0 if figure.is_processor_time else known_noise for figure in FIGURES]
    floors = np.maximum(_floors(seen.own_changes), outside)
    rows = tuple(
        _compared(position, figure, seen, draws, float(floors[position]))
        for position, figure in enumerate(FIGURES)
    )
    if len(blocks) % 2:
        notes.append("an odd number of pairs: a steady drift of the machine is not cancelled")
    return Compared(rows=rows, notes=tuple(notes))


def _values(blocks: Sequence[Block]) -> _Values:
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.log([figures_of(b.baseline) for b in blocks])
        again = np.log([figures_of(b.baseline_again) for b in blocks])
        both = np.log([figures_of(joined([b.baseline, b.baseline_again])) for b in blocks])
        candidate = np.log([figures_of(b.candidate) for b in blocks])
        return _Values(
            baseline=figures_of(
                joined([p for b in blocks for p in (b.baseline, b.baseline_again)])
            ),
            candidate=figures_of(joined([b.candidate for b in blocks])),
            change=(candidate - both).mean(axis=0),
            own_changes=again - first,
        )


def _floors(own_changes: Floats) -> Floats:
    """The least |ln change| that is more than noise, by figure.

    Of k differences between two passes, d, the variance of one pass is estimated as mean(d²)/2
    with k degrees of freedom. The candidate against the mean of two baseline passes, averaged
    over k blocks, has 3/2 of it over k, so the 95 % bound is t(k) · sqrt(3/4 · mean(d²) / k).
    """
    count = own_changes.shape[0]
    spread = np.sqrt(0.75 * np.mean(own_changes**2, axis=0) / count)
    bound = float(student_t.ppf(0.975, count)) * spread
    floors: Floats = np.maximum(np.maximum(bound, np.abs(own_changes).max(axis=0)), LEAST_CHANGE)
    return floors


def _compared(
    position: int, figure: Figure, seen: _Values, draws: Sequence[_Values], floor: float
) -> Comparison:
    def interval(name: str) -> Interval:
        drawn = np.array([getattr(draw, name)[position] for draw in draws])
        return _interval(float(getattr(seen, name)[position]), drawn)

    change = interval("change")
    return Comparison(
        figure=figure,
        baseline=interval("baseline"),
        candidate=interval("candidate"),
        change=_as_ratio(change),
        floor_low_ratio=float(np.expm1(-floor)),
        floor_high_ratio=float(np.expm1(floor)),
        verdict=_verdict(change, floor),
    )


def _interval(value: float, drawn: Floats) -> Interval:
    known = drawn[np.isfinite(drawn)]
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


def _cut(block: Block, borders: Floats) -> list[list[NDArray[np.int64]]]:
    """For each pass of `block` and each stretch: the positions of its calls."""
    passes = (block.baseline, block.baseline_again, block.candidate)
    stretch_of = [np.searchsorted(borders, one.offset_s, side="right") for one in passes]
    return [
        [np.flatnonzero(own == number) for number in range(borders.size + 1)] for own in stretch_of
    ]


def _drawn(
    blocks: Sequence[Block],
    cut: Sequence[list[list[NDArray[np.int64]]]],
    random: np.random.Generator,
) -> list[Block]:
    """As many blocks, drawn with replacement, each with its stretches drawn with replacement."""
    drawn = []
    for chosen in random.integers(0, len(blocks), len(blocks)):
        block, members = blocks[chosen], cut[chosen]
        count = len(members[0])
        stretches = random.integers(0, count, count)
        first, again, candidate = (
            np.concatenate([own[number] for number in stretches]) for own in members
        )
        drawn.append(
            Block(
                baseline=block.baseline.taken(first),
                baseline_again=block.baseline_again.taken(again),
                candidate=block.candidate.taken(candidate),
            )
        )
    return drawn

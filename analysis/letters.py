"""The letters of the law for one group: N, Tp, L, Td and B, from sums.

Owns their definitions (docs/metrics/law.md). Refuses a mean of per-call ratios: every letter is
a ratio of sums, which is what makes p/3600 * N * (Tp + L * Td) / B the cost of the group.
"""

from dataclasses import dataclass
from decimal import Decimal

from analysis.money import total_of

PICOSECONDS_PER_S = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What calls add up to. Picoseconds are whole, cost is exact, None is unknown.

    `cost` is None where there is no price. Tokens are of the calls that tell them;
    `known_output_count` is how many tell their output. @@
    """

    call_count: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    known_output_count: int = 0
    prefill_ps: int = 0
    decode_ps: int = 0
    prefill_gpu_ps: int = 0
    decode_gpu_ps: int = 0
    estimated_gpu_ps: int = 0
    cost: Decimal | None = None
    listed_cost: Decimal | None = None

    def plus(self, other: "Sums") -> "Sums":
        """Both together."""
        return Sums(
            call_count=self.call_count + other.call_count,
            input_tokens=_added(self.input_tokens, other.input_tokens),
            output_tokens=_added(self.output_tokens, other.output_tokens),
            known_output_count=self.known_output_count + other.known_output_count,
            prefill_ps=self.prefill_ps + other.prefill_ps,
            decode_ps=self.decode_ps + other.decode_ps,
            prefill_gpu_ps=self.prefill_gpu_ps + other.prefill_gpu_ps,
            decode_gpu_ps=self.decode_gpu_ps + other.decode_gpu_ps,
            estimated_gpu_ps=self.estimated_gpu_ps + other.estimated_gpu_ps,
            cost=total_of([self.cost, other.cost]),
            listed_cost=total_of([self.listed_cost, other.listed_cost]),
        )

    @property
    def gpu_ps(self) -> int:
        """GPU-picoseconds of both phases."""
        return self.prefill_gpu_ps + self.decode_gpu_ps


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """Five letters of one group; None where the window does not define one."""

    call_count: int
    prefill_s: float | None
    output_tokens: float | None
    decode_s_per_token: float | None
    batch: float | None


def price_per_s(cost: Decimal, gpu_picoseconds: int) -> float | None:
    """Money per GPU-second at which so many GPU-picoseconds cost `cost`; None for none of them."""
    return float(cost / gpu_picoseconds) * PICOSECONDS_PER_S if gpu_picoseconds else None


def letters_of(sums: Sums) -> Letters:
    """N, Tp in s, L in tokens, Td in s per token and B in calls at once per GPU.

    L is the mean of the calls that tell their output tokens. The others are taken to have as
    many, so Td is decode seconds over N * L tokens, and the law stays exact.
    """
    count = sums.call_count
    mean_output = (
        sums.output_tokens / sums.known_output_count
        if sums.output_tokens is not None and sums.known_output_count
        else None
    )
    tokens = mean_output * count if mean_output is not None else 0
    return Letters(
        call_count=count,
        prefill_s=_ratio(sums.prefill_ps, count * PICOSECONDS_PER_S),
        output_tokens=mean_output if count else None,
        decode_s_per_token=_ratio(sums.decode_ps, tokens * PICOSECONDS_PER_S),
        batch=_ratio(sums.prefill_ps + sums.decode_ps, sums.gpu_ps),
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _added(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other

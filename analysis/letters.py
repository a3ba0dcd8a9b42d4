"""The letters of the law for one group: N, Tp, L, Td, B and p, from sums.

Owns their definitions (docs/metrics/law.md). Refuses a mean of per-call ratios: every letter is
a ratio of sums, which is what makes p/3600 * N * (Tp + L * Td) / B the cost of the group.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Self

PICOSECONDS_PER_S = 10**12
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What a group of calls adds up to. Picoseconds are whole, cost is exact, None is unknown.

    `cost` is None where the group has no price. Tokens are of the calls that tell them;
    `known_output_count` is how many do.
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
    cost: Decimal | None = field(default=None)

    def __add__(self, other: Self) -> "Sums":
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
            cost=_added(self.cost, other.cost),
        )

"""The figures of one pass: the letters of the law and the latencies, from its calls.

Owns their definitions over arrays. Td and B are ratios of sums, as the law needs them. Refuses
a number where the calls do not tell: it is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCalls:
    """The calls of one pass, in order of arrival; times in seconds, `offset_s` from its start.

    The `..._processor_s` are seconds of the engine's processor; NaN where they are not known.
    """

    offset_s: Floats
    prefill_s: Floats
    decode_s: Floats
    gpu_seconds: Floats
    output_tokens: Floats
    ttft_s: Floats
    prefill_processor_s: Floats
    decode_processor_s: Floats

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
class Figure:
    """A figure that is compared: its name and its unit.

    Processor time passes only while the engine computes, so it is not longer where other programs
    make the engine wait.
    """

    name: str
    unit: str
    is_processor_time: bool = False


FIGURES: tuple[Figure, ...] = (
    Figure(name="Tp", unit="s"),
    Figure(name="L", unit="tokens"),
    Figure(name="Td", unit="s/token"),
    Figure(name="B", unit="calls"),
    Figure(name="gpu_seconds", unit="s/call"),
    Figure(name="TTFT p50", unit="s"),
    Figure(name="TTFT p95", unit="s"),
    Figure(name="TPOT p50", unit="s"),
    Figure(name="TPOT p95", unit="s"),
    Figure(name="end to end p50", unit="s"),
    Figure(name="end to end p95", unit="s"),
    Figure(name="Tp processor", unit="s", is_processor_time=True),
    Figure(name="Td processor", unit="s/token", is_processor_time=True),
)
"""The letters of the law and the latencies, in the order of `figures_of`."""


def figures_of(calls: PassCalls) -> Floats:
    """The value of each of `FIGURES`; NaN where the calls do not tell. Td and B are of sums."""
    return np.array(
        [
            calls.prefill_s.mean(),
            calls.output_tokens.mean(),
            _ratio(calls.decode_s.sum(), calls.output_tokens.sum()),
            _ratio((calls.prefill_s + calls.decode_s).sum(), calls.gpu_seconds.sum()),
            calls.gpu_seconds.mean(),
            *_p50_p95(calls.ttft_s),
            *_p50_p95(calls.tpot_s),
            *_p50_p95(calls.e2e_s),
            calls.prefill_processor_s.mean(),
            _ratio(calls.decode_processor_s.sum(), calls.output_tokens.sum()),
        ]
    )


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan")


def _p50_p95(values: Floats) -> tuple[float, float]:
    """Percentiles by linear interpolation; `np.percentile` gives the same at ten times the cost."""
    if not values.size:
        return float("nan"), float("nan")
    ordered = np.sort(values)
    found = []
    for share in (0.50, 0.95):
        place = share * (ordered.size - 1)
        left = int(place)
        right = min(left + 1, ordered.size - 1)
        found.append(float(ordered[left] + (place - left) * (ordered[right] - ordered[left])))
    return found[0], found[1]

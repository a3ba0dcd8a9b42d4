"""What the lines of one window come to: the numbers that a reader sees first.

Owns sums over lines of the law. Refuses to add what may not be added: letters, and money of
another currency.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from analysis.wording import counted
from dashboard.lines import idle_cost, other_currencies, total_cost
from dashboard.wording import money_text, ratio_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Sums over the lines of one window; money is rounded and in `currency`."""

    currency: str
    cost: Decimal | None
    idle_cost: Decimal | None
    other_costs: Mapping[str, Decimal]
    gpu_seconds: float | None
    """Provisioned where every pool is configured: of calls and idle. None where none is known."""
    idle_gpu_seconds: float
    calls_count: int
    input_tokens: int | None
    output_tokens: int | None
    estimated_ratio: float | None
    unpriced_calls_count: int
    unpriced_tokens: int

    @property
    def idle_ratio(self) -> float | None:
        """Idle as a share of all GPU-seconds; None where there are none."""
        return self.idle_gpu_seconds / self.gpu_seconds if self.gpu_seconds else None


def summary_of(frame: pl.DataFrame, currency: str) -> Summary:
    """The sums over the lines of `frame`, an answer of `law` grouped in any way."""
    is_idle = pl.col("line") == "idle"
    unpriced = frame.filter(pl.col("cost").is_null() & ~is_idle)
    return Summary(
        currency=currency,
        cost=total_cost(frame, currency),
        idle_cost=idle_cost(frame, currency),
        other_costs=other_currencies(frame, currency),
        gpu_seconds=_known_sum(frame["gpu_seconds"]),
        idle_gpu_seconds=float(frame.filter(is_idle)["gpu_seconds"].sum()),
        calls_count=int(frame["N"].sum()),
        input_tokens=_known_count(frame["input_tokens"]),
        output_tokens=_known_count(frame["output_tokens"]),
        estimated_ratio=_estimated_ratio(frame.filter(~is_idle)),
        unpriced_calls_count=int(unpriced["N"].sum()),
        unpriced_tokens=int(unpriced["input_tokens"].sum()) + int(unpriced["output_tokens"].sum()),
    )


def trust_sentence(summary: Summary) -> str:
    """How far the figures can be trusted: measured, estimated, unpriced."""
    parts = [_measured_text(summary.estimated_ratio)]
    if not summary.calls_count and summary.gpu_seconds == summary.idle_gpu_seconds:
        parts = ["No call was made; the cost is that of provisioned GPUs"]
    elif summary.unpriced_calls_count:
        parts.append(
            f"{counted(summary.unpriced_calls_count, 'call')} with "
            f"{counted(summary.unpriced_tokens, 'token')} without a price, not in the cost"
        )
    else:
        parts.append("every call has a price")
    parts += [
        f"{money_text(amount, currency)} are in another currency and not in the cost"
        for currency, amount in summary.other_costs.items()
    ]
    return "; ".join(parts) + "."


def _measured_text(estimated: float | None) -> str:
    if estimated is None:
        return "The calls' GPU-seconds are not known"
    of_time = "of the calls' GPU-seconds are measured"
    return f"{ratio_text(1 - estimated)} {of_time}, {ratio_text(estimated)} estimated"


def _known_count(values: pl.Series) -> int | None:
    known = _known_sum(values)
    return None if known is None else int(known)


def _known_sum(values: pl.Series) -> float | None:
    """The sum of the known values; None where none is known."""
    return None if values.null_count() == values.len() else float(values.sum())


def _estimated_ratio(calls: pl.DataFrame) -> float | None:
    known = calls.filter(pl.col("gpu_seconds") > 0)
    total_s = float(known["gpu_seconds"].sum())
    estimated_s = float((known["gpu_seconds"] * known["estimated_ratio"].fill_null(0)).sum())
    return estimated_s / total_s if total_s else None

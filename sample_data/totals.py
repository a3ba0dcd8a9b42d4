"""The totals that a reader must find, computed from the generator's own truth.

Owns the figures of the manifest. Refuses to read the files or the product: every figure is a sum
over findings, exact until it is written.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from sample_data import company
from sample_data.company import POOLS, SECOND_NS
from sample_data.exchanges import Exchange
from sample_data.findings import Finding
from sample_data.provisioning import bill, provisioned_gpu_seconds
from sample_data.repeats import repeats
from sample_data.residency import Piece, gpu_seconds, pieces

ZONES: dict[str, tzinfo] = {"UTC": UTC, company.ZONE: ZoneInfo(company.ZONE)}
MONTHS = ("2026-08", "2026-09", "2026-10", "2026-11")
BILLED_MONTHS = ("2026-09", "2026-10")


def month_of(instant: int, zone: tzinfo) -> str:
    """The calendar month of `instant` in `zone`, as YYYY-MM."""
    return f"{datetime.fromtimestamp(instant // SECOND_NS, tz=zone):%Y-%m}"


def month_start(month: str, zone: tzinfo) -> int:
    """The first instant of `month` in `zone`, in nanoseconds since 1970."""
    year, number = (int(part) for part in month.split("-"))
    return round(datetime(year, number, 1, tzinfo=zone).timestamp()) * SECOND_NS


def next_month(month: str) -> str:
    """The month after `month`."""
    year, number = (int(part) for part in month.split("-"))
    return f"{year + number // 12}-{number % 12 + 1:02d}"


def all_pieces(found: Sequence[Finding]) -> list[Piece]:
    """Every charge of every pool, cut at the month boundaries of both zones."""
    cuts = [month_start(month, zone) for month in MONTHS for zone in ZONES.values()]
    return [piece for pool in POOLS for piece in pieces(pool, found, cuts)]


def overall(found: Sequence[Finding], exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Totals over everything, invalid and refused calls included."""
    return {
        **_counted(found),
        "by_endpoint": _by(found, lambda one: one.endpoint),
        "by_team": _by(found, lambda one: one.team),
        "by_model": _by(found, lambda one: one.model),
        "by_status": dict(sorted(Counter(one.status for one in found).items())),
        "by_timing_source": dict(sorted(Counter(one.times.source for one in found).items())),
        "invalid": _by([one for one in found if not one.is_valid], lambda one: one.endpoint),
        "unpriced": _counted([one for one in found if one.model == company.UNKNOWN_MODEL]),
        "refused_calls": sum(one.is_refused for one in found),
        "further_attempts": sum(one.attempt_no > 1 for one in found),
        "prompts": _prompts(found),
        "repeats": repeats(exchanges),
        **_structure(exchanges),
    }


def by_month(found: Sequence[Finding], charged: Sequence[Piece]) -> dict[str, Any]:
    """Zone to month to calls, tokens, GPU-seconds and money; a call counts where service begins."""
    return {
        name: {
            month: _month(found, charged, month, zone)
            for month in MONTHS
            if any(month_of(one.times.started_at, zone) == month for one in found)
        }
        for name, zone in ZONES.items()
    }


def _month(
    found: Sequence[Finding], charged: Sequence[Piece], month: str, zone: tzinfo
) -> dict[str, Any]:
    begun = [one for one in found if month_of(one.times.started_at, zone) == month]
    passed = [one for one in charged if month_of(one.since, zone) == month]
    answer: dict[str, Any] = {
        **_counted(begun),
        "by_endpoint": {
            endpoint: _endpoint(
                [one for one in begun if one.endpoint == endpoint],
                [one for one in passed if one.finding.endpoint == endpoint],
            )
            for endpoint in sorted({one.endpoint for one in begun})
        },
        "token_cost": _token_cost(begun),
        "unpriced_calls": sum(one.model == company.UNKNOWN_MODEL for one in begun),
    }
    if month in BILLED_MONTHS:
        since, until = month_start(month, zone), month_start(next_month(month), zone)
        answer["pools"] = {
            pool.name: _pool(
                provisioned_gpu_seconds(pool, since, until),
                bill(pool, since, until),
                [one for one in passed if one.finding.pool == pool.name],
            )
            for pool in POOLS
        }
        answer["gpu_bill"] = _cents(sum(bill(pool, since, until) for pool in POOLS))
    return answer


def _endpoint(begun: Sequence[Finding], passed: Sequence[Piece]) -> dict[str, Any]:
    answer = {**_counted(begun), **_buckets(begun), "invalid_calls": _invalid(begun)}
    if not passed:
        return answer | {"token_cost": _token_cost(begun)}
    prefill, decode = _parts(passed)
    return answer | {
        "prefill_s": sum(one.prefill_ns for one in passed) / SECOND_NS,
        "decode_s": sum(one.decode_ns for one in passed) / SECOND_NS,
        "prefill_gpu_seconds": float(prefill),
        "decode_gpu_seconds": float(decode),
        "gpu_seconds": float(prefill + decode),
        "gpu_cost": _cents(_cost(passed)),
    }


def _pool(provisioned: Fraction, cost: Fraction, passed: Sequence[Piece]) -> dict[str, Any]:
    busy = sum(_parts(passed), Fraction(0))
    return {
        "provisioned_gpu_seconds": float(provisioned),
        "busy_gpu_seconds": float(busy),
        "idle_gpu_seconds": float(provisioned - busy),
        "bill": _cents(cost),
        "busy_cost": _cents(_cost(passed)),
        "idle_cost": _cents(cost - _cost(passed)),
    }


def _parts(passed: Iterable[Piece]) -> tuple[Fraction, Fraction]:
    prefill = decode = 0
    for one in passed:
        prefill += one.prefill_gpu_parts
        decode += one.decode_gpu_parts
    return gpu_seconds(prefill), gpu_seconds(decode)


def _cost(passed: Sequence[Piece]) -> Fraction:
    by_price: Counter[Fraction] = Counter()
    for one in passed:
        by_price[one.price_per_gpu_hour] += one.prefill_gpu_parts + one.decode_gpu_parts
    return sum(
        (gpu_seconds(parts) * price / 3_600 for price, parts in by_price.items()), Fraction(0)
    )


def _cents(money: Fraction | int) -> str:
    """Money with six decimals; whoever shows it rounds it to cents."""
    exact = Decimal(Fraction(money).numerator) / Decimal(Fraction(money).denominator)
    return str(exact.quantize(Decimal("0.000001"), ROUND_HALF_EVEN))


def _token_cost(found: Iterable[Finding]) -> str:
    return str(sum((one.token_cost for one in found if one.token_cost is not None), Decimal(0)))


def _counted(found: Sequence[Finding]) -> dict[str, int]:
    return {
        "calls": len(found),
        "input_tokens": sum(one.tokens.input for one in found),
        "output_tokens": sum(one.tokens.output for one in found),
    }


def _buckets(found: Sequence[Finding]) -> dict[str, int]:
    return {
        "uncached_input_tokens": sum(one.tokens.uncached_input or 0 for one in found),
        "cache_read_tokens": sum(one.tokens.cache_read or 0 for one in found),
        "visible_output_tokens": sum(one.tokens.visible_output or 0 for one in found),
        "reasoning_tokens": sum(one.tokens.reasoning or 0 for one in found),
    }


def _invalid(found: Iterable[Finding]) -> int:
    return sum(not one.is_valid for one in found)


def _by(found: Sequence[Finding], key: Callable[[Finding], str]) -> dict[str, Any]:
    return {
        value: {**_counted(mine), **_buckets(mine)}
        for value in sorted({key(one) for one in found})
        for mine in ([one for one in found if key(one) == value],)
    }


def _prompts(found: Sequence[Finding]) -> dict[str, Any]:
    """Answered calls that carry a text, and how many different texts there are."""
    answer = {}
    for endpoint in sorted({one.endpoint for one in found if one.prompt is not None}):
        mine = [
            one.prompt
            for one in found
            if one.endpoint == endpoint and one.prompt is not None and one.status == "ok"
        ]
        answer[endpoint] = {"calls": len(mine), "distinct": len(set(mine))}
    return answer


def _structure(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    requests = [one for one in exchanges if one.request.endpoint != company.DIGEST]
    first = [
        tried.attempt.step
        for one in requests
        for tried in one.tried
        if tried.attempt.attempt_no == 1
    ]
    searches = [step.retrieval for step in first if step.retrieval is not None]
    return {
        "traces_with_calls": len(requests),
        "tool_runs": sum(step.tool is not None for step in first),
        "retrievals": len(searches),
        "retrievals_with_a_repeated_chunk": sum(
            len(set(search.chunks)) < len(search.chunks) for search in searches
        ),
        "agent_loops": _loops(requests),
    }


def _loops(requests: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Runs in which one tool ran more than ten times with the same arguments."""
    found = []
    for one in requests:
        used = Counter(
            (step.tool.name, step.tool.arguments)
            for step in one.request.steps
            if step.tool is not None
        )
        if used and max(used.values()) > 10:
            (name, arguments), times = used.most_common(1)[0]
            found.append(
                {"trace_id": one.trace_id, "tool": name, "arguments": arguments, "times": times}
            )
    return found

"""The sentences beside the lines of the law: what its window is, and what its money rests on.

Owns their words and when each is said. Refuses a figure that no line or charge stands for.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from analysis.extent import no_calls_text
from analysis.group_sums import GroupSums
from analysis.idle_sums import TOLERATED_PS, unconfigured_pools
from analysis.letters import PICOSECONDS_PER_S, Sums
from analysis.lines import IdleSums, Line, is_replayed
from analysis.money import money_text, total_of
from analysis.selection import Filters, caller_values, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window, month_of
from analysis.wording import counted, part_text
from ingest.charging.rates import Rate
from ingest.config import Configuration
from ingest.ledger import Connection

CONVERSION = r"; (1 \S+ = \S+ \S+ since \S+)$"
"""How the rule of a price ends where its amount was converted (`ingest.charging`)."""


def window_note(asked: Window, resolved: Window, origin: str | None) -> str:
    """The window in words; where it was not asked for whole, what its other bound is taken from."""
    said = f"window: {resolved.text()}"
    begin = "from the first service start" if asked.since is None else ""
    end = "to the last end" if asked.until is None else ""
    taken = " ".join(bound for bound in (begin, end) if bound)
    if not taken or resolved.since is None or resolved.until is None:
        return said
    month, following = _newest_month(resolved.since, resolved.until, resolved.timezone)
    return (
        f"{said}, {taken} of the ledger's {origin} calls; idle time outside it is not counted; "
        f"for a whole month: --since {month} --until {following}"
    )


def _newest_month(since: int, until: int, timezone: str) -> tuple[str, str]:
    """The newest month that is over at `until`, and its successor; else the one that runs then."""
    running = month_of(until - 1, timezone)
    month = Window.month(running, timezone)
    begin, end = month.since or 0, month.until or 0
    if since < begin and until < end:
        return month_of(begin - 1, timezone), running
    return running, month_of(end, timezone)


def only_idle_note(
    connection: Connection, window: Window, filters: Filters, idle: Sequence[IdleSums]
) -> str:
    """What is said of a window in which pools were provisioned and nobody called."""
    is_used = any(item.replayed_ps for item in idle)
    all_of_it = "all that was provisioned"
    left = f"what replays did not use of {all_of_it}" if is_used else all_of_it
    return (
        f"{no_calls_text(connection, window, filters)}; {left} is idle "
        "(`from` and `schedule` of a pool say when it is provisioned)"
    )


def overcommit_notes(idle: Sequence[IdleSums]) -> Iterator[str]:
    """A sentence for each pool that was busier than what its configuration provisions."""
    excess: dict[str, int] = {}
    for item in idle:
        excess[item.pool] = excess.get(item.pool, 0) + item.excess_ps
    for pool, excess_ps in sorted(excess.items()):
        if excess_ps > TOLERATED_PS:
            yield (
                f"pool {pool!r} was busy for {excess_ps / PICOSECONDS_PER_S:,.6g} GPU-seconds more "
                "than is provisioned, so it was busier than its configuration allows; `gpuledger "
                "check` names the months; correct its replicas, gpus_per_replica, schedule or from"
            )


def conversion_notes(
    connection: Connection, configuration: Configuration, window: Window, filters: Filters
) -> Iterator[str]:
    """Each exchange rate by which a cost of the answer was converted, with its date."""
    if not configuration.exchange_rates:
        return
    rules = run_question(
        connection,
        question_named("price_rules"),
        since=window.since,
        until=window.until,
        **caller_values(filters),
    )
    rates = (
        rules.join(read_cohorts(connection, filters), on="cohort_id", how="semi")
        .with_columns(rate=pl.col("price_rule").str.extract(CONVERSION))
        .drop_nulls("rate")
        .group_by("rate")
        .agg(pl.col("call_count").sum())
        .sort("rate")
    )
    for rate, count in rates.iter_rows():
        yield f"converted: the cost of {counted(count, 'call')}, {rate}"


def line_notes(lines: Sequence[Line]) -> Iterator[str]:
    """How much is estimated, not told, without a price, or used by replays."""
    of_calls = [(line, line.sums) for line in lines if line.sums is not None]
    on_gpu = [sums for line, sums in of_calls if line.basis == "gpu"]
    busy_ps = sum(sums.gpu_ps for sums in on_gpu)
    estimated_ps = sum(sums.estimated_gpu_ps for sums in on_gpu)
    if estimated_ps:
        yield (
            f"{estimated_ps / busy_ps:.1%} of GPU-seconds are estimated: their calls do not tell "
            "when service began or the first token came"
        )
    unknown = sum(sums.call_count - sums.known_output_count for _, sums in of_calls)
    if unknown:
        yield f"output tokens not told: {counted(unknown, 'call')}; L is the mean of the others"
    without_td = sum(_has_decode_without_tokens(sums) for sums in on_gpu)
    if without_td:
        yield (
            f"Td is not defined on {counted(without_td, 'line')}: calls decode there, and those "
            "that begin there have no output token; the letters give the prefill alone, "
            "gpu_seconds and cost stand"
        )
    yield from _coverage_notes(lines)
    yield from _avoided_notes(lines)
    yield from _replayed_notes(lines)


def _coverage_notes(lines: Sequence[Line]) -> Iterator[str]:
    """How many of the calls the money is of: what has no price is said beside it."""
    counts = [(line.sums.call_count, line.cost is None) for line in lines if line.sums is not None]
    calls = sum(count for count, _ in counts)
    unpriced = sum(count for count, is_unpriced in counts if is_unpriced)
    if not calls:
        return
    if not unpriced:
        yield f"coverage 100%: {counted(calls, 'call')}, all with a price"
        return
    bill = "".join(f"{amount} + " for amount in _bills(lines))
    yield (
        f"{bill}{counted(unpriced, 'unpriced call')}, coverage "
        f"{part_text(calls - unpriced, calls)}: {calls - unpriced:,} of {calls:,} have a price; "
        "`gpuledger check` says why"
    )


def _bills(lines: Sequence[Line]) -> Iterator[str]:
    """What the priced lines cost, a text for each currency."""
    for currency in sorted({line.currency or "" for line in lines if line.cost is not None}):
        amounts = [line.cost for line in lines if (line.currency or "") == currency]
        bill = total_of(amounts)
        if bill is not None:
            yield money_text(bill, currency)


def _avoided_notes(lines: Sequence[Line]) -> Iterator[str]:
    """What answers out of gateways' caches would have cost, in each currency."""
    avoided = [
        (line.currency or "", line.sums.listed_cost)
        for line in lines
        if line.basis == "token" and line.sums is not None
    ]
    for currency in sorted({currency for currency, cost in avoided if cost is not None}):
        amount = total_of([cost for known, cost in avoided if known == currency])
        if amount is not None:
            yield (
                f"avoided: {money_text(amount, currency)}, the list price of answers out of a "
                "gateway's cache; it is in no cost"
            )


def _has_decode_without_tokens(sums: Sums) -> bool:
    return sums.call_count > 0 and sums.decode_ps > 0 and sums.output_tokens == 0


def _replayed_notes(lines: Sequence[Line]) -> Iterator[str]:
    """How much of each pool replays used; that is on its bill, and in no group."""
    used: dict[str, int] = {}
    for line in lines:
        if is_replayed(line):
            used[line.pool or ""] = used.get(line.pool or "", 0) + (line.gpu_ps or 0)
    for pool, gpu_ps in sorted(used.items()):
        yield (
            f"used by replays, a line 'unattributed' without N: {gpu_ps / PICOSECONDS_PER_S:,.6g} "
            f"GPU-seconds of pool {pool!r}; --where origin=replay shows whose"
        )


def pool_notes(rates: Sequence[Rate], sums: GroupSums, *, is_idle_shown: bool) -> Iterator[str]:
    """Which pools are not configured, and that idle time is not shown where it is not."""
    unconfigured = unconfigured_pools(rates, sums)
    if unconfigured:
        names = ", ".join(unconfigured)
        yield f"not configured, so 1 GPU a replica is assumed, no price and no idle time: {names}"
    if not is_idle_shown:
        yield "idle time is not shown: it belongs to whole pools of production"

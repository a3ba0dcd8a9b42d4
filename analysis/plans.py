"""Flat plans beside the lines of the law: what of them no call has a share of, and the words.

Owns the line of a plan that nobody used. Its price falls evenly on the time of the stretch, so that
windows add up. Refuses to spread: the shares of calls are in the ledger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.calendar import pieces_of
from analysis.columns import TIME_COLUMNS
from analysis.lines import Line
from analysis.money import money_text, share_of, total, total_of
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.charging.plans import plan_stretches
from ingest.config import Configuration
from ingest.ledger import Connection

PLAN = "plan"


def plan_months(connection: Connection) -> pl.DataFrame:
    """The stretches of plans that cover calls; columns in docs/metrics/plan_months.md."""
    return run_question(connection, question_named("plan_months"))


def unused_plan_lines(
    connection: Connection, configuration: Configuration, *, by: Sequence[str], window: Window
) -> list[Line]:
    """A line `idle` for each plan (and currency, and time) of the price that no call shares.

    `window` has both bounds, or there is none.
    """
    if not configuration.plans or window.since is None or window.until is None:
        return []
    spread = plan_months(connection).filter(pl.col("listed_cost") > 0)
    is_spread = set(spread.select("plan", "since").rows())
    column = next((column for column in by if column in TIME_COLUMNS), None)
    pieces = [(None, window.since, window.until)] if column is None else pieces_of(window, column)
    found: dict[tuple[Any, ...], Line] = {}
    for stretch in plan_stretches(configuration, window.since, window.until):
        if (stretch.plan, stretch.since) in is_spread:
            continue
        for time, since, until in pieces:
            passed = min(until, stretch.until) - max(since, stretch.since)
            if passed > 0:
                cost = share_of(stretch.amount, passed, stretch.until - stretch.since)
                key = (stretch.plan, time, stretch.currency)
                line = _unused(by, stretch.plan, time, stretch.currency, cost)
                found[key] = _with(found.get(key), line)
    return list(found.values())


def plan_lines_ahead(
    connection: Connection,
    configuration: Configuration,
    *,
    by: Sequence[str],
    month: Window,
    spent: Sequence[Line],
    rest: Window,
) -> list[Line]:
    """What plans will cost in `rest`, the end of `month`, of which `spent` are the lines so far.

    A plan has its price whoever calls: what of the month's price `spent` does not have is expected
    of the groups that have a share so far, in the same parts, or is idle where none has one.
    """
    unused = unused_plan_lines(connection, configuration, by=by, window=rest)
    ahead = list(unused)
    paid = [line for line in spent if line.basis == PLAN and line.cost is not None]
    for currency, price in _prices(configuration, month).items():
        so_far = [line for line in [*paid, *unused] if line.currency == currency]
        left = price - total([line.cost for line in so_far if line.cost is not None])
        callers = [line for line in paid if line.currency == currency and line.sums is not None]
        shared = total([line.cost for line in callers if line.cost is not None])
        if left <= 0:
            continue
        if shared:
            ahead += [replace(one, cost=left * (one.cost or 0) / shared) for one in callers]
        else:
            ahead.append(_unused(by, PLAN, None, currency, left))
    return ahead


def _prices(configuration: Configuration, month: Window) -> dict[str, Decimal]:
    """What all plans cost in `month`, by currency."""
    prices: dict[str, Decimal] = {}
    if not configuration.plans or month.since is None or month.until is None:
        return prices
    for stretch in plan_stretches(configuration, month.since, month.until):
        within = min(month.until, stretch.until) - max(month.since, stretch.since)
        part = share_of(stretch.amount, max(0, within), stretch.until - stretch.since)
        prices[stretch.currency] = total([prices.get(stretch.currency, Decimal(0)), part])
    return prices


def _unused(by: Sequence[str], plan: str, time: Any, currency: str, cost: Decimal) -> Line:
    values = {
        column: time if column in TIME_COLUMNS else plan if column == "pool" else None
        for column in by
    }
    return Line(line="idle", basis=PLAN, values=values, currency=currency, pool=plan, cost=cost)


def _with(before: Line | None, line: Line) -> Line:
    if before is None or before.cost is None or line.cost is None:
        return line
    return replace(line, cost=total([before.cost, line.cost]))


def plan_notes(connection: Connection, lines: Sequence[Line], window: Window) -> Iterator[str]:
    """What the calls of plans would cost by the token, and whose list price is not known."""
    paid = [line for line in lines if line.basis == PLAN and line.sums is not None]
    for currency in sorted({line.currency or "" for line in paid}):
        own = [line for line in paid if line.currency == currency]
        share = total_of([line.cost for line in own])
        listed = total_of([line.sums.listed_cost for line in own if line.sums is not None])
        if share is not None and listed is not None:
            yield (
                f"paid by plans: {money_text(share, currency)}, spread by list price; the same "
                f"calls would cost {money_text(listed, currency)} by the token (list_cost)"
            )
    months = plan_months(connection).filter(
        pl.col("unlisted_count") > 0,
        pl.col("until") > (window.since or 0),
        pl.col("since") < (2**63 - 1 if window.until is None else window.until),
    )
    for row in months.iter_rows(named=True):
        yield (
            f"plan {row['plan']!r}, {row['month']}: of {counted(row['call_count'], 'call')}, "
            f"{row['unlisted_count']:,} have no list price in {row['currency']}, hence no share; "
            "the others carry the whole price"
        )

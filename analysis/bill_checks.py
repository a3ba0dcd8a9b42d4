"""Checks of the bill: conservation by pool and month, the identity of the law, busy time.

Owns what must hold of totals. Each is computed twice, on ways that share little: the lines of
`ask law`, and charges, prices and provisioned time straight from the ledger.
"""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

import polars as pl

from analysis.answer import Answer
from analysis.calendar import calendar_of, pieces_of
from analysis.errors import NoDataError
from analysis.finding import Finding, verdict
from analysis.idle_sums import provisioned_ps
from analysis.law import law
from analysis.letters import PICOSECONDS_PER_S
from analysis.money import gpu_cost, total
from analysis.selection import read_cohorts
from analysis.sql import question_named, run_question
from analysis.wording import counted
from ingest.charging.pools import rates_in
from ingest.charging.provisioned import provisioned
from ingest.config import Configuration
from ingest.ledger import Ledger

TOLERANCE_S = 1e-6
IDENTITY_RATIO = 1e-9
CENT = Decimal("0.01")
BY_POOL = ("pool", "month")

PoolMonths = dict[tuple[str, str], float]
"""GPU-seconds by pool and month."""


def bill_findings(ledger: Ledger, configuration: Configuration) -> Iterator[Finding]:
    """Verdicts on conservation, the bill, the identity and busy time, month by month."""
    yield _conserved(ledger, configuration)
    if configuration.plans:
        yield _plans_spread(ledger)
    try:
        by_month = law(ledger, configuration, by=("month",))
    except NoDataError:
        yield Finding(
            check="lines add up to the bill", result="told", evidence="no production calls"
        )
        return
    yield _adds_up(ledger, configuration, by_month)
    yield _identity(law(ledger, configuration, by=("endpoint", "month")).frame)
    yield _within_provisioned(law(ledger, configuration, by=BY_POOL).frame)


def _conserved(ledger: Ledger, configuration: Configuration) -> Finding:
    """Every GPU-second charged is in a line of its pool and month, and none is in two."""
    charged = _charged(ledger, configuration)
    in_lines = _in_lines(ledger, configuration)
    lost = {key: in_lines.get(key, 0.0) - charged.get(key, 0.0) for key in {*charged, *in_lines}}
    wrong = {key: seconds for key, seconds in lost.items() if abs(seconds) > TOLERANCE_S}
    names = ", ".join(f"{pool} {month} {s:+.6f} s" for (pool, month), s in sorted(wrong.items()))
    return verdict(
        "GPU-seconds of lines = charges, per pool and month",
        not wrong,
        names or f"{sum(charged.values()):,.3f} GPU-seconds in {len(charged)} pool-months",
    )


def _plans_spread(ledger: Ledger) -> Finding:
    """The calls that a plan pays cost what the plan costs, in each month and to the last digit."""
    months = run_question(ledger.connection, question_named("plan_shares", "checks"))
    wrong = months.filter(pl.col("amount").ne_missing(pl.col("share_cost")))
    evidence = ", ".join(
        f"{row['plan']} {row['month']}: {row['share_cost']} of {row['amount']} {row['currency']}"
        for row in wrong.iter_rows(named=True)
    )
    return verdict(
        "shares of calls = price of their plan, per month",
        wrong.is_empty(),
        evidence or f"{counted(months.height, 'month')} of plans are spread",
    )


def _charged(ledger: Ledger, configuration: Configuration) -> PoolMonths:
    rows = run_question(ledger.connection, question_named("charged", "checks"))
    calendar = calendar_of(rows["quarter"].unique().to_list(), configuration.timezone)
    pools = {rate.rate_id: rate.pool for rate in rates_in(ledger.connection)}
    found: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows.join(calendar, on="quarter").iter_rows(named=True):
        found[pools[row["rate_id"]], row["month"]] += int(row["gpu_ps"])
    return {key: gpu_ps / PICOSECONDS_PER_S for key, gpu_ps in found.items()}


def _in_lines(ledger: Ledger, configuration: Configuration) -> PoolMonths:
    found: PoolMonths = defaultdict(float)
    origins = read_cohorts(ledger.connection, {})["origin"].unique().to_list()
    for origin in origins:
        frame = law(ledger, configuration, by=BY_POOL, where={"origin": origin}).frame
        lines = frame.filter(pl.col("basis") == "gpu", pl.col("N").is_not_null())
        for pool, month, seconds in lines.select(*BY_POOL, "gpu_seconds").rows():
            if seconds:
                found[pool, month] += seconds
    return dict(found)


def _adds_up(ledger: Ledger, configuration: Configuration, by_month: Answer) -> Finding:
    """Calls and idle time of each month cost what was provisioned in it, to the cent."""
    rates = rates_in(ledger.connection)
    wrong, months = [], 0
    for month, since, until in pieces_of(by_month.window, "month"):
        bills: dict[str | None, list[Decimal]] = defaultdict(list)
        for offer in provisioned(rates, (since, until), configuration.timezone):
            offered_ps, price = provisioned_ps(offer), offer.rate.price_per_gpu_hour
            if offered_ps is not None and price is not None:
                bills[offer.rate.currency].append(gpu_cost(offered_ps, price))
        for currency, amounts in bills.items():
            months += 1
            billed = _billed(by_month.frame, month, currency)
            if abs(billed - total(amounts)) >= CENT / 2:
                wrong.append(f"{month} {billed:.2f} of {total(amounts):.2f} {currency}")
    evidence = ", ".join(wrong) or f"{months} monthly bills of provisioned GPU-seconds"
    return verdict("calls + idle = provisioned x price, per month", not wrong, evidence)


def _billed(frame: pl.DataFrame, month: str, currency: str | None) -> Decimal:
    lines = frame.filter(
        pl.col("month") == month, pl.col("currency") == currency, pl.col("basis") == "gpu"
    )
    return total(lines["cost"].drop_nulls().to_list())


def _identity(frame: pl.DataFrame) -> Finding:
    """p/3600 N (Tp + L Td) / B is the cost of each line of which all letters are defined."""
    gpu = frame.filter(pl.col("basis") == "gpu", pl.col("N").is_not_null())
    residence = pl.col("N") * (pl.col("Tp_s") + pl.col("L_tokens") * pl.col("Td_s"))
    difference = (residence / pl.col("B") / pl.col("gpu_seconds") - 1).abs()
    ratios = gpu.select(difference).to_series().drop_nulls()
    worst = max(ratios.to_list(), default=0.0)
    return verdict(
        "p N (Tp + L Td) / B = cost, per endpoint and month",
        bool((ratios <= IDENTITY_RATIO).all()),
        f"{len(ratios)} of {gpu.height} lines have all letters; at most {worst:.1e} apart; "
        f"{gpu.height - len(ratios)} not checked: no call or no output token begins there",
    )


def _within_provisioned(frame: pl.DataFrame) -> Finding:
    idle = frame.filter(pl.col("line") == "idle")
    wrong = idle.filter(pl.col("gpu_seconds") < -TOLERANCE_S)
    names = ", ".join(
        f"{pool} {month} by {-seconds:,.1f} s"
        for pool, month, seconds in wrong.select(*BY_POOL, "gpu_seconds").rows()
    )
    return verdict(
        "busy <= provisioned, per pool and month",
        wrong.is_empty(),
        f"more was busy than configured: {names}" if names else f"{idle.height} pool-months",
    )

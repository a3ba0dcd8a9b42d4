"""The price of a million tokens: on own GPUs, with and without idle time, and by the token.

Owns the comparison of what own GPUs cost with what the same tokens cost where their model is sold.
Refuses a price that nobody lists, and to compare a bill of all calls with one of a part of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.columns import COHORT_COLUMNS, checked_groups
from analysis.errors import WrongQuestionError
from analysis.extent import no_calls
from analysis.facts import Facts
from analysis.idle_policies import Share, busy_by_pool, idle_shares
from analysis.law import LawLines, law_lines
from analysis.letters import PICOSECONDS_PER_S, Sums
from analysis.lines import MONEY, PRICE, Line, rounded_costs
from analysis.money import PRICE_QUANTUM, rounded, share_of, total_of
from analysis.scan import Scan, scanned
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.token_offers import Listed, listed_calls
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

FACTS = Facts(
    name="prices",
    question="What does a million tokens cost on own GPUs, and what would they cost by the token?",
    grain="a line of calls of law by one column: a group and its basis (gpu, token, plan)",
    unit="money in currency; per_mtok is per million tokens, input and output together, but for "
    "prefill_cost_per_mtok (of input) and decode_cost_per_mtok (of output); cost_ratio is "
    "cost_with_idle over token_cost",
    params="a column that many calls share, else model; a window; a filter",
    nulls="cost is null where there is no price; cost_with_idle where the calls are filtered by "
    "more than their pool, for idle time belongs to pools; token_cost and what follows from it "
    "where no call on a pool has a list price, and cost_ratio also where some have none or where "
    "the currencies differ, and all of these where a group has gpu lines in two currencies; "
    "prefill and decode where no GPU is charged",
    identity="cost is that of law, cost_with_idle of all lines that of idle, shared in proportion; "
    "cost_per_mtok * (input_tokens + output_tokens) / 1,000,000 = cost; listed_count + "
    "unlisted_count are the calls on pools of the group",
)
MTOK = 1_000_000
NO_SHARE = Share(gpu_ps=0, cost=None)
IDLE_KNOWN = {"origin", "pool"}


def prices(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Filters | None = None,
    scan: Scan = scanned,
) -> Answer:
    """What a million tokens cost by the one column `by`, else by model, the dearest bill first.

    The prices by the token are those of the configuration for the model, else the cheapest and the
    dearest of the public catalogue. Raises `NoDataError` where no call is in the window.
    """
    columns = checked_groups(by or ("model",))
    if len(columns) != 1 or columns[0] not in COHORT_COLUMNS:
        raise WrongQuestionError(f"prices are by one of {', '.join(COHORT_COLUMNS)}")
    connection, filters = ledger.connection, selected(where)
    asked = window or Window(timezone=configuration.timezone)
    found = law_lines(ledger, configuration, by=columns, window=asked, where=where, scan=scan)
    if not any(line.sums for line in found.lines):
        raise no_calls(connection, asked, filters)
    costs = rounded_costs(found.lines)
    shares = _shares(connection, found, costs, filters, scan)
    (column,) = columns
    listed = _by_place(found, _listed(connection, configuration, column, asked, filters))
    rows = [
        _row(
            line,
            costs[place],
            column,
            None if shares is None else shares.get(place, NO_SHARE),
            listed.get(place),
        )
        for place, line in enumerate(found.lines)
        if line.sums is not None
    ]
    frame = _frame(rows, column)
    return Answer(frame=frame, notes=(*found.notes, *_notes(frame)), window=found.window)


def _shares(
    connection: Connection,
    found: LawLines,
    costs: Sequence[Decimal | None],
    filters: Filters,
    scan: Scan,
) -> Mapping[int, Share] | None:
    """Idle time by the place of the line that has it; None where nobody knows whose it is."""
    if not set(filters) <= IDLE_KNOWN:
        return None
    busy = busy_by_pool(connection, found.columns, found.window, filters, scan)
    return idle_shares(found, costs, busy)[0]


def _listed(
    connection: Connection,
    configuration: Configuration,
    column: str,
    asked: Window,
    filters: Filters,
) -> dict[str | None, Listed]:
    """What the calls on pools would cost by the token, by the value of `column`."""
    cohorts = read_cohorts(connection, filters).filter(pl.col("pool").is_not_null())
    sums = run_question(
        connection,
        question_named("token_sums"),
        cohort_ids=cohorts["cohort_id"].to_list(),
        since=asked.since,
        until=asked.until,
        **caller_values(filters),
    )
    return listed_calls(sums, cohorts, column, configuration)


def _by_place(found: LawLines, listed: Mapping[str | None, Listed]) -> dict[int, Listed]:
    """`listed` by the place of the line that has all calls of the group that own GPUs serve.

    Two lines of a group, in two currencies, have each a part of them, and none of it.
    """
    (column,) = found.columns
    places: dict[str | None, list[int]] = {}
    for place, line in enumerate(found.lines):
        if line.sums is not None and line.basis == "gpu":
            places.setdefault(line.values[column], []).append(place)
    return {
        own[0]: listed[value] for value, own in places.items() if len(own) == 1 and value in listed
    }


def _row(
    line: Line, cost: Decimal | None, column: str, share: Share | None, listed: Listed | None
) -> dict[str, Any]:
    sums = line.sums or Sums()
    tokens = (sums.input_tokens or 0) + (sums.output_tokens or 0)
    with_idle = None if share is None or cost is None else total_of([cost, share.cost])
    return {
        "line": line.line,
        column: line.values[column],
        "basis": line.basis,
        "call_count": sums.call_count,
        "input_tokens": sums.input_tokens,
        "output_tokens": sums.output_tokens,
        "gpu_seconds": None if line.gpu_ps is None else line.gpu_ps / PICOSECONDS_PER_S,
        "cost": cost,
        "currency": line.currency,
        "cost_per_mtok": _per_mtok(cost, tokens),
        "cost_with_idle": with_idle,
        "cost_with_idle_per_mtok": _per_mtok(with_idle, tokens),
        "prefill_cost_per_mtok": _phase(line, cost, sums.prefill_gpu_ps, sums.input_tokens),
        "decode_cost_per_mtok": _phase(line, cost, sums.decode_gpu_ps, sums.output_tokens),
        **_by_token(listed, with_idle, line.currency, tokens),
    }


def _by_token(
    listed: Listed | None, with_idle: Decimal | None, currency: str | None, tokens: int
) -> dict[str, Any]:
    """The columns of what the tokens cost where they are sold."""
    if listed is None:
        return {}
    found = listed.cheapest.get(currency or "") or next(iter(listed.cheapest.values()), None)
    if found is None:
        return {"listed_count": 0, "unlisted_count": listed.call_count}
    dearest = listed.dearest[found.currency]
    is_whole = found.call_count == listed.call_count
    ratio = None
    if is_whole and found.currency == currency and with_idle is not None and found.cost:
        ratio = float(with_idle / found.cost)
    return {
        "listed_count": found.call_count,
        "unlisted_count": listed.call_count - found.call_count,
        "token_cost": rounded(found.cost),
        "token_currency": found.currency,
        "token_cost_per_mtok": _per_mtok(found.cost, tokens) if is_whole else None,
        "seller": "; ".join(found.sellers),
        "dearest_token_cost": rounded(dearest.cost),
        "dearest_seller": "; ".join(dearest.sellers),
        "cost_ratio": ratio,
    }


def _per_mtok(cost: Decimal | None, tokens: int | None) -> Decimal | None:
    return rounded(cost * MTOK / tokens, PRICE_QUANTUM) if cost is not None and tokens else None


def _phase(line: Line, cost: Decimal | None, phase_ps: int, tokens: int | None) -> Decimal | None:
    """Money of one phase, by its GPU-seconds, per million tokens that it reads or writes."""
    if cost is None or not line.gpu_ps:
        return None
    return _per_mtok(share_of(cost, phase_ps, line.gpu_ps), tokens)


def _frame(rows: Sequence[Mapping[str, Any]], column: str) -> pl.DataFrame:
    schema: dict[str, Any] = {"line": pl.String, column: pl.String, "basis": pl.String}
    schema |= dict.fromkeys(("call_count", "input_tokens", "output_tokens"), pl.Int64)
    schema |= {"gpu_seconds": pl.Float64, "cost": MONEY, "currency": pl.String}
    schema |= {"cost_per_mtok": PRICE, "cost_with_idle": MONEY, "cost_with_idle_per_mtok": PRICE}
    schema |= {"prefill_cost_per_mtok": PRICE, "decode_cost_per_mtok": PRICE}
    schema |= {"token_cost": MONEY, "token_currency": pl.String, "token_cost_per_mtok": PRICE}
    schema |= {"seller": pl.String, "dearest_token_cost": MONEY, "dearest_seller": pl.String}
    schema |= {"cost_ratio": pl.Float64, "listed_count": pl.Int64, "unlisted_count": pl.Int64}
    frame = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
    order = ["cost", "gpu_seconds", "call_count", column, "basis", "currency"]
    return frame.sort(order, descending=[True] * 3 + [False] * 3, nulls_last=True)


def _notes(frame: pl.DataFrame) -> Iterator[str]:
    on_pools = frame.filter(pl.col("basis") == "gpu")
    unlisted = int(on_pools["unlisted_count"].sum())
    if unlisted:
        yield (
            f"not told, sold in another currency, or of a model that nobody sells: the tokens of "
            f"{counted(unlisted, 'call')} on own GPUs; a price to compare with can stand under "
            "[[token_prices]]"
        )
    if on_pools["token_cost"].count():
        yield (
            "token_cost is at list prices of the day of each call, cached input as it was cached "
            "here; another seller caches otherwise"
        )

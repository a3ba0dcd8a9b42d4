"""Money of the law to the last digit: whoever delivers first, nothing is made or lost."""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import polars as pl
import pytest

from analysis.law import law
from analysis.lines import Line, rounded_costs
from analysis.money import rounded, rounded_to_total
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger
from tests.analysis.conftest import deliver_calls

S = 1_000_000_000
START = 1_793_404_800 * S
QUANTUM = Decimal("1e-9")

LedgerOf = Callable[..., Ledger]


def call(name: str, seconds: float, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": f"/{name}",
        "pool": "p",
        "started_at": START,
        "first_token_at": START,
        "ended_at": START + int(seconds * S),
        "input_tokens": 5,
        "output_tokens": 5,
    } | columns


def pool(price: str, **columns: Any) -> Configuration:
    return Configuration(pools=(Pool(name="p", price_per_gpu_hour=Decimal(price), **columns),))


def test_lines_of_equal_cost_are_the_same_in_any_order_of_delivery(ledger_of: LedgerOf) -> None:
    configuration = pool("2.99", replicas=2)
    given = (call("a", 1), call("b", 1), call("c", 1))
    answers = set()
    for order in permutations(given):
        ledger = ledger_of([], configuration)
        for one in order:
            deliver_calls(ledger, [one], configuration)
        rows = law(ledger, configuration).frame.select("line", "endpoint", "cost", "share_ratio")
        answers.add(json.dumps(rows.rows(), default=str))
    assert len(answers) == 1


def costs_of(*amounts: tuple[str, str, str]) -> list[Decimal | None]:
    return rounded_costs(
        [
            Line(line=line, basis=basis, values={"endpoint": str(n)}, cost=Decimal(amount))
            for n, (line, basis, amount) in enumerate(amounts)
        ]
    )


def test_no_line_becomes_negative_and_none_of_nothing_gets_money() -> None:
    third = "0.0000000004"
    found = costs_of(
        ("idle", "gpu", "0.0000000006"), ("calls", "gpu", "0"), ("calls", "gpu", third)
    )
    assert found == [QUANTUM, Decimal(0), Decimal(0)]
    halves = costs_of(*[("idle", "gpu", "0.0000000005")] * 4, ("calls", "gpu", "0.0000000004"))
    assert min(cost for cost in halves if cost is not None) >= 0
    assert sum(cost for cost in halves if cost is not None) == 2 * QUANTUM


def test_a_cost_of_whole_quanta_stays_whatever_is_beside_it() -> None:
    found = costs_of(
        ("calls", "token", "0.000003500"),
        ("idle", "gpu", "0.0000000009"),
        ("calls", "gpu", "0.0000000007"),
        ("calls", "gpu", "0.0000000007"),
    )
    assert found[0] == Decimal("0.000003500")
    assert sum(cost for cost in found if cost is not None) == Decimal("0.000003502")


@pytest.mark.parametrize("wanted", ["-0.03", "-0.01", "0", "0.02", "0.05"])
def test_a_prescribed_total_is_reached_without_money_for_nothing(wanted: str) -> None:
    cent = Decimal("0.01")
    amounts = [Decimal("0.01"), Decimal(0), Decimal("0.004")]
    parts = rounded_to_total(amounts, Decimal(wanted), cent)
    assert sum(parts) == Decimal(wanted)
    if Decimal(wanted) >= 0:
        assert parts[1] == 0
        assert min(parts) >= 0


def test_zero_has_no_sign() -> None:
    assert str(rounded(Decimal("-1e-12"))) == "0E-9"
    assert [str(part) for part in rounded_to_total([Decimal("-0")], Decimal(0))] == ["0E-9"]


def test_idle_time_of_a_full_pool_is_nothing_and_not_a_rest_of_rounding(
    ledger_of: LedgerOf,
) -> None:
    """Seven calls share a GPU: a seventh of each piece is rounded to a whole picosecond."""
    calls = [call(str(n), 100) for n in range(7)]
    configuration = pool("3600000")
    window = Window(since=START, until=START + 100 * S)
    frame = law(ledger_of(calls, configuration), configuration, window=window).frame
    idle = frame.row(by_predicate=pl.col("line") == "idle", named=True)
    assert [str(idle[name]) for name in ("gpu_seconds", "share_ratio")] == ["0.0", "0.0"]
    assert str(idle["cost"]) == "0E-9"


def test_the_printed_letters_give_the_cost_where_prices_are_mixed(ledger_of: LedgerOf) -> None:
    """Two pools of one endpoint, one dear and one cheap: p is a mean that has no end."""
    configuration = Configuration(
        pools=(
            Pool(name="p", price_per_gpu_hour=Decimal("0.001")),
            Pool(name="q", price_per_gpu_hour=Decimal("0.007")),
        )
    )
    calls = [call("a", 7, endpoint="/x"), call("b", 13, endpoint="/x", pool="q")]
    frame = law(ledger_of(calls, configuration), configuration).frame
    row = frame.row(by_predicate=pl.col("line") == "calls", named=True)
    letters = [Fraction(row[name]) for name in ("N", "Tp_s", "L_tokens", "Td_s", "B")]
    count, prefill, tokens, decode, batch = letters
    price = Fraction(row["price_per_gpu_hour"])
    found = price / 3600 * count * (prefill + tokens * decode) / batch
    exact = (7 * Fraction("0.001") + 13 * Fraction("0.007")) / 3600
    assert abs(found / exact - 1) < Fraction(1, 10**12)


def test_a_call_by_the_token_keeps_its_cost_in_the_law(ledger_of: LedgerOf) -> None:
    price = TokenPrice(
        model="rented", input_per_mtok=Decimal("0.137"), output_per_mtok=Decimal("0.991")
    )
    configuration = Configuration(pools=pool("2.99", replicas=3).pools, token_prices=(price,))
    rented = call("t", 1, pool=None, model="rented")
    calls: Sequence[dict[str, Any]] = [call("a", 1.1), call("b", 1.7), rented]
    frame = law(ledger_of(calls, configuration), configuration).frame
    assert frame.filter(pl.col("basis") == "token")["cost"].to_list() == [Decimal("0.00000564")]

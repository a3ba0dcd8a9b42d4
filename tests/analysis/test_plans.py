"""A flat plan is spread by list price over the calls that it covers, month by month."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.calls import calls
from analysis.check import check
from analysis.errors import NoDataError
from analysis.explain import explain
from analysis.law import law
from analysis.window import Window
from ingest.charging import charge
from ingest.config import Configuration, ExchangeRate, Pool, TokenPrice
from ingest.config_plans import Plan
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
DAY = 86_400 * S
NOVEMBER = 1_793_491_200 * S  # 2026-11-01T00:00:00Z
LIST = TokenPrice(model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(0))
NOV = Window.month("2026-11", "UTC")


def seat(price: int | str = 100, **more: Any) -> Plan:
    fields = {"name": "seat", "models": ("m",), "price_per_month": Decimal(price), **more}
    return Plan(**fields)


def with_plans(*plans: Plan, **more: Any) -> Configuration:
    return Configuration(**{"token_prices": (LIST,), "plans": plans, **more})


def call(name: str, day: float, mtok: float = 1, **columns: Any) -> dict[str, Any]:
    """A call of so many million tokens, so many days after November began."""
    at = NOVEMBER + round(day * DAY)
    return {
        "call_id": name,
        "endpoint": "/a",
        "model": "m",
        "timing_source": "stream",
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 2 * S,
        "uncached_input_tokens": round(mtok * 1_000_000),
        "visible_output_tokens": 1,
    } | columns


def costs(ledger: Ledger, terms: Configuration) -> dict[str, Decimal | None]:
    frame = calls(ledger, terms).frame
    return dict(frame.select("call_id", "cost").rows())


def bill(ledger: Ledger, terms: Configuration, window: Window) -> Decimal:
    """What all lines of a window cost: nothing where it has none."""
    try:
        frame = law(ledger, terms, window=window).frame
    except NoDataError:
        return Decimal(0)
    return sum(frame["cost"].drop_nulls(), Decimal(0))


def lines(ledger: Ledger, terms: Configuration, **asked: Any) -> list[tuple[Any, ...]]:
    frame = law(ledger, terms, **asked).frame
    return frame.select("line", "basis", "pool", "N", "cost").rows()


def test_shares_are_by_list_price_and_add_up_to_the_last_digit(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat())
    ledger = ledger_of([call(name, 1, 1) for name in "abc"] + [call("d", 2, 4)], terms)
    found = costs(ledger, terms)
    assert sorted(found.values()) == [  # a third of three sevenths each, and four sevenths
        Decimal("14.285714285"),
        Decimal("14.285714286"),
        Decimal("14.285714286"),
        Decimal("57.142857143"),
    ]
    assert lines(ledger, terms, window=NOV) == [("calls", "plan", None, 4, Decimal(100))]


@settings(deadline=None, max_examples=10)
@given(
    given_calls=st.lists(
        st.tuples(st.floats(-30, 59), st.integers(0, 3_000_000)), min_size=1, max_size=12
    ),
    price=st.decimals("0.01", "999.99", places=2),
    days=st.lists(st.integers(-31, 61), min_size=2, max_size=2, unique=True),
)
def test_windows_add_up_to_the_price_of_every_month(
    ledger_of: LedgerOf,
    given_calls: list[tuple[float, int]],
    price: Decimal,
    days: list[int],
) -> None:
    terms = with_plans(seat(str(price)))
    made = [call(str(n), day, tokens / 1e6) for n, (day, tokens) in enumerate(given_calls)]
    ledger = ledger_of(made, terms)
    bounds = [NOVEMBER - 31 * DAY, *(NOVEMBER + day * DAY for day in sorted(days))]
    edges = [*sorted(set(bounds)), NOVEMBER + 61 * DAY]  # October, November, December
    spent = Decimal(0)
    for since, until in itertools.pairwise(edges):
        if since < until:
            window = Window(since=since, until=until)
            spent += bill(ledger, terms, window)
    assert abs(spent - 3 * price) < Decimal("1e-8")
    assert "failed" not in check(ledger, terms).frame["result"]


def test_the_order_of_arrival_changes_no_share(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat(10))
    made = [call(str(n), n / 2, 1 + n / 7) for n in range(20)]
    assert costs(ledger_of(made, terms), terms) == costs(ledger_of(made[::-1], terms), terms)


def test_calls_that_come_later_share_the_price_of_their_month_and_no_other(
    ledger_of: LedgerOf, deliver: Callable[..., None]
) -> None:
    terms = with_plans(seat())
    ledger = ledger_of([call("a", 1), call("b", 35)], terms)
    deliver(ledger, [call("c", 20, 3)], terms)
    assert costs(ledger, terms) == {"a": Decimal(25), "c": Decimal(75), "b": Decimal(100)}


def test_a_call_without_a_list_price_has_no_share_and_is_said(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat(models=("m", "no-such-model")))
    ledger = ledger_of([call("a", 1), call("b", 2, model="no-such-model")], terms)
    assert costs(ledger, terms) == {"a": Decimal(100), "b": None}
    notes = law(ledger, terms, window=NOV).notes
    assert (
        "plan 'seat', 2026-11: of 2 calls, 1 have no list price in USD, hence no share; "
        "the others carry the whole price"
    ) in notes
    assert any("1 unpriced call, coverage 50.0%" in note for note in notes)


def test_what_a_call_reports_is_its_list_price_where_none_is_configured(
    ledger_of: LedgerOf,
) -> None:
    terms = with_plans(seat(models=("x",)))
    reported = [
        call(name, 1, model="x", reported_cost=cost, reported_currency="USD")
        for name, cost in (("a", 0.3), ("b", 0.1))
    ]
    assert costs(ledger_of(reported, terms), terms) == {"a": Decimal(75), "b": Decimal(25)}


def test_a_month_without_a_call_has_a_line_of_its_own(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat(30))
    ledger = ledger_of([call("a", -3), call("b", 40)], terms)
    assert lines(ledger, terms, window=NOV) == [("idle", "plan", "seat", None, Decimal(30))]
    tenth = Window(since=NOVEMBER + 3 * DAY, until=NOVEMBER + 6 * DAY)
    assert lines(ledger, terms, window=tenth) == [("idle", "plan", "seat", None, Decimal(3))]
    by_month = law(ledger, terms, by=("month",)).frame.select("month", "line", "cost").rows()
    assert by_month == [
        ("2026-10", "calls", Decimal(30)),
        ("2026-11", "idle", Decimal(30)),
        ("2026-12", "calls", Decimal(30)),
    ]


def test_calls_that_weigh_nothing_cost_nothing_and_leave_the_plan_unused(
    ledger_of: LedgerOf,
) -> None:
    terms = with_plans(seat(30))
    ledger = ledger_of([call("a", 1, 0)], terms)
    assert lines(ledger, terms, window=NOV) == [
        ("idle", "plan", "seat", None, Decimal(30)),
        ("calls", "plan", None, 1, Decimal(0)),
    ]


def test_a_part_of_a_month_costs_that_part(ledger_of: LedgerOf) -> None:
    since, until = datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    terms = with_plans(seat(30, effective_from=since, effective_until=until))
    ledger = ledger_of([call("a", 1), call("b", 20), call("c", 31)], terms)
    assert costs(ledger, terms) == {"a": Decimal(1), "b": Decimal(15), "c": Decimal(1)}


def test_a_price_that_changes_inside_of_a_month_is_spread_on_either_side(
    ledger_of: LedgerOf,
) -> None:
    terms = with_plans(seat(30), seat(60, effective_from=datetime(2026, 11, 11, tzinfo=UTC)))
    ledger = ledger_of([call("a", 1), call("b", 9), call("c", 10)], terms)
    assert costs(ledger, terms) == {"a": Decimal(5), "b": Decimal(5), "c": Decimal(40)}


def test_months_are_those_of_the_configured_zone(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat(), timezone="Asia/Tokyo")
    ledger = ledger_of([call("a", -0.3), call("b", 1), call("c", -0.5)], terms)
    assert costs(ledger, terms) == {"a": Decimal(50), "b": Decimal(50), "c": Decimal(100)}


def test_a_scope_selects_and_the_first_plan_of_a_call_pays(ledger_of: LedgerOf) -> None:
    mine = Plan(name="mine", scope={"team": "t"}, price_per_month=Decimal(7))
    terms = with_plans(mine, seat(), pools=(Pool(name="p", price_per_gpu_hour=Decimal(3600)),))
    made = [
        call("a", 1, team="t"),
        call("b", 1),
        call("c", 1, team="t", pool="p"),
        call("d", 1, is_cache_hit=True),
    ]
    ledger = ledger_of(made, terms)
    found = {name: cost for name, cost in costs(ledger, terms).items() if name != "c"}
    assert found == {"a": Decimal(7), "b": Decimal(100), "d": Decimal(0)}


def test_another_currency_needs_a_rate(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat(currency="EUR"))
    unlike = ledger_of([call("a", 1)], terms)
    assert costs(unlike, terms) == {"a": None}
    assert ("idle", "plan", "seat", None, Decimal(100)) in lines(unlike, terms, window=NOV)
    rate = ExchangeRate(
        source="EUR",
        target="USD",
        rate=Decimal("1.1"),
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    rated = with_plans(seat(currency="EUR"), exchange_rates=(rate,))
    charge(unlike, rated)
    assert costs(unlike, rated) == {"a": Decimal(110)}


def test_a_plan_that_goes_gives_its_calls_their_price_back(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("a", 1, 2)], with_plans(seat()))
    charge(ledger, with_plans())
    assert lines(ledger, with_plans(), window=NOV) == [("calls", "token", None, 1, Decimal(2))]


def test_explain_shows_a_plan_that_began_to_be_used(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat())
    ledger = ledger_of([call("a", -2), call("b", 40)], terms)
    frame = explain(ledger, terms, before=Window.month("2026-10", "UTC"), after=NOV).frame
    changes = {row["line"]: row["change"] for row in frame.to_dicts()}
    assert changes == {"retired": Decimal(-100), "idle": Decimal(100), "total": Decimal(0)}


def test_a_share_that_is_off_is_seen(ledger_of: LedgerOf) -> None:
    terms = with_plans(seat())
    ledger = ledger_of([call("a", 1), call("b", 2)], terms)
    name = "shares of calls = price of their plan, per month"
    results = dict(check(ledger, terms).frame.select("check", "result").rows())
    assert results[name] == "ok"
    ledger.connection.execute("update token_charges set token_cost = 49.99")
    results = dict(check(ledger, terms).frame.select("check", "result").rows())
    assert results[name] == "failed"

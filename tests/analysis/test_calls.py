"""Calls one by one: phases, GPU-seconds, money, and why there is none."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from analysis.calls import calls
from analysis.errors import WrongQuestionError
from analysis.law import law
from analysis.row_checks import unpriced_calls
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger
from tests.analysis.conftest import deliver_calls

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    timezone="Asia/Tokyo",
    pools=(Pool(name="a", price_per_gpu_hour=Decimal("3.60")),),
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(10), output_per_mtok=Decimal(100)),
    ),
)


def call(name: str, start: float, first: float, end: float, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + int((start - 0.5) * S),
        "started_at": MIDNIGHT + int(start * S),
        "first_token_at": MIDNIGHT + int(first * S),
        "ended_at": MIDNIGHT + int(end * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


@pytest.fixture
def rows(ledger_of: LedgerOf) -> dict[str, dict[str, Any]]:
    given = [
        call("1", 0, 1, 4),
        call("2", 2, 3, 6, endpoint="/rag"),
        call("3", 10, 11, 14, pool=None, model="rented", timing_source="stream"),
        call("4", 12, 13, 16, pool="unconfigured"),
        call("5", 20, 21, 5),
        call("6", 30, 31, 34, pool=None, model="nobody-knows", timing_source="stream"),
    ]
    frame = calls(ledger_of(given, CONFIGURATION), CONFIGURATION).frame
    # Ids in the ledger are derived; the names given are those of the order of arrival.
    return dict(zip(("1", "2", "3", "4", "5", "6"), frame.to_dicts(), strict=True))


def test_overlapping_calls_share_the_gpu(rows: dict[str, dict[str, Any]]) -> None:
    assert (rows["1"]["prefill_gpu_seconds"], rows["1"]["decode_gpu_seconds"]) == (1.0, 2.0)
    assert (rows["2"]["prefill_gpu_seconds"], rows["2"]["decode_gpu_seconds"]) == (0.5, 2.5)
    assert (rows["2"]["queue_s"], rows["2"]["prefill_s"], rows["2"]["decode_s"]) == (0.5, 1, 3)
    assert (rows["2"]["cost"], rows["2"]["currency"]) == (Decimal("0.003"), "USD")


def test_an_instant_is_text_in_the_zone(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["1"]["arrived_at"] == "2026-10-05T08:59:59.500000000+09:00"
    assert rows["1"]["ended_at"] == "2026-10-05T09:00:04.000000000+09:00"


def test_a_rented_call_costs_its_tokens(rows: dict[str, dict[str, Any]]) -> None:
    rented = next(row for row in rows.values() if row["model"] == "rented")
    assert (rented["basis"], rented["cost"], rented["gpu_seconds"]) == (
        "token",
        Decimal("0.002"),
        None,
    )


@pytest.mark.parametrize(
    ("model", "pool", "reason"),
    [
        (None, "unconfigured", "the pool has no price"),
        (None, "a", "its times contradict each other"),
        ("nobody-knows", None, "neither a pool nor a price by the token is known for its model"),
    ],
)
def test_a_call_without_a_price_says_why(
    rows: dict[str, dict[str, Any]], model: str | None, pool: str | None, reason: str
) -> None:
    found = [
        (row["model"], row["pool"], row["unpriced_reason"])
        for row in rows.values()
        if row["cost_status"] == "unpriced"
    ]
    assert (model, pool, reason) in found
    assert len(found) == 3


def test_calls_add_up_to_the_law(ledger_of: LedgerOf) -> None:
    given = [call(str(n), n, n + 1, n + 3 + n % 5) for n in range(20)]
    ledger = ledger_of(given, CONFIGURATION)
    frame = calls(ledger, CONFIGURATION).frame
    line = law(ledger, CONFIGURATION, by=("endpoint",)).frame.to_dicts()[0]
    assert frame["gpu_seconds"].sum() == pytest.approx(line["gpu_seconds"], rel=1e-12)
    assert float(frame["cost"].sum()) == pytest.approx(float(line["cost"]), abs=2e-8)


def test_the_dearest_come_first_when_asked_for(ledger_of: LedgerOf) -> None:
    given = [call(str(n), 100 * n, 100 * n + 1, 100 * n + 2 + n % 3) for n in range(6)]
    answer = calls(ledger_of(given, CONFIGURATION), CONFIGURATION, order="cost", limit=2)
    assert answer.frame["gpu_seconds"].to_list() == [4.0, 4.0]
    assert "the first 2 calls; raise --limit for more" in answer.notes


def test_only_the_calls_of_a_filter_are_listed(ledger_of: LedgerOf) -> None:
    given = [call("1", 0, 1, 4), call("2", 2, 3, 6, endpoint="/rag")]
    frame = calls(ledger_of(given, CONFIGURATION), CONFIGURATION, where={"endpoint": "/rag"}).frame
    assert frame["endpoint"].to_list() == ["/rag"]


def test_an_order_that_does_not_exist_is_refused(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("1", 0, 1, 4)], CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="did you mean 'started_at'"):
        calls(ledger, CONFIGURATION, order="started")


def in_any_order(
    ledger_of: LedgerOf, given: Sequence[dict[str, Any]], **asked: Any
) -> list[list[dict[str, Any]]]:
    """The answers of ledgers to which the calls came one by one, in every order."""
    answers = []
    for order in permutations(given):
        ledger = ledger_of([], CONFIGURATION)
        for one in order:
            deliver_calls(ledger, [one], CONFIGURATION)
        answers.append(calls(ledger, CONFIGURATION, **asked).frame.to_dicts())
    return answers


@pytest.mark.parametrize("order", ["started_at", "cost", "gpu_seconds", "input_tokens"])
def test_calls_that_rank_alike_are_listed_alike_whoever_came_first(
    ledger_of: LedgerOf, order: str
) -> None:
    given = [call(name, 0, 1, 4, endpoint=f"/{name}") for name in "abc"]
    answers = in_any_order(ledger_of, given, order=order, limit=2)
    assert all(answer == answers[0] for answer in answers)


def test_a_call_of_many_pieces_has_the_same_bits_whoever_came_first(ledger_of: LedgerOf) -> None:
    """Three calls over hours, each cut at quarter-hours into pieces of thirds and sevenths."""
    given = [
        call("c", 0.1, 1.7, 9000.3),
        call("d", 611.37, 1511.2, 8111.9, replica=None),
        call("e", 1207.7, 1999.1, 7000.013, replica=None),
    ]
    answers = in_any_order(ledger_of, given)
    assert all(answer == answers[0] for answer in answers)


def test_pieces_of_a_call_add_up_in_whole_picoseconds(ledger_of: LedgerOf) -> None:
    """Ten pieces of which the doubles, added up one by one, miss the sum by a bit."""
    ledger = ledger_of([call("1", 0.1, 0.3, 9000.7)], CONFIGURATION)
    row = calls(ledger, CONFIGURATION).frame.row(0, named=True)
    assert (row["prefill_s"], row["decode_s"]) == (0.2, 9000.4)
    assert (row["prefill_gpu_seconds"], row["decode_gpu_seconds"]) == (0.2, 9000.4)


@pytest.fixture(scope="module")
def partly(ledger_of: LedgerOf) -> tuple[Ledger, Configuration]:
    """A call of 3 s whose pool has a price from its second second on, and a whole one after."""
    configuration = Configuration(
        pools=(
            Pool(
                name="a",
                price_per_gpu_hour=Decimal("3.60"),
                effective_from=datetime(2026, 10, 5, 0, 0, 1, tzinfo=UTC),
            ),
        )
    )
    return ledger_of([call("1", 0, 1, 3), call("2", 10, 11, 12)], configuration), configuration


def test_a_call_of_which_a_part_has_no_price_says_which(
    partly: tuple[Ledger, Configuration],
) -> None:
    answer = calls(*partly, order="unpriced")
    names = ("cost_status", "cost", "gpu_seconds", "unpriced_reason")
    assert answer.frame.select(names).rows() == [
        (
            "partly priced",
            Decimal("0.002"),
            3.0,
            "the pool has no price for 1.0 of its GPU-seconds",
        ),
        ("priced", Decimal("0.002"), 2.0, None),
    ]
    assert any(note.startswith("priced in part: 1 call;") for note in answer.notes)


def test_check_counts_a_call_that_is_priced_in_part(partly: tuple[Ledger, Configuration]) -> None:
    rows = unpriced_calls(partly[0].connection).rows()
    assert rows == [(None, "its pool has no price for a part of its time", 1)]

"""The levers: which apply, by which evidence, what each saves given those above it."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.answer import Answer
from analysis.bill import read_bill
from analysis.claims import CLAIM_SCHEMA
from analysis.detections.detected import yes
from analysis.detections.known import levers_known, tiers_known
from analysis.duplicates import duplicates, in_flight, in_flight_claims
from analysis.errors import NoDataError, WrongQuestionError
from analysis.lever_lines import SCHEMA, lines_of, notes_of
from analysis.lever_plan import Planned
from analysis.levers import levers
from analysis.loops import loops, loops_claims
from analysis.response_cache import response_cache_claims
from analysis.retries import retries, retries_claims
from analysis.window import Window
from analysis.worth import Amount, Worth
from ingest.config import Configuration, Pool, TokenPrice

POOL = Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6"), replicas=9)
CONFIGURATION = Configuration(pools=(POOL,))
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
WINDOW = Window()
PRICE = TokenPrice(
    model="t", input_per_mtok=Decimal(100), output_per_mtok=Decimal(1000), currency="EUR"
)


def call(number: int, begin_s: int, **columns: Any) -> dict[str, Any]:
    """A call of ten seconds alone on a replica: ten GPU-seconds, a hundredth of a dollar."""
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/ask",
        "replica": f"r{number % 9}",
        "timing_source": "engine",
        "temperature": 0.0,
        "prompt_hash": f"p{number}",
        "arrived_at": T0 + begin_s * S,
        "started_at": T0 + begin_s * S,
        "first_token_at": T0 + (begin_s + 1) * S,
        "ended_at": T0 + (begin_s + 10) * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
        **columns,
    }


def rented_call(number: int, begin_s: int, **columns: Any) -> dict[str, Any]:
    """A call priced by the token: 100 of input and 10 of output, a hundredth of a euro each."""
    asked = {"prompt_hash": "rented", "model": "t", "replica": None, "timing_source": "span"}
    return call(number, begin_s, **asked | columns)


REPEATED = [
    # The second could wait for the first, the fourth for the third; a cache answers the last two.
    call(1, 0, prompt_hash="p"),
    call(2, 8, prompt_hash="p"),
    call(3, 12, prompt_hash="p"),
    call(4, 14, prompt_hash="p"),
    call(7, 30, endpoint="/other", trace_id="c" * 32),
    # An operation of two attempts, the first of which failed.
    call(5, 40, trace_id="a" * 32, attempt=1, retry_of="5" * 32, status="error"),
    call(6, 60, trace_id="a" * 32, attempt=2, retry_of="5" * 32),
]


def row(answer: Answer, number: int) -> dict[str, Any]:
    (found,) = answer.frame.filter(pl.col("number") == number).to_dicts()
    return found


def test_a_call_that_two_levers_save_is_saved_by_the_first(ledger_of: Any) -> None:
    answer = levers(ledger_of(REPEATED, CONFIGURATION), CONFIGURATION)
    cache, coalescing, retrying = (row(answer, number) for number in (1, 2, 3))
    assert cache["alone_gpu_seconds"] == cache["attributed_gpu_seconds"] == pytest.approx(20.0)
    assert (cache["alone_cost"], cache["attributed_cost"]) == (Decimal("0.02"),) * 2
    assert coalescing["alone_gpu_seconds"] == pytest.approx(20.0)
    assert coalescing["attributed_gpu_seconds"] == pytest.approx(10.0)
    assert (coalescing["attributed_cost"], coalescing["currency"]) == (Decimal("0.01"), "USD")
    assert retrying["attributed_gpu_seconds"] == pytest.approx(10.0)
    assert retrying["busy_ratio"] == pytest.approx(1 / 7)
    assert retrying["bill_ratio"] == pytest.approx(1 / 7)
    assert answer.frame["number"].to_list()[:3] == [1, 2, 3]
    assert answer.notes[2] == (
        "together 40 GPU-seconds (57.1%), 0.040000 USD; each GPU-second is counted once, at the "
        "first lever that saves it"
    )


def test_the_evidence_has_calls_share_money_and_the_endpoint_of_most_of_it(ledger_of: Any) -> None:
    answer = levers(ledger_of(REPEATED, CONFIGURATION), CONFIGURATION)
    assert row(answer, 3)["evidence"] == (
        "1 attempt in vain: 1 error: 10 GPU-seconds (14.3%), 0.010000 USD, all of it at /ask; at "
        "most: 1 of these, 10.000 GPU-seconds, is the first attempt of an operation that "
        "recovered, which no cap avoids"
    )
    assert row(answer, 2)["evidence"] == (
        "2 calls were sent while the same was in flight: 20 GPU-seconds (28.6%), 0.020000 USD, all "
        "of it at /ask"
    )


def test_every_lever_has_a_line_in_the_order_of_the_plan(ledger_of: Any) -> None:
    frame = levers(ledger_of(REPEATED, CONFIGURATION), CONFIGURATION).frame
    assert frame.schema == pl.Schema(SCHEMA)
    assert sorted(frame["number"].to_list()) == list(range(1, 45))
    ranks = {"yes": 0, "unknown": 1, "no": 2}
    order = [(ranks[line["applies"]], line["tier"]) for line in frame.to_dicts()]
    assert order == sorted(order)
    assert frame["risk"].null_count() == 0
    unknown = frame.filter(pl.col("applies") == "unknown")
    assert unknown["missing"].null_count() == 0
    assert not unknown.filter(pl.col("attributed_gpu_seconds").is_not_null()).height
    assert frame.filter(pl.col("applies") == "no")["evidence"].null_count() == 0


def test_on_calls_without_any_waste_no_lever_that_saves_calls_applies(ledger_of: Any) -> None:
    calls = [call(n, n * 20, trace_id=f"{n:032x}", output_hash=f"o{n}") for n in range(1, 6)]
    answer = levers(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert [row(answer, number)["applies"] for number in (1, 2, 3, 4)] == ["no"] * 4
    assert row(answer, 3)["evidence"] == "no failed attempt was made again"


def test_what_the_ledger_does_not_tell_is_said_to_be_missing(ledger_of: Any) -> None:
    calls = [call(n, n * 20, prompt_hash=None) for n in range(1, 4)]
    answer = levers(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    wanted = {
        1: "needs prompts or their hashes: send prompts",
        2: "needs prompts or their hashes: send prompts",
        3: "needs attempts: one trace around them",
        4: "needs traces or conversations around calls",
        8: "needs texts: send prompts",
        9: "needs retrievals: send gen_ai.retrieval.query.text",
        10: "needs tool runs: send gen_ai.tool.call.arguments",
    }
    for number, missing in wanted.items():
        line = row(answer, number)
        assert line["applies"] == "unknown"
        assert line["missing"].startswith(missing)


def test_calls_that_may_be_answered_otherwise_are_counted_apart(ledger_of: Any) -> None:
    calls = [call(n, n * 20, prompt_hash="p", temperature=0.7) for n in range(1, 4)]
    line = row(levers(ledger_of(calls, CONFIGURATION), CONFIGURATION), 1)
    assert (line["applies"], line["attributed_gpu_seconds"]) == ("no", None)
    assert "counted apart 2 more calls" in line["evidence"]


def test_calls_priced_by_the_token_save_money_and_no_gpu_seconds(ledger_of: Any) -> None:
    rented = Configuration(token_prices=(PRICE,))
    calls = [rented_call(n, n * 20) for n in range(1, 4)]
    answer = levers(ledger_of(calls, rented), rented)
    line = row(answer, 1)
    assert (line["attributed_gpu_seconds"], line["attributed_cost"]) == (0.0, Decimal("0.04"))
    assert line["bill_ratio"] == pytest.approx(2 / 3)
    assert line["busy_ratio"] is None
    assert line["evidence"].endswith("an answer to the same: 0.040000 EUR, all of it at /ask")


def parts_of(ledger_of: Any, configuration: Configuration, **columns: Any) -> tuple[int, ...]:
    """Billionths of half of the input, of half of the output, and of the whole call."""
    ledger = ledger_of([rented_call(1, 0, **columns)], configuration)
    bill = read_bill(ledger.connection, WINDOW, {"origin": "production"}, configuration)
    found = [
        bill.saving(bill.claim(pl.DataFrame([(1, *ratios)], schema=CLAIM_SCHEMA, orient="row")))
        for ratios in ((0.5, 0.0), (0.0, 0.5), (1.0, 1.0))
    ]
    return tuple(sum(one.billionths.values()) for one in found)


def test_of_a_call_priced_by_the_token_a_part_is_its_tokens_times_their_price(
    ledger_of: Any,
) -> None:
    rented = Configuration(token_prices=(PRICE,))
    # 100 of input, 10 of output: a hundredth each; 50 read from a cache cost 0.005 beside them.
    assert parts_of(ledger_of, rented) == (5_000_000, 5_000_000, 20_000_000)
    cached = parts_of(ledger_of, rented, cache_read_tokens=50)
    assert cached == (5_000_000, 5_000_000, 25_000_000)


def test_a_cost_that_is_no_list_price_is_not_told_apart(ledger_of: Any) -> None:
    reported = {"reported_cost": "0.5", "reported_currency": "EUR", "model": "unlisted"}
    assert parts_of(ledger_of, Configuration(), **reported) == (0, 0, 500_000_000)


def test_a_lever_has_a_line_for_each_currency(ledger_of: Any) -> None:
    both = Configuration(pools=(POOL,), token_prices=(PRICE,))
    calls = [
        call(1, 0, prompt_hash="p"),
        call(2, 20, prompt_hash="p"),
        *(rented_call(n, n * 20) for n in range(3, 6)),
    ]
    answer = levers(ledger_of(calls, both), both)
    lines = answer.frame.filter(pl.col("number") == 1).select(
        "currency", "attributed_gpu_seconds", "attributed_cost", "bill_ratio"
    )
    assert lines.rows() == [
        ("USD", pytest.approx(10.0), Decimal("0.01"), pytest.approx(1 / 2)),
        ("EUR", 0.0, Decimal("0.04"), pytest.approx(2 / 3)),
    ]
    assert "0.040000 EUR, 0.010000 USD" in answer.notes[2]


def test_a_filter_and_a_window_choose_the_calls(ledger_of: Any) -> None:
    ledger = ledger_of(REPEATED, CONFIGURATION)
    elsewhere = levers(ledger, CONFIGURATION, where={"endpoint": "/other"})
    assert [row(elsewhere, number)["applies"] for number in (1, 2, 3)] == ["no"] * 3
    later = levers(ledger, CONFIGURATION, window=Window(since=T0 + 30 * S))
    assert row(later, 1)["applies"] == "no"
    assert row(later, 3)["busy_ratio"] == pytest.approx(1 / 3)


def test_only_those_asked_for_are_shown(ledger_of: Any) -> None:
    ledger = ledger_of(REPEATED, CONFIGURATION)
    answer = levers(ledger, CONFIGURATION, applies=["yes"])
    assert set(answer.frame["applies"]) == {"yes"}
    assert "of 44 levers apply" in answer.notes[1]
    with pytest.raises(WrongQuestionError, match="not 'perhaps'"):
        levers(ledger, CONFIGURATION, applies=["perhaps"])


def test_a_ledger_without_calls_has_no_levers(ledger_of: Any) -> None:
    with pytest.raises(NoDataError, match="ingest some first"):
        levers(ledger_of([], CONFIGURATION), CONFIGURATION)


@pytest.mark.parametrize(
    ("question", "claims", "column"),
    [
        (duplicates, response_cache_claims, "saved_gpu_seconds"),
        (in_flight, in_flight_claims, "saved_gpu_seconds"),
        (retries, retries_claims, "gpu_seconds"),
        (loops, loops_claims, "gpu_seconds"),
    ],
)
def test_claims_come_to_what_the_question_says(
    ledger_of: Any, question: Any, claims: Any, column: str
) -> None:
    looping = [
        call(20 + n, 100 + 20 * n, trace_id="b" * 32, prompt_hash="q", output_hash="same")
        for n in range(5)
    ]
    ledger = ledger_of([*REPEATED, *looping], CONFIGURATION)
    bill = read_bill(ledger.connection, WINDOW, {"origin": "production"})
    saving = bill.saving(bill.claim(claims(ledger, window=WINDOW)))
    said = question(ledger, window=WINDOW).frame[column].sum()
    assert said > 0
    assert sum(saving.gpu_ps.values()) / 1e12 == pytest.approx(said, rel=1e-12)


def test_the_levers_are_44_with_a_tier_each() -> None:
    known = levers_known()
    assert [lever.number for lever in known] == list(range(1, 45))
    assert len({lever.name for lever in known}) == 44
    assert {lever.tier for lever in known} == {tier.tier for tier in tiers_known()}
    ways = {"ledger", "replay", "model", "endpoint"}
    for lever in known:
        assert ways >= set(lever.evaluate) > set()
        assert lever.risk
        assert lever.needs


def saved(by_currency: dict[str | None, Amount], unpriced: int = 0) -> Worth:
    return Worth(
        call_count=1,
        unpriced_call_count=unpriced,
        by_currency=by_currency,
        by_endpoint={"/ask": Amount()},
    )


def plan_of(count: int, worth: Worth) -> list[Planned]:
    return [
        Planned(lever=lever, detected=yes("found"), alone=worth, attributed=worth)
        for lever in levers_known()[:count]
    ]


def test_what_is_attributed_is_not_rounded_beyond_what_is_saved_alone() -> None:
    worth = saved({"EUR": Amount(cost=Decimal("1.4e-9"))})
    # 2.8e-9 are 3e-9: one of the two is rounded up.
    frame = lines_of(plan_of(2, worth), worth)
    assert frame["attributed_cost"].to_list() == [Decimal("2e-9"), Decimal("1e-9")]
    assert frame["alone_cost"].to_list() == [Decimal("2e-9"), Decimal("1e-9")]


def test_a_saving_without_gpu_time_and_price_is_said_to_be_unknown() -> None:
    notes = list(notes_of(plan_of(1, saved({}, unpriced=1)), saved({})))
    assert notes[1] == (
        "what they save together is not known: their calls tell neither GPU time nor a price"
    )

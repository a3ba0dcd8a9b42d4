"""A sound ledger passes every check; each fault makes its own check fail."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.check import check
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(
        Pool(name="a", gpus_per_replica=4, replicas=2, price_per_gpu_hour=Decimal("3.60")),
        Pool(name="b", gpus_per_replica=2, replicas=3, price_per_gpu_hour=Decimal("1.80")),
    )
)

CONSERVED = "GPU-seconds of lines = charges, per pool and month"
BILL = "calls + idle = provisioned x price, per month"
IDENTITY = "p N (Tp + L Td) / B = cost, per endpoint and month"
WITHIN = "busy <= provisioned, per pool and month"
COUNTS = "read = new + duplicate + rejected"
REFERENCES = "every row finds its counterpart"
BUCKETS = "token buckets add up to what was reported"
CURRENT = "charges are those of the calls"
NEGATIVES = "no negative seconds or GPU-seconds in charges"
VIRTUAL = "charges equal virtual time in SQL"


def traffic() -> list[dict[str, Any]]:
    """Two replicas of a, calls on b of which no replica is told; over midnight, overlapping."""
    return [
        {
            "call_id": str(number),
            "endpoint": f"/{number % 3}",
            "pool": pool,
            "replica": replica,
            "timing_source": "engine",
            "started_at": start,
            "first_token_at": start + 2 * S,
            "ended_at": start + (10 + number % 7 * 100) * S,
            "uncached_input_tokens": 100,
            "visible_output_tokens": 5 + number,
        }
        for number in range(60)
        for pool, replica in [(("a", "r0"), ("a", "r1"), ("b", None))[number % 3]]
        for start in [MIDNIGHT + (number - 30) * 70 * S]
    ]


@pytest.fixture
def ledger(ledger_of: LedgerOf) -> Ledger:
    return ledger_of(traffic(), CONFIGURATION)


def results(ledger: Ledger) -> dict[str, tuple[str, str]]:
    frame = check(ledger, CONFIGURATION).frame
    return {row["check"]: (row["result"], row["evidence"]) for row in frame.to_dicts()}


def failed(ledger: Ledger) -> set[str]:
    return {name for name, (result, _) in results(ledger).items() if result == "failed"}


def test_a_sound_ledger_fails_nothing(ledger: Ledger) -> None:
    found = results(ledger)
    assert {name for name, (result, _) in found.items() if result == "ok"} == {
        CONSERVED, BILL, IDENTITY, WITHIN, COUNTS, REFERENCES, BUCKETS, CURRENT, NEGATIVES,
        VIRTUAL,
    }  # fmt: skip
    assert failed(ledger) == set()
    assert found[COUNTS][1].startswith("60 = 60 + 0 + 0 from 1 source;")


def test_a_charge_that_is_a_tenth_of_a_second_off_is_seen(ledger: Ledger) -> None:
    ledger.connection.execute(
        "update charges set decode_gpu_seconds = decode_gpu_seconds + 0.1 where call_no = 7"
    )
    assert failed(ledger) == {CONSERVED, VIRTUAL}


def test_stored_sums_that_are_not_those_of_the_charges_are_seen(ledger: Ledger) -> None:
    ledger.connection.execute(
        "update charge_sums set decode_gpu_ps = decode_gpu_ps + 100000000 "
        "where partition_id = (select min(partition_id) from charges)"
    )
    assert failed(ledger) == {CONSERVED}


def test_negative_seconds_are_seen(ledger: Ledger) -> None:
    ledger.connection.execute("update charges set decode_s = -50 where call_no = 7")
    assert NEGATIVES in failed(ledger)
    assert results(ledger)[NEGATIVES][1].startswith("1 of ")


def test_charges_of_no_call_are_seen(ledger: Ledger) -> None:
    ledger.connection.execute("update charges set cohort_id = 999 where call_no = 7")
    ledger.connection.execute(
        "update charge_sums set cohort_id = 999 "
        "where partition_id in (select partition_id from charges where call_no = 7)"
    )
    assert {REFERENCES, CONSERVED} <= failed(ledger)
    assert "charge without its call and cohort" in results(ledger)[REFERENCES][1]


def test_a_call_that_is_there_twice_is_seen(ledger: Ledger) -> None:
    ledger.connection.execute("update call_rows set call_id = 'same' where call_no in (3, 4)")
    assert results(ledger)[REFERENCES] == ("failed", "1 call that is there twice")


def test_a_partition_that_waits_to_be_charged_is_seen(ledger: Ledger) -> None:
    ledger.connection.execute("update charge_partitions set is_stale = true where partition_id = 1")
    assert CURRENT in failed(ledger)


def test_buckets_that_do_not_add_up_are_seen_unless_a_note_says_why(ledger: Ledger) -> None:
    ledger.connection.execute("update call_rows set reported_input_tokens = 101 where call_no = 3")
    assert failed(ledger) == {BUCKETS}
    ledger.connection.execute("update call_rows set tokens_note = 'why' where call_no = 3")
    assert failed(ledger) == set()


def test_more_busy_than_provisioned_is_seen(ledger_of: LedgerOf) -> None:
    times = {"started_at": MIDNIGHT, "first_token_at": MIDNIGHT + S, "ended_at": MIDNIGHT + 100 * S}
    calls = [
        call | times | {"pool": "a", "replica": f"r{number}"}
        for number, call in enumerate(traffic()[:3])
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    # Three replicas of four GPUs for 100 s where two are configured.
    assert results(ledger)[WITHIN] == (
        "failed",
        "more was busy than configured: a 2026-10 by 400.0 s",
    )


def test_refused_calls_are_in_no_service_of_any_replica(ledger_of: LedgerOf) -> None:
    refused = {
        "started_at": None,
        "first_token_at": None,
        "http_status": 429,
        "status": "error",
        "timing_source": "span",
        "visible_output_tokens": 0,
    }
    turned_away = [
        {**call, **refused, "call_id": f"r{call['call_id']}", "arrived_at": call["started_at"]}
        for call in traffic()
    ]
    found = results(ledger_of([*traffic(), *turned_away], CONFIGURATION))
    assert {name for name, (result, _) in found.items() if result == "failed"} == set()
    assert found[VIRTUAL][0] == "ok"


def test_calls_of_known_and_of_unknown_replica_share_a_pool(ledger_of: LedgerOf) -> None:
    # Half of the calls that name a replica are joined by some that do not; some have choices.
    known = [call | {"n_choices": 1 + number % 4} for number, call in enumerate(traffic())]
    unknown = [
        call | {"call_id": f"u{call['call_id']}", "replica": None, "pool": "a"}
        for call in known[::2]
    ]
    ledger = ledger_of([*known, *unknown], CONFIGURATION)
    assert failed(ledger) == set()
    assert results(ledger)[VIRTUAL][0] == "ok"
    ledger.connection.execute(
        "update charges set decode_gpu_seconds = decode_gpu_seconds + 0.001 where call_no = 61"
    )
    assert VIRTUAL in failed(ledger)


def test_a_call_of_choices_whose_first_token_is_estimated_is_left_out(ledger_of: LedgerOf) -> None:
    guessed = {"n_choices": 3, "first_token_at": None, "timing_source": "span"}
    found = results(ledger_of([traffic()[0] | guessed, *traffic()[1:]], CONFIGURATION))
    assert found[VIRTUAL][0] == "ok"
    assert "in 2 of 2 partitions" in found[VIRTUAL][1]


def test_data_quality_is_told_and_fails_nothing(ledger_of: LedgerOf) -> None:
    broken = traffic()[0] | {"call_id": "b", "ended_at": MIDNIGHT - 10**6 * S, "endpoint": None}
    silent = traffic()[1] | {"call_id": "c", "visible_output_tokens": None}
    ledger = ledger_of([*traffic(), broken, silent], CONFIGURATION)
    found = results(ledger)
    assert found["times contradict each other"] == ("told", "1 call")
    assert found["input or output tokens not known"] == ("told", "1 call")
    assert found["endpoint not known"] == ("told", "1 call")
    assert found["without a price"][1] == (
        "1 call: model not known 1 (its times contradict each other)"
    )
    assert failed(ledger) == set()


def test_reported_costs_are_held_against_the_price_list(ledger_of: LedgerOf) -> None:
    rented = {
        "pool": None,
        "timing_source": "span",
        "provider": "x-ai",
        "model": "grok-3",
        "uncached_input_tokens": 1_000,
        "visible_output_tokens": 100,
        "reported_cost": 0.0042,
        "reported_currency": "USD",
    }
    ledger = ledger_of([traffic()[0] | rented], CONFIGURATION)
    assert results(ledger)["reported cost beside the price list"] == (
        "told",
        "1 call: reported 0.004200, listed 0.004500 USD, -0.000300",
    )


def test_a_ledger_without_calls_can_be_checked(ledger_of: LedgerOf) -> None:
    found = results(ledger_of([], CONFIGURATION))
    assert {result for result, _ in found.values()} == {"ok", "told"}

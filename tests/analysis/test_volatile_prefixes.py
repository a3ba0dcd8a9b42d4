"""Early text that differs from call to call is found by what it keeps out of caches, and priced."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.bill import read_bill
from analysis.errors import NoDataError
from analysis.prefix_loss import prefix_loss
from analysis.selection import selected
from analysis.volatile_prefixes import NOTHING, volatile_prefixes, volatile_prefixes_claims
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
POOLS = (Pool(name="a", models=("m", "n"), replicas=1, price_per_gpu_hour=Decimal(36)),)
CONFIGURATION = Configuration(pools=POOLS)
RULES = "Answer in two sentences and cite the source of each. " * 20
REGELS = "必ず二文で答え、根拠となる条文を示してください。" * 20
UUIDS = (
    "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
    "9c1d2e3f-0a1b-4c2d-9e3f-4a5b6c7d8e9f",
    "a0b1c2d3-e4f5-4a6b-8c7d-9e0f1a2b3c4d",
)


def call(number: int, *texts: str, **columns: Any) -> dict[str, Any]:
    """Call `number` of a system prompt and a question, alone for a second of prefill."""
    at = MIDNIGHT + number * 10 * S
    roles = ("system", "user")
    said = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "model": "m",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": at,
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 2 * S,
        "uncached_input_tokens": 400,
        "visible_output_tokens": 10,
        "prompt": json.dumps(said),
    } | columns


def found(ledger: Ledger, **asked: Any) -> list[dict[str, Any]]:
    return volatile_prefixes(ledger, CONFIGURATION, **asked).frame.to_dicts()


def timed(number: int, at: str, **columns: Any) -> dict[str, Any]:
    return call(number, f"It is {at} now.\n{RULES}", f"Question {number}?", **columns)


def test_a_time_before_the_rules_keeps_them_out_of_the_cache(ledger_of: LedgerOf) -> None:
    calls = [timed(n, f"2026-10-05 10:{n:02d}:07") for n in range(1, 4)]
    (row,) = found(ledger_of(calls, CONFIGURATION))
    # <|system|> It| is are 5 tokens, the blank and the digits by threes 13. Without them the
    # rules are 14 whole blocks.
    assert row == {
        "endpoint": "/chat",
        "model": "m",
        "kind": "time",
        "call_count": 2,
        "first_token": 5,
        "span_tokens": 13,
        "lost_tokens": 224,
        "hit_tokens": 0,
        "reordered_hit_tokens": 448,
        "gained_tokens": 448,
        "saved_gpu_seconds": pytest.approx(2 * 224 / 400),
        "saved_cost": Decimal("0.011200000"),
        "currency": "USD",
    }


PLANTED = {
    "id in the middle": [f"{RULES[:530]}Request {uuid}. {RULES}" for uuid in UUIDS],
    "user first": [f"User: {name}\n{RULES}" for name in ("Alice Smith", "Bob Jones", "Carol Poe")],
    "利用者": [f"{name}様\n{REGELS}" for name in ("山田太郎", "佐藤花子", "鈴木一郎")],
    "日時": [f"現在時刻: 2026年10月5日 10時{n:02d}分\n{REGELS}" for n in (11, 25, 47)],
    "number": [f"Ticket #{n}\n{RULES}" for n in (4211, 4212, 977)],
    "question first": [f"Question: {q}\nContext: {RULES}" for q in ("what?", "who is it?", "why?")],
}


@pytest.mark.parametrize(
    ("planted", "kind"),
    list(zip(PLANTED, ("id", "user", "user", "time", "number", "other"), strict=True)),
)
@pytest.mark.parametrize("content", ["hash", "full"])
def test_each_planted_kind_is_found_whatever_is_stored(
    ledger_of: LedgerOf, planted: str, kind: str, content: Any
) -> None:
    texts = PLANTED[planted]
    calls = [call(n, text, f"Say {text[:3]}{n}.") for n, text in enumerate(texts)]
    ledger = ledger_of(calls, Configuration(pools=POOLS, content=content))
    (row,) = found(ledger)
    assert (row["kind"], row["call_count"]) == (kind, 2)
    assert row["gained_tokens"] > 2 * 150
    if planted == "id in the middle":
        assert row["first_token"] > 100
        assert row["hit_tokens"] == 2 * (row["first_token"] // 16 * 16)


def test_nothing_is_found_where_nothing_differs_early(ledger_of: LedgerOf) -> None:
    calls = [call(n, RULES, f"At 10:{n} I asked for order 99{n}77. {RULES[:n]}") for n in range(8)]
    answer = volatile_prefixes(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert answer.frame.is_empty()
    assert NOTHING in answer.notes
    assert answer.frame.columns[:3] == ["endpoint", "model", "kind"]


def test_what_looks_volatile_and_is_the_same_in_every_call_is_none(ledger_of: LedgerOf) -> None:
    calls = [timed(n, "2026-10-05") for n in range(4)]
    assert found(ledger_of(calls, CONFIGURATION)) == []


def test_a_date_that_many_calls_share_is_not_worth_moving(ledger_of: LedgerOf) -> None:
    # Of each day the first call gains 14 blocks, and 29 others give up one.
    calls = [timed(n, f"2026-10-{5 + n // 30:02d}") for n in range(60)]
    assert found(ledger_of(calls, CONFIGURATION)) == []
    few = [timed(n, f"2026-10-{5 + n // 2:02d}") for n in range(6)]
    (row,) = found(ledger_of(few, CONFIGURATION))
    assert (row["call_count"], row["lost_tokens"]) == (2, 224)


def test_models_and_replicas_share_no_cache(ledger_of: LedgerOf) -> None:
    calls = [
        timed(1, "10:15"),
        timed(2, "11:25", model="n"),
        timed(3, "12:35", replica="r1"),
        timed(4, "13:45", endpoint="/other"),
    ]
    rows = found(ledger_of(calls, CONFIGURATION))
    assert [(row["endpoint"], row["model"], row["call_count"]) for row in rows] == [
        ("/other", "m", 1)
    ]


def test_what_was_read_from_a_cache_all_the_same_is_not_gained(ledger_of: LedgerOf) -> None:
    told = {"cache_read_tokens": 200, "uncached_input_tokens": 200}
    calls = [timed(1, "10:15"), timed(2, "11:25", **told)]
    (row,) = found(ledger_of(calls, CONFIGURATION))
    assert (row["gained_tokens"], row["saved_gpu_seconds"]) == (24, pytest.approx(24 / 200))


@pytest.mark.parametrize(
    "told",
    [
        {"uncached_input_tokens": 400},
        {"cache_read_tokens": 0, "uncached_input_tokens": 400},
        {"cache_read_tokens": 100, "cache_write_tokens": 250, "uncached_input_tokens": 50},
    ],
)
def test_tokens_have_the_price_that_prefix_loss_gives_them(
    ledger_of: LedgerOf, told: dict[str, int]
) -> None:
    calls = [timed(n, f"order 1{n}:15 " * 3, **told) for n in (1, 2, 3)]
    ledger = ledger_of(calls, CONFIGURATION)
    (row,) = found(ledger)
    loss = prefix_loss(ledger, CONFIGURATION).frame.rows_by_key("cause", named=True)
    lost = loss["volatile"][0]
    assert row["gained_tokens"] == lost["tokens"] > 0
    assert row["saved_gpu_seconds"] == pytest.approx(lost["prefill_gpu_seconds"])


def test_calls_that_do_not_tell_their_reads_are_said(ledger_of: LedgerOf) -> None:
    calls = [timed(1, "10:15"), timed(2, "11:25")]
    notes = volatile_prefixes(ledger_of(calls, CONFIGURATION), CONFIGURATION).notes
    assert any(note.startswith("what 2 calls read from a cache is not told") for note in notes)


def test_a_cache_without_room_gains_nothing(ledger_of: LedgerOf) -> None:
    other = "Quite another text about bees and their dances in the sun. " * 20
    calls = [timed(1, "10:15"), call(2, other, "Why?"), timed(3, "11:25")]
    ledger = ledger_of(calls, CONFIGURATION)
    assert found(ledger, capacity_tokens=160) == []
    (row,) = found(ledger, capacity_tokens=4096)
    assert row["gained_tokens"] == 224


def test_the_saving_is_what_the_claims_come_to(ledger_of: LedgerOf) -> None:
    calls = [timed(n, f"10:{n // 2:02d}:0{n % 3}") for n in range(1, 12)]
    calls += [timed(20 + n, f"2026-10-{5 + n // 2:02d}", model="n") for n in range(8)]
    ledger = ledger_of(calls, CONFIGURATION)
    claims = volatile_prefixes_claims(ledger, window=Window())
    assert claims["call_no"].is_unique().all()
    assert claims["prefill_ratio"].is_between(0, 1).all()
    assert (claims["decode_ratio"] == 0).all()
    bill = read_bill(ledger.connection, Window(), selected(None))
    saved_ps = sum(bill.saving(bill.claim(claims)).gpu_ps.values())
    rows = found(ledger)
    assert {row["model"] for row in rows} == {"m", "n"}
    assert sum(row["saved_gpu_seconds"] for row in rows) == pytest.approx(saved_ps / 1e12)
    assert all(
        row["reordered_hit_tokens"] - row["hit_tokens"] == row["gained_tokens"] for row in rows
    )


def test_a_prompt_that_was_cut_is_said_to_be_known_in_part(ledger_of: LedgerOf) -> None:
    calls = [timed(n, f"10:{n:02d}", uncached_input_tokens=9_000) for n in range(1, 4)]
    answer = volatile_prefixes(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert answer.frame["gained_tokens"].to_list() == [448]
    assert any("of 3 calls only the beginning" in note for note in answer.notes)


def test_what_is_missing_is_said(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, prompt=None)], CONFIGURATION)
    with pytest.raises(NoDataError, match="prefix_block_tokens"):
        volatile_prefixes(ledger, CONFIGURATION)

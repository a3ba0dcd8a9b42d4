"""What answers are made of, what of it need not be written, and what that costs."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.bill import read_bill
from analysis.errors import NoDataError
from analysis.output_format import output_format, output_format_claims
from analysis.selection import selected
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(Pool(name="a", gpus_per_replica=1, replicas=9, price_per_gpu_hour=Decimal("3.6")),),
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(1), output_per_mtok=Decimal(1000)),
    ),
)
ALL_TIME = Window()

# Twelve tokens of JSON; then eight before the brace, 22 of JSON, ten after it: see tests/counting.
COMPACT = '{"name": "Bob", "age": 3}'
WRAPPED = (
    "Here is the JSON:\n```json\n"
    '{"label":"spam","reason":"It offers a lot of money for nothing to all who answer it today"}'
    "\n```\nLet me know if you need more."
)
QUESTION = "How do I reset my password?"
RESTATING = "You asked how to reset your password. Open Settings. Then choose Security."


def call(number: int, completion: str | None, **columns: Any) -> dict[str, Any]:
    """Alone on its replica, one second of prefill and `seconds` of decode."""
    begun = MIDNIGHT + number * 60 * S
    seconds = columns.pop("seconds", 10)
    told = {
        "call_id": str(number),
        "endpoint": "/extract",
        "model": "gpt-4o-mini",
        "pool": "a",
        "replica": f"r{number % 9}",
        "timing_source": "engine",
        "arrived_at": begun,
        "started_at": begun,
        "first_token_at": begun + S,
        "ended_at": begun + (1 + seconds) * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 24,
        "prompt": QUESTION,
        "completion": completion,
    }
    return told | columns


def row(ledger: Ledger, **asked: Any) -> dict[str, Any]:
    return output_format(ledger, CONFIGURATION, **asked).frame.row(0, named=True)


def test_the_parts_of_answers_in_json_add_up(ledger_of: LedgerOf) -> None:
    found = row(ledger_of([call(1, COMPACT), call(2, WRAPPED)], CONFIGURATION))
    parts = ("preamble", "key", "value", "syntax", "blank", "trailing")
    told = [found[f"{name}_tokens"] for name in parts]
    assert told == [8, 9, 21, 3, 1, 10]
    assert sum(told) == found["json_tokens"] == found["answer_tokens"] == 52
    assert (found["json_count"], found["json_ratio"]) == (2, 1.0)


# 40 tokens were measured of WRAPPED, more than reported: of 10 s of decode 18/40 are text around.
def test_text_around_json_costs_its_share_of_the_decode(ledger_of: LedgerOf) -> None:
    found = row(ledger_of([call(1, WRAPPED)], CONFIGURATION))
    assert found["decode_gpu_seconds"] == 10
    assert found["preamble_gpu_seconds"] == pytest.approx(10 * 8 / 40)
    assert found["trailing_gpu_seconds"] == pytest.approx(10 * 10 / 40)
    assert found["saved_gpu_seconds"] == pytest.approx(10 * 18 / 40)
    assert found["saved_cost"] == pytest.approx(Decimal("0.0045"))


def test_hidden_reasoning_is_no_part_of_the_answer(ledger_of: LedgerOf) -> None:
    found = row(ledger_of([call(1, WRAPPED, reasoning_tokens=72)], CONFIGURATION))
    assert found["trailing_gpu_seconds"] == pytest.approx(10 * 24 / 96 * 10 / 40)


def test_where_a_part_of_the_text_is_told_the_rest_is_not_taken_for_alike(
    ledger_of: LedgerOf,
) -> None:
    found = row(ledger_of([call(1, WRAPPED, visible_output_tokens=240)], CONFIGURATION))
    assert found["trailing_gpu_seconds"] == pytest.approx(10 * 10 / 240)


def test_output_that_is_priced_by_the_token_is_saved_at_its_price(ledger_of: LedgerOf) -> None:
    rented = {"model": "rented", "pool": None, "replica": None, "timing_source": "stream"}
    found = row(ledger_of([call(1, WRAPPED, **rented)], CONFIGURATION))
    assert (found["saved_cost"], found["currency"]) == (Decimal("0.0108"), "USD")
    assert found["saved_gpu_seconds"] is None


def test_an_answer_that_was_not_seen_saves_nothing(ledger_of: LedgerOf) -> None:
    found = row(ledger_of([call(1, WRAPPED), call(2, None)], CONFIGURATION))
    assert (found["call_count"], found["measured_count"]) == (2, 1)
    assert found["decode_gpu_seconds"] == 20
    assert found["saved_gpu_seconds"] == pytest.approx(10 * 18 / 40)
    assert found["saved_cost"] == pytest.approx(Decimal("0.0045"))


def test_a_long_preamble_may_be_needed_and_is_not_saved(ledger_of: LedgerOf) -> None:
    thought = "The customer writes about a bill. " * 12
    rows = json.dumps([{"name": "Bob", "age": n} for n in range(20)])
    found = row(ledger_of([call(1, f"{thought}\n{rows}")], CONFIGURATION))
    assert found["preamble_tokens"] > 64
    blanks = found["blank_tokens"] / found["answer_tokens"]
    assert found["saved_gpu_seconds"] == pytest.approx(10 * blanks)


def test_json_in_the_answers_of_an_endpoint_that_mostly_speaks_is_left_alone(
    ledger_of: LedgerOf,
) -> None:
    spoken = [call(n, "The station is in the west. It opens at five.") for n in (1, 2)]
    ledger = ledger_of([*spoken, call(3, WRAPPED)], CONFIGURATION)
    found = row(ledger)
    assert (found["trailing_tokens"], found["saved_gpu_seconds"]) == (10, 0)
    assert output_format_claims(ledger, window=ALL_TIME).is_empty()


EXPLAINING = (
    "The pump moves water from the lower to the upper tank when the switch is on. It stops by "
    'itself. Example: {"k": 5} The number is the level in percent, and it is read once a minute '
    "by the controller."
)


def test_prose_with_an_example_in_json_is_prose(ledger_of: LedgerOf) -> None:
    """6 of 49 tokens are JSON, in every answer of the endpoint."""
    ledger = ledger_of([call(n, EXPLAINING) for n in (1, 2)], CONFIGURATION)
    found = row(ledger)
    assert (found["json_count"], found["json_ratio"], found["prose_count"]) == (0, 0.0, 2)
    names = ("json_tokens", "preamble_tokens", "trailing_tokens", "trailing_gpu_seconds")
    assert [found[name] for name in names] == [None] * 4
    assert found["saved_gpu_seconds"] == 0
    assert output_format_claims(ledger, window=ALL_TIME).is_empty()


def test_an_example_in_an_endpoint_whose_output_is_mostly_json_is_text_around_json(
    ledger_of: LedgerOf,
) -> None:
    rows = json.dumps([{"a": n} for n in range(20)], separators=(",", ":"))
    ledger = ledger_of([call(1, rows), call(2, EXPLAINING)], CONFIGURATION)
    found = row(ledger)
    assert (found["json_count"], found["trailing_tokens"]) == (2, 19)
    assert found["saved_gpu_seconds"] == pytest.approx(10 * (24 + 1 + 19) / 49)


def test_a_question_that_is_said_again_is_saved(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, RESTATING, visible_output_tokens=15)], CONFIGURATION)
    found = row(ledger)
    assert (found["restated_tokens"], found["json_tokens"]) == (8, None)
    assert found["saved_gpu_seconds"] == pytest.approx(10 * 8 / 15)
    claims = output_format_claims(ledger, window=ALL_TIME, parts=("restated",))
    assert claims["decode_ratio"].to_list() == pytest.approx([8 / 15])


def test_clean_answers_save_nothing(ledger_of: LedgerOf) -> None:
    clean = [
        call(1, '{"a":"b"}'),
        call(2, "spam"),
        call(3, "The shop is open on Sunday. It closes at five.", prompt="Is it open on Sunday?"),
    ]
    ledger = ledger_of(clean, CONFIGURATION)
    assert row(ledger)["saved_gpu_seconds"] == 0
    assert output_format_claims(ledger, window=ALL_TIME).is_empty()


def test_names_of_keys_are_claimed_down_to_one_token_each(ledger_of: LedgerOf) -> None:
    rows = [{"customer_identifier": n, "open_amount": n} for n in range(3)]
    ledger = ledger_of([call(1, json.dumps(rows, separators=(",", ":")))], CONFIGURATION)
    found = row(ledger)
    claims = output_format_claims(ledger, window=ALL_TIME, parts=("key_names",))
    left = (found["key_tokens"] - 6) / found["answer_tokens"]
    assert claims["decode_ratio"].to_list() == pytest.approx([left])
    assert found["saved_gpu_seconds"] == 0


def test_claims_come_to_what_is_saved(ledger_of: LedgerOf) -> None:
    texts = [COMPACT, WRAPPED, RESTATING, '{\n  "a": 1\n}', "spam"]
    calls = [call(n, text, seconds=1 + n) for n, text in enumerate(texts)]
    ledger = ledger_of(calls, CONFIGURATION)
    claims = output_format_claims(ledger, window=ALL_TIME)
    bill = read_bill(ledger.connection, ALL_TIME, selected(None), CONFIGURATION)
    claimed = sum(bill.saving(bill.claim(claims)).gpu_ps.values()) / 1e12
    assert claimed == pytest.approx(row(ledger)["saved_gpu_seconds"], abs=1e-9)


@pytest.mark.parametrize("by", [("model",), ("hour",), ("user_id",), ("hour", "model"), ()])
def test_groups_of_any_kind_add_up_to_the_whole(ledger_of: LedgerOf, by: tuple[str, ...]) -> None:
    texts = [COMPACT, WRAPPED, RESTATING, '{\n  "a": 1\n}', "spam", '{"a": [1,']
    calls = [
        call(n * 13, texts[n % 6], user_id=f"u{n % 4}", model=f"gpt-4o-{n % 3}") for n in range(24)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    sums = [pl.col("^.*_(tokens|count)$").sum(), pl.col("saved_gpu_seconds").sum().round(6)]
    parts = output_format(ledger, CONFIGURATION, by=by).frame.select(sums).row(0)
    whole = output_format(ledger, CONFIGURATION, by=()).frame
    assert parts == whole.select(sums).row(0)
    assert whole["broken_json_count"].to_list() == [4]


def test_what_was_not_measured_is_said(ledger_of: LedgerOf) -> None:
    answer = output_format(
        ledger_of([call(1, COMPACT), call(2, None)], CONFIGURATION), CONFIGURATION
    )
    found = answer.frame.row(0, named=True)
    assert (found["measured_count"], found["decode_gpu_seconds"]) == (1, 20)
    assert found["saved_gpu_seconds"] == pytest.approx(10 / 24)
    assert any("not measured: the answers of 1 of 2 calls; send" in note for note in answer.notes)
    ledger = ledger_of([call(1, COMPACT)], Configuration(content="off"))
    with pytest.raises(NoDataError, match=r"no answer here was measured.*measure_answers"):
        output_format(ledger, CONFIGURATION)

"""Hits of an exact cache beside what they save: by group, and as `ask duplicates` counts them."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.duplicates import duplicates
from analysis.errors import NoDataError
from analysis.response_cache import response_cache, response_cache_claims
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice

POOL = Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6"), replicas=20)
CONFIGURATION = Configuration(pools=(POOL,))
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
TTL_NS = 60 * S


def call(
    number: int, begin_s: int, prompt: str | None = "p", long_s: int = 10, **columns: Any
) -> dict[str, Any]:
    """A call alone on a replica: a GPU-second and a thousandth of a dollar for each second."""
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/ask",
        "replica": f"r{number % 20}",
        "timing_source": "engine",
        "temperature": 0.0,
        "prompt_hash": prompt,
        "arrived_at": T0 + begin_s * S,
        "started_at": T0 + begin_s * S,
        "first_token_at": T0 + (begin_s + 1) * S,
        "ended_at": T0 + (begin_s + long_s) * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
        **columns,
    }


def test_thirty_percent_hits_are_five_percent_of_the_cost(ledger_of: Any) -> None:
    # Ten calls, of which three are hits of 1 s; the others take 1 s, three times 9 s and 10 s.
    short = [call(n, 2 * n, "faq", long_s=1) for n in range(4)]
    long = [call(n, 2 * n, f"own {n}", long_s=9 + n % 2) for n in range(4, 10)]
    ledger = ledger_of([*short, *long], CONFIGURATION)
    answer = response_cache(ledger, CONFIGURATION, ttl_ns=TTL_NS)
    assert answer.frame.to_dicts() == [
        {
            "endpoint": "/ask",
            "call_count": 10,
            "told_count": 10,
            "hit_count": 3,
            "hit_ratio": 0.3,
            "gpu_seconds": 61.0,  # 4 x 1, 3 x 9, 3 x 10
            "saved_gpu_seconds": 3.0,
            "saved_ratio": pytest.approx(3 / 61),
            "cost": Decimal("0.061"),
            "saved_cost": Decimal("0.003"),
            "saved_cost_ratio": pytest.approx(3 / 61),
            "currency": "USD",
            "unpriced_hit_count": 0,
            "apart_count": 0,
            "apart_gpu_seconds": 0.0,
        }
    ]
    assert answer.notes[1] == (
        "3 of 10 calls answered within 60 s of an answer to the same: 3.000 GPU-seconds, 0.00 USD"
    )


def test_calls_that_may_be_answered_otherwise_are_no_hits(ledger_of: Any) -> None:
    warm = [call(n, 20 * n, temperature=0.7) for n in range(3)]
    answer = response_cache(ledger_of(warm, CONFIGURATION), CONFIGURATION, ttl_ns=TTL_NS)
    (row,) = answer.frame.to_dicts()
    assert (row["hit_count"], row["hit_ratio"], row["saved_gpu_seconds"]) == (0, 0.0, 0.0)
    assert (row["apart_count"], row["apart_gpu_seconds"]) == (2, 20.0)
    assert answer.notes[2].startswith("counted apart: 2 calls: neither temperature 0 nor a seed")


def test_where_nothing_repeats_nothing_is_hit(ledger_of: Any) -> None:
    ledger = ledger_of([call(n, 20 * n, f"p{n}") for n in range(5)], CONFIGURATION)
    (row,) = response_cache(ledger, CONFIGURATION).frame.to_dicts()
    assert (row["hit_count"], row["saved_gpu_seconds"], row["saved_cost"]) == (0, 0.0, Decimal(0))
    assert response_cache_claims(ledger, window=Window()).is_empty()


def test_a_group_that_tells_no_prompt_has_no_hit_rate(ledger_of: Any) -> None:
    calls = [call(n, 20 * n, None, endpoint="/silent") for n in range(2)]
    ledger = ledger_of([*calls, *(call(n, 20 * n) for n in range(2, 4))], CONFIGURATION)
    answer = response_cache(ledger, CONFIGURATION)
    by_endpoint = {row["endpoint"]: row for row in answer.frame.to_dicts()}
    silent = by_endpoint["/silent"]
    unknown = ("hit_count", "hit_ratio", "saved_gpu_seconds", "saved_ratio", "saved_cost")
    assert [silent[name] for name in unknown] == [None] * 5
    assert (silent["call_count"], silent["gpu_seconds"]) == (2, 20.0)
    assert by_endpoint["/ask"]["hit_count"] == 1
    assert answer.notes[-1].startswith("not compared: 2 of 4 calls tell no prompt; send prompts")


def test_hits_without_a_price_save_no_known_money(ledger_of: Any) -> None:
    free = [
        call(n, 20 * n, model="other", timing_source="span", endpoint="/free") for n in range(2)
    ]
    answer = response_cache(ledger_of(free, CONFIGURATION), CONFIGURATION)
    (row,) = answer.frame.to_dicts()
    assert (row["hit_count"], row["unpriced_hit_count"]) == (1, 1)
    assert (row["saved_gpu_seconds"], row["cost"], row["saved_cost"]) == (None, None, None)
    assert "without a price: 1 hit" in answer.notes


def test_a_window_without_calls_is_no_answer(ledger_of: Any) -> None:
    ledger = ledger_of([call(1, 0)], CONFIGURATION)
    with pytest.raises(NoDataError):
        response_cache(
            ledger, CONFIGURATION, window=Window.parse("2020-01-01", "2020-02-01", "UTC")
        )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 7_200), st.sampled_from(["p", "q", None]), st.integers(1, 30),
            st.sampled_from([0.0, 0.7]), st.sampled_from(["/a", "/b"]),
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_every_grouping_has_the_sums_of_duplicates_and_of_its_claims(
    ledger_of: Any, drawn: Any
) -> None:
    calls = [
        call(n, at, prompt and f"{prompt}{warm}{where}", long_s=long_s, temperature=warm,
             endpoint=where, user_id=f"u{n % 3}")
        for n, (at, prompt, long_s, warm, where) in enumerate(drawn)
    ]  # fmt: skip
    ledger = ledger_of(calls, CONFIGURATION)
    found = duplicates(ledger, window=Window()).frame
    saved_s = found["saved_gpu_seconds"].sum()
    for by in (("endpoint",), ("hour",), ("user_id", "endpoint"), ()):
        frame = response_cache(ledger, CONFIGURATION, by=by).frame
        assert frame["call_count"].sum() == len(calls)
        assert frame["gpu_seconds"].sum() == pytest.approx(sum(one[2] for one in drawn))
        assert frame["saved_gpu_seconds"].sum() == pytest.approx(saved_s)
        assert frame["saved_cost"].sum() == pytest.approx(found["saved_cost"].sum() or 0)
        hits = frame.select(pl.sum("hit_count") + pl.sum("apart_count")).item()
        assert hits == found["duplicate_count"].sum()
    claims = response_cache_claims(ledger, window=Window())
    charges = ledger.connection.sql(
        "select call_no, sum(prefill_gpu_seconds + decode_gpu_seconds) as gpu_seconds "
        "from charges group by call_no"
    ).pl()
    claimed = claims.join(charges, on="call_no", how="left")
    assert claimed["gpu_seconds"].sum() == pytest.approx(saved_s)


def test_what_is_not_compared_is_of_the_calls_selected(ledger_of: Any) -> None:
    calls = [call(0, 0, None, endpoint="/silent"), *(call(n, 20 * n) for n in range(1, 3))]
    ledger = ledger_of(calls, CONFIGURATION)
    told, silent = (
        response_cache(ledger, CONFIGURATION, where={"endpoint": endpoint}).notes
        for endpoint in ("/ask", "/silent")
    )
    assert not any(note.startswith("not compared") for note in told)
    assert silent[-1].startswith("not compared: 1 of 1 calls tell no prompt")


def test_a_group_of_two_currencies_says_its_money_in_the_notes(ledger_of: Any) -> None:
    euros, dollars = (
        TokenPrice(
            model=currency, input_per_mtok=Decimal(100), output_per_mtok=Decimal(1000),
            currency=currency,
        )
        for currency in ("EUR", "USD")
    )  # fmt: skip
    prices = Configuration(token_prices=(euros, dollars))
    calls = [
        call(n, 20 * n, model, model=model, timing_source="span", replica=None)
        for n, model in enumerate(["EUR", "EUR", "USD", "USD", "USD"])
    ]
    answer = response_cache(ledger_of(calls, prices), prices, ttl_ns=TTL_NS)
    (row,) = answer.frame.to_dicts()
    assert (row["hit_count"], row["saved_cost"], row["currency"]) == (3, None, None)
    # A call is 100 tokens of input and 10 of output, a hundredth each.
    assert answer.notes[1].endswith("0.000 GPU-seconds, 0.02 EUR, 0.04 USD")
    assert answer.notes[2] == (
        "no cost in 1 group whose calls are in several currencies: ask by model or pool"
    )

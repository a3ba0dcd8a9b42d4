"""Goodput: of the calls sent, those that met every limit that is promised for their endpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import NoDataError
from analysis.goodput import OUTCOMES, goodput
from analysis.window import Window
from ingest.config import Configuration, Slo, load_configuration
from ingest.errors import ConfigurationError
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MS = 1_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
HOUR = Window(since=MIDNIGHT, until=MIDNIGHT + 3600 * S)
PROMISE = Slo(endpoint="/chat", ttft_p95_s=1.0, tpot_p95_s=0.05)
CONFIGURATION = Configuration(slos=(PROMISE,))


def call(number: int, ttft_ms: int = 500, tpot_ms: int = 20, **columns: Any) -> dict[str, Any]:
    """Of eleven tokens, so with ten after the first."""
    arrived = MIDNIGHT + number * S
    first = arrived + ttft_ms * MS
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "pool": "a",
        "replica": f"r{number}",
        "timing_source": "engine",
        "arrived_at": arrived,
        "started_at": arrived,
        "first_token_at": first,
        "ended_at": first + 10 * tpot_ms * MS,
        "visible_output_tokens": 11,
    } | columns


def only(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


def counts(row: dict[str, Any]) -> dict[str, int]:
    return {outcome: row[f"{outcome}_count"] for outcome in OUTCOMES if row[f"{outcome}_count"]}


def test_of_the_calls_sent_those_count_that_met_every_limit(ledger_of: LedgerOf) -> None:
    calls = [
        call(1),
        call(2, ttft_ms=1000, tpot_ms=50),
        call(3, ttft_ms=1001),
        call(4, tpot_ms=51),
        call(5, status="error"),
        call(6, status="timeout"),
        call(7, status="error", http_status=429),
        call(8, status="cancelled"),
    ]
    answer = goodput(ledger_of(calls, CONFIGURATION), CONFIGURATION, window=HOUR)
    row = only(answer.frame)
    assert counts(row) == {
        "met": 2, "missed": 2, "error": 1, "timeout": 1, "cancelled": 1, "refused": 1,
    }  # fmt: skip
    assert (row["sent_count"], row["met_ratio"]) == (8, 0.25)
    assert (row["ttft_limit_s"], row["tpot_limit_s"], row["e2e_limit_s"]) == (1.0, 0.05, None)
    assert (row["ttft_within_ratio"], row["tpot_within_ratio"]) == (0.75, 0.75)
    assert row["verdict"] == "broken"


def test_rates_are_of_the_calls_and_tokens_that_met_them(ledger_of: LedgerOf) -> None:
    calls = [call(1), call(2, ttft_ms=2000), call(3, visible_output_tokens=61)]
    row = only(goodput(ledger_of(calls, CONFIGURATION), CONFIGURATION, window=HOUR).frame)
    assert row["sent_per_s"] == pytest.approx(3 / 3600)
    assert row["goodput_per_s"] == pytest.approx(2 / 3600)
    assert row["goodput_tokens_per_s"] == pytest.approx(72 / 3600)


def test_calls_that_do_not_tell_their_tokens_have_no_rate_of_tokens(ledger_of: LedgerOf) -> None:
    configuration = Configuration(slos=(Slo(endpoint="/chat", ttft_p95_s=1.0),))
    ledger = ledger_of([call(1, visible_output_tokens=None)], configuration)
    row = only(goodput(ledger, configuration, window=HOUR).frame)
    assert (row["met_count"], row["goodput_tokens_per_s"]) == (1, None)
    late = ledger_of([call(1, ttft_ms=2000)], configuration)
    row = only(goodput(late, configuration, window=HOUR).frame)
    assert (row["met_count"], row["goodput_tokens_per_s"]) == (0, 0.0)


def test_rates_of_an_hour_are_of_its_part_of_the_window(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1), call(3700)], CONFIGURATION)
    window = Window(since=MIDNIGHT, until=MIDNIGHT + 3800 * S)
    frame = goodput(ledger, CONFIGURATION, by=("hour",), window=window).frame.sort("hour")
    assert frame["goodput_per_s"].to_list() == pytest.approx([1 / 3600, 1 / 200])


def test_an_unknown_latency_is_not_met(ledger_of: LedgerOf) -> None:
    untold = {"timing_source": "span", "started_at": None, "first_token_at": None}
    calls = [
        call(1),
        call(2, **untold),
        call(3, ttft_ms=2000, visible_output_tokens=None),
        call(4, visible_output_tokens=1),
    ]
    answer = goodput(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    row = only(answer.frame)
    # Call 3 is too late whatever its TPOT; call 4 has no second token to wait for.
    assert counts(row) == {"met": 2, "unknown": 1, "missed": 1}
    assert "a promised latency is not told, hence not met: 1 call" in answer.notes


def test_times_that_contradict_each_other_tell_no_latency(ledger_of: LedgerOf) -> None:
    row = only(goodput(ledger_of([call(1, ended_at=MIDNIGHT)], CONFIGURATION), CONFIGURATION).frame)
    assert counts(row) == {"unknown": 1}
    assert (row["ttft_within_ratio"], row["verdict"]) == (None, "unknown")


@pytest.mark.parametrize(
    ("within", "beyond", "untold", "verdict"),
    [
        (19, 1, 0, "kept"),
        (18, 2, 0, "broken"),
        (19, 0, 1, "kept"),
        (18, 1, 1, "unknown"),
        (0, 0, 3, "unknown"),
        (1, 2, 17, "broken"),
    ],
)
def test_the_verdict_holds_whatever_the_untold_latencies_are(
    ledger_of: LedgerOf, within: int, beyond: int, untold: int, verdict: str
) -> None:
    configuration = Configuration(slos=(Slo(endpoint="/chat", ttft_p95_s=1.0),))
    unseen = {"timing_source": "span", "started_at": None, "first_token_at": None}
    kinds = [{}] * within + [{"ttft_ms": 1500}] * beyond + [unseen] * untold
    calls = [call(n, **kind) for n, kind in enumerate(kinds)]  # type: ignore[arg-type]
    row = only(goodput(ledger_of(calls, configuration), configuration).frame)
    assert row["verdict"] == verdict


def test_the_whole_answer_can_be_promised(ledger_of: LedgerOf) -> None:
    configuration = Configuration(slos=(Slo(endpoint="/chat", e2e_p95_s=0.7),))
    ledger = ledger_of([call(1), call(2, ttft_ms=501)], configuration)
    row = only(goodput(ledger, configuration).frame)
    assert (row["met_count"], row["e2e_within_ratio"], row["ttft_within_ratio"]) == (1, 0.5, None)


def test_each_call_has_the_limits_of_its_own_endpoint(ledger_of: LedgerOf) -> None:
    slow = Slo(endpoint="/slow", ttft_p95_s=10.0)
    configuration = Configuration(slos=(PROMISE, slow))
    calls = [call(1), call(2, ttft_ms=5000, endpoint="/slow"), call(3, endpoint="/other")]
    answer = goodput(ledger_of(calls, configuration), configuration, by=())
    row = only(answer.frame)
    assert (row["sent_count"], row["met_count"], row["ttft_limit_s"]) == (2, 2, None)
    assert "without an SLO, hence not here: /other" in answer.notes


def test_percentiles_are_of_the_answered_calls(ledger_of: LedgerOf) -> None:
    calls = [call(1, ttft_ms=400), call(2, ttft_ms=400), call(3, ttft_ms=9000, status="timeout")]
    ledger = ledger_of(calls, CONFIGURATION)
    assert only(goodput(ledger, CONFIGURATION).frame)["ttft_p95_s"] == pytest.approx(0.4)
    rough = goodput(ledger, CONFIGURATION, most_exact_calls=1)
    assert only(rough.frame)["ttft_p95_s"] == pytest.approx(0.4, rel=0.01)
    assert "p95_s are of buckets 1 % wide (many calls)" in rough.notes


def test_where_no_call_was_answered_there_is_no_percentile(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, status="error")], CONFIGURATION)
    for by in ((), ("endpoint",)):
        row = only(goodput(ledger, CONFIGURATION, by=by).frame)
        assert (row["error_count"], row["ttft_p95_s"], row["verdict"]) == (1, None, "unknown")


def test_without_a_promise_it_is_said_how_to_write_one(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1)], CONFIGURATION)
    with pytest.raises(NoDataError, match=r"no SLO is configured: write .*\n\[\[slos\]\]"):
        goodput(ledger, Configuration())
    other = Configuration(slos=(Slo(endpoint="/other", ttft_p95_s=1.0),))
    with pytest.raises(NoDataError, match="no SLO is for the endpoints asked for"):
        goodput(ledger, other)


def test_an_endpoint_has_one_promise(tmp_path: Path) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text('[[slos]]\nendpoint = "/a"\n[[slos]]\nendpoint = "/a"\nttft_p95_s = 1\n')
    with pytest.raises(ConfigurationError, match=r"slos\[0\] and slos\[1\] are both of '/a'"):
        load_configuration(path)


@settings(max_examples=15, deadline=None)
@given(
    kinds=st.lists(
        st.tuples(
            st.sampled_from(["/chat", "/slow"]),
            st.sampled_from(["ok", "error", "timeout", "cancelled"]),
            st.integers(0, 2000),
            st.integers(0, 100),
            st.sampled_from([1, 11, None]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_the_outcomes_add_up_to_the_calls_sent(
    ledger_of: LedgerOf, kinds: list[tuple[str, str, int, int, int | None]]
) -> None:
    configuration = Configuration(slos=(PROMISE, Slo(endpoint="/slow", e2e_p95_s=1.5)))
    calls = [
        call(n, ttft, tpot, endpoint=endpoint, status=status, visible_output_tokens=tokens)
        for n, (endpoint, status, ttft, tpot, tokens) in enumerate(kinds)
    ]
    frame = goodput(ledger_of(calls, configuration), configuration).frame
    assert frame["sent_count"].sum() == len(calls)
    for row in frame.to_dicts():
        assert sum(counts(row).values()) == row["sent_count"]

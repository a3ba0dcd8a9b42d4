"""What engines count beside what calls say, on figures worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analysis.engine import engine
from analysis.errors import WrongQuestionError
from analysis.window import Window
from gpuledger.main import gpuledger
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 10**9
BEGIN = 1_790_841_600 * S
"""2026-10-01T08:00:00Z; a quarter-hour of UTC begins then."""
ALL = Window()
CHAT = Configuration(pools=(Pool(name="chat", models=("llama",), replicas=2),))

LedgerOf = Callable[..., Ledger]
TextOf = Callable[..., str]


def call(name: str, started: float, first: float, ended: float, **fields: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "model": "llama",
        "replica": "10.0.0.7:8000",
        "timing_source": "engine",
        "uncached_input_tokens": 100,
        "visible_output_tokens": 40,
    }
    times = {"started_at": started, "first_token_at": first, "ended_at": ended}
    at = {column: BEGIN + round(second * S) for column, second in times.items()}
    return {"call_id": name, "arrived_at": at["started_at"], **defaults, **at, **fields}


A = call("a", 0, 10, 30)
B = call("b", 10, 20, 30, uncached_input_tokens=200, visible_output_tokens=10)
"""In service one call for 10 s, then two for 20 s: 50 call-seconds in 30 s, so B is 5/3."""


def scrape(running: int, prompt: int, output: int, cached: int = 0, **more: float) -> list[str]:
    labels = '{engine="0",model_name="llama"}'
    values = {
        "num_requests_running": running,
        "num_requests_waiting": 1,
        "kv_cache_usage_perc": 0.5,
        "prompt_tokens_total": prompt,
        "prompt_tokens_cached_total": cached,
        "generation_tokens_total": output,
        **more,
    }
    return [f"vllm:{name}{labels} {value}" for name, value in values.items()]


SCRAPES = {
    0: scrape(1, 1_000, 500, num_preemptions_total=3),
    10: scrape(2, 1_100, 500, 10),
    20: scrape(2, 1_300, 520, 30),
    30: scrape(0, 1_300, 550, 30, num_preemptions_total=5),
    60: scrape(0, 1_300, 550, 30, num_preemptions_total=5),
}
HERE = " instance=10.0.0.7:8000"


def one(ledger: Ledger, **asked: Any) -> dict[str, Any]:
    (row,) = engine(ledger, window=ALL, **asked).frame.to_dicts()
    return row


def test_an_engine_and_its_calls_agree_where_all_calls_are_there(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    row = one(ledger_of([A, B], [text_of(SCRAPES, BEGIN, HERE)], CHAT))
    assert (row["pool"], row["replica"], row["engine"]) == ("chat", "10.0.0.7:8000", "vllm")
    assert (row["sampled_s"], row["busy_samples"]) == (60.0, 3)
    assert row["running_calls"] == pytest.approx(50 / 60)
    assert row["B_engine"] == pytest.approx(5 / 3)
    assert row["B_calls"] == pytest.approx(5 / 3)
    assert (row["waiting_calls"], row["kv_use_ratio"]) == (1.0, 0.5)
    assert (row["prompt_tokens"], row["output_tokens"]) == (300.0, 50.0)
    assert (row["call_input_tokens"], row["call_output_tokens"]) == (300.0, pytest.approx(50.0))
    assert row["prefix_hit_ratio"] == pytest.approx(0.1)
    assert (row["preemptions"], row["resets"]) == (2.0, 0)
    assert row["prompt_tokens_per_s"] == pytest.approx(300 / 60)
    assert row["output_tokens_per_s"] == pytest.approx(50 / 60)


def test_calls_that_are_missing_show_in_b_and_in_the_tokens(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    row = one(ledger_of([A], [text_of(SCRAPES, BEGIN, HERE)], CHAT))
    assert (row["B_calls"], row["B_ratio"]) == (1.0, pytest.approx(0.6))
    assert row["input_coverage_ratio"] == pytest.approx(100 / 300)
    assert row["output_coverage_ratio"] == pytest.approx(40 / 50)


def test_engines_of_a_pool_whose_calls_name_no_replica_are_one_unit(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    calls = [A | {"replica": None}, call("c", 0, 10, 30, replica=None)]
    alone = {0: scrape(1, 0, 0), 30: scrape(0, 100, 40)}
    texts = [text_of(alone, BEGIN, f" instance={name}") for name in ("a:1", "b:1")]
    row = one(ledger_of(calls, texts, CHAT))
    assert (row["pool"], row["replica"], row["sampled_s"]) == ("chat", None, 60.0)
    assert (row["B_engine"], row["B_calls"]) == (1.0, 1.0)
    assert (row["prompt_tokens"], row["call_input_tokens"]) == (200.0, 200.0)


def test_ranks_of_one_engine_are_added_up_and_shares_of_a_cache_averaged(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    second = [line.replace('engine="0"', 'engine="1"') for line in scrape(3, 0, 0)]
    text = text_of({0: scrape(1, 0, 0) + second, 10: scrape(0, 0, 0) + second}, BEGIN, HERE)
    row = one(ledger_of([A], [text], CHAT))
    assert (row["running_calls"], row["kv_use_ratio"], row["sampled_s"]) == (4.0, 0.5, 10.0)


def test_hours_of_the_zone_add_up_and_a_step_is_cut_where_one_ends(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    late = {3_590.0: scrape(2, 0, 0), 3_610.0: scrape(0, 400, 80)}
    calls = [call("d", 3_590, 3_595, 3_610), call("e", 3_590, 3_605, 3_610)]
    ledger = ledger_of(calls, [text_of(late, BEGIN, HERE)], CHAT)
    rows = engine(ledger, by=("hour",), window=ALL).frame.to_dicts()
    assert [row["hour"] for row in rows] == ["2026-10-01T08:00+00:00", "2026-10-01T09:00+00:00"]
    assert [row["sampled_s"] for row in rows] == [10.0, 10.0]
    assert [row["prompt_tokens"] for row in rows] == [200.0, 200.0]
    assert [row["call_input_tokens"] for row in rows] == [100.0, 100.0]
    assert [row["call_output_tokens"] for row in rows] == pytest.approx([40 / 3, 40 * 2 / 3 + 40])
    assert [row["B_calls"] for row in rows] == [2.0, 2.0]


def test_a_window_cuts_both_sides_alike(ledger_of: LedgerOf, text_of: TextOf) -> None:
    ledger = ledger_of([A, B], [text_of(SCRAPES, BEGIN, HERE)], CHAT)
    window = Window(since=BEGIN + 5 * S, until=BEGIN + 15 * S)
    (row,) = engine(ledger, window=window).frame.to_dicts()
    assert (row["sampled_s"], row["B_engine"], row["B_calls"]) == (10.0, 1.5, 1.5)
    assert row["prompt_tokens"] == pytest.approx(50 + 100)


def test_a_gauge_is_not_taken_for_what_it_was_for_longer_than_ten_minutes(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    far = {0: scrape(1, 0, 0), 601: scrape(0, 600, 60)}
    row = one(ledger_of([A], [text_of(far, BEGIN, HERE)], CHAT))
    assert (row["sampled_s"], row["running_calls"], row["prompt_tokens"]) == (0.0, None, 600.0)


def test_restarts_are_added_up_before_series_are(ledger_of: LedgerOf, text_of: TextOf) -> None:
    found = {n * 10: scrape(1, 0, tokens) for n, tokens in enumerate((1000, 1500, 200, 700))}
    answer = engine(ledger_of([A], [text_of(found, BEGIN, HERE)], CHAT), window=ALL)
    assert answer.frame["output_tokens"].to_list() == [1200.0]
    assert answer.frame["resets"].to_list() == [1]
    assert "counters began again 1 times" in answer.notes[0]


def test_an_engine_of_which_no_pool_is_known_is_held_against_nothing(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    lines = {0: ["llamacpp:requests_processing 1"], 10: ["llamacpp:requests_processing 0"]}
    answer = engine(ledger_of([A], [text_of(lines, BEGIN)], CHAT), window=ALL)
    (row,) = answer.frame.to_dicts()
    assert (row["pool"], row["B_engine"], row["B_calls"]) == (None, 1.0, None)
    assert (row["output_tokens"], row["call_output_tokens"]) == (None, None)
    assert "no calls to hold against 1 engine" in answer.notes[0]
    told = one(ledger_of([A], [text_of(lines, BEGIN, " pool=chat")], CHAT))
    assert (told["pool"], told["B_calls"]) == ("chat", 1.0)


def test_without_a_configured_pool_it_is_that_of_the_model(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    other = call("o", 0, 10, 30, model="another")
    row = one(ledger_of([A, B, other], [text_of(SCRAPES, BEGIN, HERE)], Configuration()))
    assert (row["pool"], row["model"]) == ("llama", "llama")
    assert (row["B_ratio"], row["call_input_tokens"]) == (pytest.approx(1.0), 300.0)


def test_calls_in_no_pool_are_held_against_engines_of_their_model(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    rented = {"model": "grok-3", "provider": "x-ai", "timing_source": "span", "replica": None}
    text = text_of(SCRAPES, BEGIN, HERE).replace("llama", "grok-3")
    pooled = A | {"call_id": "c", "replica": "another"}
    row = one(ledger_of([A | rented, B | rented, pooled], [text], Configuration()))
    assert (row["pool"], row["replica"], row["model"]) == (None, None, "grok-3")
    assert row["call_input_tokens"] == 300.0


def test_engines_of_two_kinds_in_one_pool_are_added_up(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    texts = [
        text_of({0: [f"{name} 1"], 30: [f"{name} 0"]}, BEGIN, f" pool=chat instance={name[:4]}")
        for name in ("vllm:num_requests_running", "sglang:num_running_reqs")
    ]
    calls = [A | {"replica": None}, call("c", 0, 10, 30, replica=None)]
    row = one(ledger_of(calls, texts, CHAT))
    assert (row["engine"], row["sampled_s"]) == ("sglang, vllm", 60.0)
    assert (row["B_engine"], row["B_calls"]) == (1.0, 1.0)


def test_cached_tokens_of_llama_cpp_are_beside_those_that_it_computed(
    ledger_of: LedgerOf, text_of: TextOf
) -> None:
    lines = {
        n * 10: [
            f"llamacpp:prompt_tokens_total {n * 30}",
            f"llamacpp:prompt_tokens_cached_total {n * 70}",
        ]
        for n in range(2)
    }
    row = one(ledger_of([A], [text_of(lines, BEGIN, " pool=chat")], CHAT))
    assert (row["prompt_tokens"], row["prefix_hit_ratio"]) == (100.0, 0.7)


def test_hits_that_exceed_the_prompt_are_no_ratio(ledger_of: LedgerOf, text_of: TextOf) -> None:
    lines = {0: scrape(0, 0, 0), 10: scrape(0, 100, 0, 101)}
    assert one(ledger_of([A], [text_of(lines, BEGIN, HERE)], CHAT))["prefix_hit_ratio"] is None


def test_a_ledger_without_metrics_says_how_to_get_some(ledger_of: LedgerOf) -> None:
    answer = engine(ledger_of([A], [], CHAT), window=ALL)
    assert (answer.frame.height, "receive --scrape URL" in answer.notes[0]) == (0, True)
    with pytest.raises(WrongQuestionError, match="not by 'endpoint'"):
        engine(ledger_of([A], [], CHAT), by=("endpoint",), window=ALL)


@pytest.fixture
def ledger_path(tmp_path: Path, text_of: TextOf) -> Path:
    (tmp_path / "calls.jsonl").write_text("\n".join(json.dumps(one) for one in (A, B)))
    (tmp_path / "metrics.txt").write_text(text_of(SCRAPES, BEGIN, HERE))
    (tmp_path / "gpuledger.toml").write_text(
        '[[pools]]\nname = "chat"\nmodels = ["llama"]\nreplicas = 2\n'
    )
    files = [str(tmp_path / name) for name in ("calls.jsonl", "metrics.txt")]
    places = ["--ledger", f"{tmp_path}/l.duckdb", "--config", f"{tmp_path}/gpuledger.toml"]
    CliRunner().invoke(gpuledger, ["ingest", *files, *places])
    return tmp_path


def test_the_question_is_asked_by_its_name(ledger_path: Path) -> None:
    places = ["--ledger", f"{ledger_path}/l.duckdb", "--config", f"{ledger_path}/gpuledger.toml"]
    done = CliRunner().invoke(gpuledger, ["ask", "engine", *places, "--format", "json"])
    (row,) = json.loads(done.stdout)
    assert row["B_engine"] == pytest.approx(5 / 3)
    by_day = ["ask", "engine", "--by", "day", "--where", "pool=chat", *places, "--format", "json"]
    assert json.loads(CliRunner().invoke(gpuledger, by_day).stdout)[0]["day"] == "2026-10-01"
    refused = CliRunner().invoke(gpuledger, ["ask", "engine", "--by", "team", *places])
    assert (refused.exit_code, "not by 'team'" in refused.stderr) == (2, True)

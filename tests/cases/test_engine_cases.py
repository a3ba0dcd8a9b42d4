"""Cases about GPUs and engines: charges add up to the bill, and counters are taken with care."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.engine import engine
from analysis.law import law
from analysis.row_checks import row_findings
from analysis.window import Window
from ingest.config import Configuration, Pool

S = 1_000_000_000
POOL = Configuration(pools=(Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.60")),))


def record(name: str, t0: int, begin_s: float, end_s: float, **columns: Any) -> dict[str, Any]:
    """A call in service between two seconds."""
    begin, end = t0 + round(begin_s * S), t0 + round(end_s * S)
    times = {"arrived_at": begin, "started_at": begin, "first_token_at": begin, "ended_at": end}
    return {
        "call_id": name * 32,
        "model": "m",
        "endpoint": f"/{name}",
        "replica": "r",
        "timing_source": "engine",
        "uncached_input_tokens": 10,
        "visible_output_tokens": 5,
        **times,
        **columns,
    }


def test_case_38_overlapping_requests_and_idle_time_are_the_bill(case: Any, t0: int) -> None:
    case.take(records=[record("a", t0, 0, 10), record("b", t0, 0, 10)], configuration=POOL)
    window = Window(since=t0, until=t0 + 20 * S)
    lines = law(case.ledger, POOL, window=window).frame.to_dicts()
    assert [(row["line"], row["endpoint"], row["cost"]) for row in lines] == [
        ("idle", None, Decimal("0.01")),
        ("calls", "/a", Decimal("0.005")),
        ("calls", "/b", Decimal("0.005")),
    ]
    assert sum(row["cost"] for row in lines) == Decimal("0.02")


def test_case_38_partial_overlap_is_shared_while_it_lasts(case: Any, t0: int) -> None:
    case.take(records=[record("a", t0, 0, 10), record("b", t0, 5, 15)], configuration=POOL)
    lines = law(case.ledger, POOL).frame.to_dicts()
    found = {row["endpoint"]: row["gpu_seconds"] for row in lines if row["line"] == "calls"}
    assert found == {"/a": 7.5, "/b": 7.5}


def test_case_40_a_counter_that_began_again_lost_nothing(case: Any, t0: int) -> None:
    texts = []
    for number, tokens in enumerate((1000, 1500, 200, 700)):
        at = datetime.fromtimestamp(t0 // S + 10 * number, UTC)
        texts.append(f"# scraped_at {at:%Y-%m-%dT%H:%M:%S}.000000000Z")
        for replica in ("0", "1"):
            labels = f'{{engine="{replica}",model_name="m"}}'
            texts.append(f"vllm:generation_tokens_total{labels} {tokens}")
    case.take_text("\n".join(texts) + "\n", POOL)
    answer = engine(case.ledger, window=Window())
    assert sum(row["output_tokens"] for row in answer.frame.to_dicts()) == 2 * 1200
    assert answer.frame["resets"].to_list() == [1]


@pytest.mark.parametrize("cached", [1001, -1])
def test_case_40_more_cached_tokens_than_prompt_are_not_believed(
    case: Any, make_chat: Any, cached: int
) -> None:
    more = {
        "gen_ai.usage.cache_read.input_tokens": cached,
        "gen_ai.usage.total_tokens": 1200,
    }
    case.take(make_chat("1", (1000, 200), more))
    input_tokens, cached_tokens = case.call("input_tokens, coalesce(cache_read_tokens, 0)")
    assert 0 <= cached_tokens <= input_tokens
    assert min(case.call("uncached_input_tokens, coalesce(cache_read_tokens, 0)")) >= 0


def engine_span(make_span: Any, span_id: str, usage: dict[str, Any]) -> dict[str, Any]:
    """A span that vLLM itself wrote, with its phases."""
    attributes = {
        "gen_ai.request.model": "m",
        "gen_ai.usage.prompt_tokens": 1000,
        "gen_ai.usage.completion_tokens": 200,
        "gen_ai.latency.time_in_queue": 0.5,
        "gen_ai.latency.time_to_first_token": 1.5,
        "gen_ai.latency.e2e": 10.0,
        **usage,
    }
    made: dict[str, Any] = make_span(span_id, attributes, name="llm_request")
    return made


@pytest.mark.parametrize("total", [None, 1200])
def test_case_40_a_prompt_preempted_five_times_has_not_five_times_its_hits(
    case: Any, make_span: Any, total: int | None
) -> None:
    claimed = {"gen_ai.usage.cache_read.input_tokens": 5000, "gen_ai.usage.total_tokens": total}
    case.take(engine_span(make_span, "1", claimed))
    row = case.call("input_tokens, cache_read_tokens, tokens_note")
    assert row == (1000, None, "5000 cached tokens exceed the prompt of 1000")


def test_case_40_what_is_not_believed_is_counted(case: Any, make_span: Any) -> None:
    claims = (1001, -1, 999, 0)
    spans = [
        engine_span(make_span, str(n), {"gen_ai.usage.cache_read.input_tokens": cached})
        for n, cached in enumerate(claims, 1)
    ]
    case.take(*spans)
    found = case.rows("cache_read_tokens, input_tokens, tokens_note")
    assert [row[:2] for row in found] == [(0, 1000), (999, 1000), (None, 1000), (None, 1000)]
    assert sorted(row[2] for row in found if row[2]) == [
        "1001 cached tokens exceed the prompt of 1000",
        "cache_read -1 is no count",
    ]
    told = {finding.check: finding.evidence for finding in row_findings(case.ledger.connection)}
    assert told["cached tokens above the prompt or below 0, not believed"] == "2 calls"


def scrapes(t0: int, *counts: dict[str, int]) -> str:
    """A text of one vLLM engine: what it counts, every ten seconds."""
    texts = []
    for number, found in enumerate(counts):
        at = datetime.fromtimestamp(t0 // S + 10 * number, UTC)
        texts.append(f"# scraped_at {at:%Y-%m-%dT%H:%M:%S}.000000000Z instance=e pool=gpus")
        texts += [f'vllm:{name}_total{{model_name="m"}} {value}' for name, value in found.items()]
    return "\n".join(texts) + "\n"


def test_case_40_hits_are_of_requests_and_preempted_ones_stand_apart(case: Any, t0: int) -> None:
    """One prompt of 1,000 tokens with 2 cached; each of five preemptions looks 1,000 up again."""
    before = dict.fromkeys(
        ("prompt_tokens", "prompt_tokens_cached", "prefix_cache_queries", "prefix_cache_hits",
         "num_preemptions"), 0,
    )  # fmt: skip
    after = {
        "prompt_tokens": 1000,
        "prompt_tokens_cached": 2,
        "prefix_cache_queries": 6000,
        "prefix_cache_hits": 5002,
        "num_preemptions": 5,
    }
    case.take_text(scrapes(t0, before, after), POOL)
    answer = engine(case.ledger, window=Window())
    (row,) = answer.frame.to_dicts()
    assert row["prefix_hit_ratio"] == 0.002
    assert row["query_hit_ratio"] == pytest.approx(5002 / 6000)
    assert (row["preemptions"], row["prefix_query_tokens"]) == (5.0, 6000.0)
    assert any(
        note.startswith("gpus: 5 preemptions; each looks its prompt up again")
        for note in answer.notes
    )


def test_case_40_an_engine_that_claims_more_hits_than_prompt_is_not_believed(
    case: Any, t0: int
) -> None:
    before = {"prompt_tokens": 0, "prompt_tokens_cached": 0}
    after = {"prompt_tokens": 1000, "prompt_tokens_cached": 5000}
    case.take_text(scrapes(t0, before, after), POOL)
    answer = engine(case.ledger, window=Window())
    (row,) = answer.frame.to_dicts()
    assert (row["prefix_hit_ratio"], row["cached_prompt_tokens"]) == (None, 5000.0)
    assert any("5,000 prompt tokens from the cache of 1,000" in note for note in answer.notes)


def test_case_40_an_engine_that_only_decodes_shows_by_its_calls(case: Any, t0: int) -> None:
    """Of three calls two tell all of their prompt but one as cached, the third a block of it."""
    told = [
        record(name, t0, 1, 9, uncached_input_tokens=100 - cached, cache_read_tokens=cached)
        for name, cached in (("a", 99), ("b", 99), ("c", 48))
    ]
    case.take(records=told, configuration=POOL)
    counts = {"prompt_tokens": 0, "prefix_cache_queries": 0, "prefix_cache_hits": 0}
    case.take_text(scrapes(t0, counts, counts | {"prompt_tokens": 300}), POOL)
    answer = engine(case.ledger, window=Window())
    (row,) = answer.frame.to_dicts()
    assert (row["call_told_count"], row["call_all_but_one_count"]) == (3, 2)
    assert row["call_hit_ratio"] == pytest.approx(246 / 300)
    assert (row["prefix_query_tokens"], row["query_hit_ratio"]) == (0.0, None)
    assert any("gpus: 2 of 3 calls that tell" in note for note in answer.notes)

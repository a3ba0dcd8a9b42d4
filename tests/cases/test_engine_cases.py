"""Cases about GPUs and engines: charges add up to the bill, and counters are taken with care."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.engine import engine
from analysis.law import law
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

"""Cases about tokens: each is in one bucket, and what nobody told is not zero."""

import json
from decimal import Decimal
from typing import Any

import pytest

from analysis.check import check
from ingest.config import Configuration, Pool

READ = "gen_ai.usage.cache_read.input_tokens"
BUCKETS = "uncached_input_tokens, cache_read_tokens, cache_write_tokens"
POOL = Configuration(pools=(Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6")),))


def test_case_01_cached_part_is_billed_once(case: Any, make_chat: Any) -> None:
    case.take(make_chat("1", (10_000, 100), {READ: 9_000}))
    assert case.call("uncached_input_tokens, cache_read_tokens") == (1_000, 9_000)
    assert case.cost() == Decimal("0.0072")


def test_case_02_exclusive_counters_keep_their_nineteen_tokens(case: Any, make_chat: Any) -> None:
    case.take(make_chat("1", (19, 50), {READ: 39_000}))
    assert case.call("uncached_input_tokens, input_tokens") == (19, 39_019)
    assert case.cost() == Decimal("0.012507")


def test_case_05_old_and_new_names_of_one_count_are_read_once(case: Any, make_chat: Any) -> None:
    named = {
        "gen_ai.usage.cache_creation.input_tokens": 400,
        "gen_ai.usage.cache_write.input_tokens": 400,
        "gen_ai.usage.cache_read_input_tokens": 300,
    }
    case.take(make_chat("1", (1_000, 0), named))
    assert case.call(BUCKETS) == (300, 300, 400)


@pytest.mark.parametrize(
    ("completion", "total", "visible"), [(800, 900, 200), (200, 900, 200), (800, None, 200)]
)
def test_case_06_reasoning_is_in_the_output_once(
    case: Any, make_chat: Any, completion: int, total: int | None, visible: int
) -> None:
    more = {"gen_ai.usage.reasoning_tokens": 600, "gen_ai.usage.total_tokens": total}
    case.take(make_chat("1", (100, completion), more))
    assert case.call("visible_output_tokens, reasoning_tokens, output_tokens") == (
        visible,
        600,
        800,
    )
    assert case.cost() == Decimal("0.0123")


def test_case_07_stream_without_usage_is_not_zero_tokens(case: Any, make_chat: Any) -> None:
    said = {"type": "text", "content": "word " * 96}
    answer = json.dumps([{"role": "assistant", "parts": [said]}])
    more = {"gen_ai.request.stream": True, "gen_ai.output.messages": answer}
    case.take(make_chat("1", (None, None), more))
    output_tokens, source, note = case.call("output_tokens, tokens_source, tokens_note")
    assert (source, output_tokens) == ("unknown", None) or (
        source in {"counted", "estimated"} and output_tokens > 0
    )
    assert source != "unknown" or "ask for stream_options.include_usage" in note


def test_case_07_whoever_streams_without_usage_is_told_what_to_ask_for(
    case: Any, make_chat: Any, priced: Configuration
) -> None:
    stream = {"gen_ai.request.stream": True}
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "word"}]}])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "a word?"}]}])
    texts = stream | {"gen_ai.output.messages": answer, "gen_ai.input.messages": asked}
    named = {"name": "chat", "service": "shop"}
    case.take(
        make_chat("1", (None, None), stream, trace="a" * 32, **named),
        make_chat("2", (None, None), stream, trace="b" * 32, **named),
        make_chat("3", (None, None), texts, trace="c" * 32, **named),
        make_chat("4", (10, 20), stream, trace="d" * 32, **named),
        make_chat("5", (None, None), stream, trace="e" * 32, status={"code": 2}, **named),
        make_chat("6", (None, None), {}, trace="f" * 32, **named),
    )
    evidence = dict(check(case.ledger, priced).frame.select("check", "evidence").rows())
    assert evidence["streams without usage"] == (
        "3 calls, tokens unknown of 2 and counted here of 1: shop chat of shop with m 3; "
        "ask for stream_options.include_usage"
    )


def test_case_08_aborted_stream_has_its_tokens_and_its_gpu_time(case: Any, make_chat: Any) -> None:
    more = {"gen_ai.response.chunk_count": 300, "error.type": "CancelledError"}
    case.take(make_chat("1", (1_000, None), more, status={"code": 2}), configuration=POOL)
    columns = "status, output_tokens, tokens_source"
    assert case.call(columns) == ("cancelled", 300, "estimated")
    charged = "round(sum(prefill_gpu_seconds + decode_gpu_seconds), 6)"
    assert case.rows(charged, "charges") == [(10.0,)]


def test_case_10_several_choices_share_one_prompt_and_fill_slots(
    case: Any, make_chat: Any, t0: int
) -> None:
    case.take(make_chat("1", (500, 400), {"gen_ai.request.choice.count": 4}), configuration=POOL)
    assert case.call("input_tokens, output_tokens, n_choices") == (500, 400, 4)
    beside = {
        "model": "m",
        "timing_source": "engine",
        "uncached_input_tokens": 10,
        "visible_output_tokens": 100,
    }

    def record(name: str, choices: int) -> dict[str, Any]:
        at = t0 + 3_600_000_000_000
        times = {
            "arrived_at": at,
            "started_at": at,
            "first_token_at": at,
            "ended_at": at + 10_000_000_000,
        }
        return {**beside, **times, "call_id": name * 32, "replica": "r", "n_choices": choices}

    case.take(records=[record("b", 4), record("c", 1)], configuration=POOL)
    charged = case.rows(
        "r.call_id[:1], round(sum(decode_gpu_seconds), 6)",
        "charges c join call_rows r using (call_no) where r.replica = 'r' group by all",
    )
    assert charged == [("b", 8.0), ("c", 2.0)]

"""From recorded calls to a trace: nothing is dropped, thinned or scaled without a sentence."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing
from simulator.errors import TraceError
from simulator.fitting import refuse_oversized
from simulator.preparation import Limits, prepared_trace
from simulator.schedule import at_speed, lattice_step_ns, planned_duration_s, speed_for
from simulator.trace import Trace, rows_from_ledger, rows_from_paths

SECOND = 1_000_000_000
SCHEMA = {
    "call_id": pl.String,
    "endpoint": pl.String,
    "team": pl.String,
    "feature": pl.String,
    "tenant": pl.String,
    "service": pl.String,
    "operation": pl.String,
    "conversation_id": pl.String,
    "arrived_at": pl.Int64,
    "ended_at": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "prefix_hashes": pl.List(pl.Int64),
    "prefix_block_tokens": pl.Int32,
    "input_hash": pl.String,
}


def rows(*calls: dict[str, Any]) -> pl.DataFrame:
    full = [
        {
            **dict.fromkeys(SCHEMA),
            "call_id": f"call{number:03}",
            "operation": "chat",
            "arrived_at": number * SECOND,
            "input_tokens": 100,
            "output_tokens": 10,
            **call,
        }
        for number, call in enumerate(calls)
    ]
    return pl.DataFrame(full, schema=SCHEMA).sort("arrived_at", "call_id")


def trace(*calls: dict[str, Any], limits: Limits | None = None, seed: int = 1) -> Trace:
    return prepared_trace(rows(*calls), "the test", limits or Limits(), seed)


def test_arrivals_count_from_the_first_call() -> None:
    made = trace({"arrived_at": 1_700_000_000 * SECOND}, {"arrived_at": 1_700_000_001 * SECOND})
    assert [call.arrived_s for call in made.calls] == [0.0, 1.0]
    assert made.notes == ()


def test_what_cannot_be_sent_is_left_out_with_its_reason_and_count() -> None:
    made = trace(
        {},
        {"arrived_at": None},
        {"operation": "embeddings"},
        {"output_tokens": None},
        {"input_tokens": None},
        {"output_tokens": 0},
    )
    assert len(made.calls) == 1
    assert made.notes == (
        "1 calls of the test have no time of arrival: not replayed",
        "1 calls of the test are no generation of tokens: not replayed",
        "2 calls of the test have an unknown number of tokens: not replayed",
        "1 calls of the test have no input or no output tokens: not replayed",
    )


def test_a_source_without_a_usable_call_is_refused() -> None:
    with pytest.raises(TraceError, match="holds no call that can be replayed"):
        trace({"operation": "embeddings"})


def test_blocks_of_another_size_than_the_trace_says_are_refused() -> None:
    # 1,200 tokens in three blocks is a block size of 512, not of 16.
    with pytest.raises(TraceError, match="1,200 input tokens in 3 blocks of 16"):
        trace({"input_tokens": 1200, "prefix_hashes": [1, 2, 3], "prefix_block_tokens": 16})


@pytest.mark.parametrize("blocks", [[1, 2], [1, 2, 3]])
def test_blocks_may_leave_out_a_last_one_that_is_not_full(blocks: list[int]) -> None:
    made = trace({"input_tokens": 1200, "prefix_hashes": blocks, "prefix_block_tokens": 512})
    assert made.calls[0].blocks == tuple(blocks)


def test_two_block_sizes_in_one_trace_are_refused() -> None:
    one = {"input_tokens": 16, "prefix_hashes": [1], "prefix_block_tokens": 16}
    other = {"input_tokens": 32, "prefix_hashes": [1], "prefix_block_tokens": 32}
    with pytest.raises(TraceError, match="mixes blocks of 16 and 32 tokens"):
        trace(one, other)


def test_a_later_turn_follows_its_parent_after_the_recorded_pause() -> None:
    made = trace(
        {"conversation_id": "a", "ended_at": 3 * SECOND},
        {"conversation_id": "b", "ended_at": 2 * SECOND},
        {"conversation_id": "a", "arrived_at": 5 * SECOND, "ended_at": 6 * SECOND},
    )
    assert [(call.after, call.think_s) for call in made.calls] == [(None, 0), (None, 0), (0, 2.0)]


def test_a_turn_that_came_before_its_parent_ended_keeps_its_own_time() -> None:
    made = trace(
        {"conversation_id": "a", "ended_at": 3 * SECOND},
        {"conversation_id": "a", "arrived_at": 2 * SECOND},
    )
    assert made.calls[1].after is None


def test_thinning_keeps_whole_conversations_and_is_the_same_for_a_seed() -> None:
    calls = [{"conversation_id": f"c{number % 10}"} for number in range(50)]
    made = trace(*calls, limits=Limits(calls=20))
    sizes = pl.Series([call.session for call in made.calls]).value_counts()["count"].to_list()
    assert sizes == [5, 5, 5, 5]
    assert made.notes == ("20 of 50 calls are replayed: 4 of 10 whole sessions, drawn with seed 1",)
    assert trace(*calls, limits=Limits(calls=20)) == made
    assert trace(*calls, limits=Limits(calls=20), seed=2) != made


def test_calls_that_share_a_beginning_are_a_session_but_not_by_a_prompt_of_everybody() -> None:
    calls = [
        {
            "input_tokens": 64,
            "prefix_hashes": [0, number % 5, 100 + number, 200 + number],
            "prefix_block_tokens": 16,
        }
        for number in range(20)
    ]
    made = trace(*calls, limits=Limits(calls=16))
    assert {call.session.count(" ") for call in made.calls} == {2}  # "blocks 0 3"
    assert len({call.session for call in made.calls}) == 4
    assert len(made.calls) == 16


def test_a_limit_below_the_smallest_session_is_refused() -> None:
    calls = [{"conversation_id": "a"} for _ in range(5)]
    with pytest.raises(TraceError, match="the smallest session has 5 calls, more than --limit 3"):
        trace(*calls, limits=Limits(calls=3))


def test_prompts_are_scaled_by_one_factor_with_their_blocks() -> None:
    made = trace(
        {"input_tokens": 1200, "prefix_hashes": [1, 2, 3], "prefix_block_tokens": 512},
        {"input_tokens": 512, "prefix_hashes": [1], "prefix_block_tokens": 512},
        limits=Limits(input_tokens=300),
    )
    # 512 * 300 / 1200 = 128 a block; 1,200 = 2 * 512 + 176 becomes 2 * 128 + 44.
    assert [(c.input_tokens, c.block_tokens) for c in made.calls] == [(300, 128), (128, 128)]
    (note,) = made.notes
    assert note.startswith("prompts are scaled by 0.25: the longest from 1,200 to 300 tokens")
    assert note.endswith("blocks from 512 to 128 tokens")


def test_prompts_without_blocks_are_scaled_alone() -> None:
    made = trace({"input_tokens": 1000}, {"input_tokens": 3}, limits=Limits(input_tokens=100))
    assert [call.input_tokens for call in made.calls] == [100, 1]


def test_a_scale_that_leaves_no_token_of_a_block_is_refused() -> None:
    call = {"input_tokens": 1024, "prefix_hashes": [1, 2], "prefix_block_tokens": 512}
    with pytest.raises(TraceError, match="at least 2 are needed"):
        trace(call, limits=Limits(input_tokens=1))


def test_outputs_are_scaled_and_keep_one_token() -> None:
    made = trace({"output_tokens": 500}, {"output_tokens": 2}, limits=Limits(output_tokens=50))
    assert [call.output_tokens for call in made.calls] == [50, 1]
    assert made.notes == ("outputs are scaled by 0.1: the longest from 500 to 50 tokens",)


def test_a_trace_that_fits_is_not_scaled() -> None:
    assert trace({}, limits=Limits(input_tokens=100, output_tokens=10)) == trace({})


@pytest.mark.parametrize(
    ("calls", "found", "helps", "limits"),
    [
        (
            ({}, {"input_tokens": 50}),
            "1 of 2 calls do not fit the engine's context of 100 tokens (candidate)",
            "--limit-input 90, or raise context_tokens to 110",
            Limits(input_tokens=90),
        ),
        (
            ({"output_tokens": 300},),
            "context of 100 tokens (candidate); the longest has 100 input and 300 output tokens",
            "--limit-input 50 --limit-output 50, or raise context_tokens to 400",
            Limits(input_tokens=50, output_tokens=50),
        ),
    ],
)
def test_a_call_without_room_is_refused_with_limits_under_which_it_fits(
    calls: tuple[dict[str, Any], ...], found: str, helps: str, limits: Limits
) -> None:
    with pytest.raises(TraceError, match=f"{re.escape(found)}.*{re.escape(helps)}"):
        refuse_oversized(trace(*calls), 100, "candidate")
    refuse_oversized(trace(*calls, limits=limits), 100, "candidate")


def test_simultaneous_arrivals_on_a_coarse_clock_are_spread_inside_its_step() -> None:
    calls = [{"arrived_at": (number // 4) * 3 * SECOND} for number in range(12)]
    assert lattice_step_ns(rows(*calls)) == 3 * SECOND
    made = trace(*calls)
    assert len({call.arrived_s for call in made.calls}) == 12
    assert made.duration_s < 9.0
    (note,) = made.notes
    assert note.startswith(
        "arrivals were recorded in steps of 3 s; each is moved by up to one step"
    )


def test_a_fine_clock_is_left_alone() -> None:
    calls = [{"arrived_at": number * 1_234_567_891} for number in range(10)]
    assert lattice_step_ns(rows(*calls)) is None


def test_speed_moves_arrivals_and_not_the_time_between_turns() -> None:
    made = trace(
        {"conversation_id": "a", "ended_at": SECOND},
        {},
        {"conversation_id": "a", "arrived_at": 4 * SECOND},
    )
    assert speed_for(made, 1.0) == 2.0  # two gaps in four seconds are 0.5 a second
    sped = at_speed(made, 2.0)
    assert [call.arrived_s for call in sped.calls] == [0.0, 0.5, 2.0]
    assert sped.calls[2].think_s == 3.0
    # The second call ends at 0.5 + 0.25 s, the later turn at 0.25 + 3 + 0.25 s.
    assert planned_duration_s(sped, 0.25) == 3.5


def test_a_rate_for_calls_of_one_instant_is_refused() -> None:
    with pytest.raises(TraceError, match="all 2 calls of the test arrive at one instant"):
        speed_for(trace({"arrived_at": 1234567, "call_id": "a"}, {"arrived_at": 1234567}), 1.0)


def native(**columns: Any) -> str:
    return json.dumps(
        {
            "model": "m",
            "arrived_at": SECOND,
            "started_at": SECOND,
            "ended_at": 2 * SECOND,
            "uncached_input_tokens": 5,
            "visible_output_tokens": 2,
            **columns,
        }
    )


def test_calls_of_the_ledger_are_filtered_and_replays_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(
        "\n".join(
            [
                native(call_id="a", endpoint="/chat"),
                native(call_id="b", endpoint="/other"),
                native(call_id="c", endpoint="/chat", origin="replay"),
            ]
        )
    )
    assert rows_from_paths([str(file)], Configuration()).height == 3
    with open_for_writing(None) as ledger:
        deliver_paths(ledger, [str(file)], Configuration())
        assert rows_from_ledger(ledger.connection, {}).height == 2
        chat = rows_from_ledger(ledger.connection, {"endpoint": "/chat"})
        assert chat["endpoint"].to_list() == ["/chat"]
        assert chat.schema == pl.Schema(SCHEMA)
        with pytest.raises(TraceError, match="cannot be filtered by 'colour'"):
            rows_from_ledger(ledger.connection, {"colour": "red"})


def test_a_file_that_is_no_trace_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(TraceError, match=r"empty\.jsonl cannot be replayed"):
        rows_from_paths([str(tmp_path / "empty.jsonl")], Configuration())

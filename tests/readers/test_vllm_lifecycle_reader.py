"""vLLM request lifecycles: two clocks, one offset, phases from the monotonic one."""

import io
import json
import zipfile
from pathlib import Path

from ingest.files import Source, open_sources
from ingest.readers import recognise

ZERO_AT = 1789999950_250000000
"""Monotonic zero of the fixture: the largest arrival minus queueing, 1790000000.25 - 50."""


def test_phases_come_from_the_monotonic_clock_and_nothing_queues_before_it_arrives(
    take_file,
) -> None:
    first, second, waiting = take_file("vllm/requests.jsonl", "vllm-lifecycle").calls
    assert (first.arrived_at, first.started_at) == (ZERO_AT + 50 * 10**9, ZERO_AT + 50_500_000_000)
    assert (first.first_token_at, first.ended_at) == (ZERO_AT + 51 * 10**9, ZERO_AT + 55 * 10**9)
    assert second.arrived_at == 1790000001_250000000
    assert second.ended_at is not None
    assert second.first_token_at is not None
    assert second.ended_at - second.first_token_at == 3_500_000_001
    assert (waiting.started_at, waiting.first_token_at, waiting.ended_at) == (None, None, None)


def test_counts_model_replica_and_timing_are_set_and_no_pool_is_invented(take_file) -> None:
    first, second, waiting = take_file("vllm/requests.jsonl", "vllm-lifecycle").calls
    assert (first.uncached_input_tokens, first.visible_output_tokens) == (100, 20)
    assert {call.model for call in (first, second, waiting)} == {"meta/small"}
    assert len({call.replica for call in (first, second, waiting)}) == 1
    assert {call.pool_reported for call in (first, second, waiting)} == {None}
    assert [call.timing_quality for call in (first, second, waiting)] == ["ok", "ok", "ok"]
    assert first.timing_source == "engine"


def test_a_record_that_cannot_be_true_is_rejected_alone(take_file) -> None:
    (reject,) = take_file("vllm/requests.jsonl", "vllm-lifecycle").rejects
    assert (reject.position, reject.reason) == ("line 4", "input_toks -7 is below 0")


def test_without_a_description_the_model_is_unknown_and_the_replica_is_the_file(
    take, fixtures: Path
) -> None:
    content = (fixtures / "vllm/requests.jsonl").read_bytes()
    calls = take(content, "vllm-lifecycle").calls
    spaced = b"\n".join(json.dumps(json.loads(line)).encode() for line in content.splitlines())
    assert {call.model for call in calls} == {None}
    assert {call.replica for call in calls} == {
        call.replica for call in take(spaced, "vllm-lifecycle").calls
    }


def test_an_archive_with_its_description_gives_the_same_calls(
    take_file, tmp_path: Path, fixtures: Path
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("requests.jsonl", "meta.json"):
            archive.write(fixtures / "vllm" / name, f"run/{name}")
    (tmp_path / "run.zip").write_bytes(out.getvalue())
    source, _ = open_sources([str(tmp_path / "run.zip")])
    assert isinstance(source, Source)
    calls = [call for batch in recognise(source).read(source) for call in batch.calls]
    assert calls == take_file("vllm/requests.jsonl", "vllm-lifecycle").calls


def test_two_identical_records_are_two_calls_and_the_same_file_is_the_same_calls(take) -> None:
    line = (
        '{"input_toks": 1, "output_toks": 1, "arrival_time": 1790000000.0, "queued_ts": 1.0,'
        ' "scheduled_ts": 1.0, "first_token_ts": 2.0, "last_token_ts": 3.0}\n'
    )
    first = [call.identity for call in take(line * 2, "vllm-lifecycle").calls]
    assert len(set(first)) == 2
    assert [call.identity for call in take(line * 2, "vllm-lifecycle").calls] == first


def test_a_record_nested_without_a_bound_is_rejected_alone(take, fixtures: Path) -> None:
    good = (fixtures / "vllm/requests.jsonl").read_text().splitlines()[0]
    deep = good[:-1] + ', "extra": ' + "[" * 500 + "]" * 500 + "}"
    taken = take(f"{good}\n{deep}\n", "vllm-lifecycle")
    assert (len(taken.calls), [reject.position for reject in taken.rejects]) == (1, ["line 2"])


def test_records_without_both_clocks_are_rejected(take) -> None:
    taken = take('{"input_toks": 1, "output_toks": 1}\n', "vllm-lifecycle")
    assert [reject.reason for reject in taken.rejects] == [
        "no record of the file has both arrival_time and queued_ts"
    ]


def test_an_instant_that_the_ledger_cannot_hold_is_told_of(take) -> None:
    line = (
        '{"input_toks": 1, "output_toks": 1, "arrival_time": 1790000000.0, "queued_ts": 1.0,'
        ' "scheduled_ts": 1.0, "first_token_ts": 2.0, "last_token_ts": 9e15}\n'
    )
    (call,) = take(line, "vllm-lifecycle").calls
    assert call.tokens_note == "ended_at lies outside of the years 1823 to 2116"
    assert call.timing_quality == "invalid"

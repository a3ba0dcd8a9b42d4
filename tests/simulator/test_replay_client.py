"""The replay client against a server whose latencies are declared.

A busy machine makes things late and never early, so times are checked from below, and from above
only against other times of the same pass.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from simulator.client import Pass, Planned, Target, run_pass
from simulator.engines.engine import Frame
from simulator.engines.llamacpp import read_frame
from simulator.errors import EngineError


@pytest.fixture(scope="module")
def mock_url() -> Iterator[str]:
    script = Path(__file__).with_name("mock_engine.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/completion"
        assert process.stdin is not None
        process.stdin.close()


def token(*ids: int) -> dict[str, Any]:
    return {"content": "x" * len(ids), "tokens": list(ids), "stop": False}


def last(output_tokens: int, prompt_tokens: int = 10) -> dict[str, Any]:
    return {
        "content": "",
        "tokens": [],
        "stop": True,
        "stop_type": "limit",
        "id_slot": 0,
        "timings": {
            "cache_n": 4,
            "prompt_n": prompt_tokens - 4,
            "prompt_ms": 50.0,
            "predicted_n": output_tokens,
            "predicted_ms": 20.0,
        },
    }


def planned(at_s: float, **wanted: Any) -> Planned:
    return Planned(at_s=at_s, body=json.dumps(wanted).encode())


def sent(mock_url: str, *requests: Planned, stall_s: float = 30.0) -> Pass:
    return run_pass(requests, Target(url=mock_url, read_frame=read_frame, stall_s=stall_s))


def test_each_request_is_sent_at_its_absolute_time_whatever_the_others_do(mock_url: str) -> None:
    slow = [[1.0, token(1)], [1.0, last(1)]]
    done = sent(mock_url, *(planned(at_s, frames=slow) for at_s in (0.0, 0.2, 0.4, 0.6)))
    assert [o.intended_s for o in done.outcomes] == [0.0, 0.2, 0.4, 0.6]
    for outcome in done.outcomes:
        assert outcome.sent_s is not None
        assert outcome.intended_s is not None
        assert outcome.sent_s >= outcome.intended_s
    # Four requests of one second each, in flight together: 1.6 s, where a closed loop takes 4 s.
    assert 1.6 <= done.duration_s < 4.0
    assert max(o.sent_s or 0.0 for o in done.outcomes) < min(
        o.ended_s or 0.0 for o in done.outcomes
    )


def test_a_wait_for_the_only_worker_counts_from_the_intended_time(mock_url: str) -> None:
    # Coordinated omission: three requests at once, each holding the worker for 0.3 s.
    frames = [[0.2, token(1)], [0.2, last(1)]]
    done = sent(mock_url, *(planned(0.0, busy_s=0.3, frames=frames) for _ in range(3)))
    ttfts = sorted(o.first_token_s or 0.0 for o in done.outcomes)
    assert all(seen >= declared for seen, declared in zip(ttfts, (0.2, 0.5, 0.8), strict=True))


def test_a_later_turn_follows_the_end_of_its_parent_by_the_think_time(mock_url: str) -> None:
    body = json.dumps({"frames": [[0.3, token(1)], [0.3, last(1)]]}).encode()
    turns = [Planned(at_s=0.1, body=body), Planned(at_s=0.0, after=0, think_s=0.2, body=body)]
    done = sent(mock_url, *turns)
    first, second = done.outcomes
    assert first.ended_s is not None
    assert second.intended_s == pytest.approx(first.ended_s + 0.2)
    assert (second.intended_s or 0.0) >= 0.6


def test_the_first_token_is_the_first_frame_that_carries_one(mock_url: str) -> None:
    empty = {"content": "", "tokens": [], "stop": False}
    frames = [[0.0, empty], [0.4, token(7)], [0.5, token(8)], [0.5, last(2)]]
    (outcome,) = sent(mock_url, planned(0.0, frames=frames)).outcomes
    assert outcome.first_token_s is not None
    assert outcome.last_token_s is not None
    assert 0.4 <= outcome.first_token_s < outcome.last_token_s
    assert outcome.last_token_s >= 0.5


def test_reasoning_is_a_first_token_too(mock_url: str) -> None:
    def read(data: bytes) -> Frame:
        frame = orjson.loads(data)
        has_output = bool(frame.get("reasoning") or frame.get("content"))
        return Frame(has_output=has_output, output_tokens=int(has_output))

    frames = [[0.0, {"content": ""}], [0.3, {"reasoning": "hm"}], [0.6, {"content": "x"}]]
    target = Target(url=mock_url, read_frame=read, stall_s=30.0)
    (outcome,) = run_pass([planned(0.0, frames=frames)], target).outcomes
    assert 0.3 <= (outcome.first_token_s or 0.0) < (outcome.last_token_s or 0.0)


def test_tokens_are_counted_by_id_where_a_frame_carries_several(mock_url: str) -> None:
    frames = [[0.0, token(1, 2, 3)], [0.1, token(4, 5)], [0.1, last(5)]]
    (outcome,) = sent(mock_url, planned(0.0, frames=frames)).outcomes
    assert outcome.output_tokens == 5
    assert outcome.status == "ok"


def test_what_the_engine_says_of_itself_is_kept(mock_url: str) -> None:
    (outcome,) = sent(mock_url, planned(0.0, frames=[[0.0, token(1)], [0.0, last(1)]])).outcomes
    served = outcome.served
    assert served is not None
    assert (served.prompt_tokens, served.cached_tokens, served.output_tokens) == (10, 4, 1)
    assert (served.prompt_s, served.decode_s, served.slot) == (0.05, 0.02, 0)


def test_a_refused_request_is_an_error_with_its_status_and_is_not_sent_again(mock_url: str) -> None:
    done = sent(mock_url, planned(0.0, status=503), planned(0.1, frames=[[0.0, last(0)]]))
    refused, answered = done.outcomes
    assert (refused.status, refused.http_status) == ("error", 503)
    assert answered.status == "ok"


def test_a_stream_that_hangs_times_out_and_leaves_the_others_alone(mock_url: str) -> None:
    hung = planned(0.0, frames=[[0.0, token(1)]], hang=True)
    fine = planned(0.1, frames=[[0.1, token(1)], [0.1, last(1)]])
    done = sent(mock_url, hung, fine, stall_s=0.5)
    assert [o.status for o in done.outcomes] == ["timeout", "ok"]
    assert (done.outcomes[0].ended_s or 0.0) >= 0.5


def test_a_stream_that_ends_without_its_last_frame_is_an_error(mock_url: str) -> None:
    (outcome,) = sent(mock_url, planned(0.0, frames=[[0.0, token(1)]])).outcomes
    assert (outcome.status, outcome.error) == ("error", "the stream ended without its last frame")


def test_a_frame_that_is_an_error_fails_its_request_alone(mock_url: str) -> None:
    broken = planned(0.0, frames=[[0.0, {"error": {"message": "no memory"}}]])
    done = sent(mock_url, broken, planned(0.1, frames=[[0.0, token(1)], [0.0, last(1)]]))
    assert [o.status for o in done.outcomes] == ["error", "ok"]
    assert "no memory" in (done.outcomes[0].error or "")


def test_a_dead_engine_ends_the_pass_at_once() -> None:
    def raise_dead(_grace_s: float) -> None:
        raise EngineError("the engine ended by signal 9")

    target = Target(
        url="http://127.0.0.1:9/completion",
        read_frame=read_frame,
        raise_if_dead=raise_dead,
        stall_s=30.0,
    )
    ended: list[None] = []
    with pytest.raises(EngineError, match="signal 9"):
        run_pass([planned(0.0), planned(3600.0)], target, lambda: ended.append(None))
    assert len(ended) == 1  # the second request was never waited for


def test_an_interrupt_keeps_what_was_measured(mock_url: str) -> None:
    quick = [[0.1, token(1)], [0.1, last(1)]]
    requests = [
        planned(0.0, frames=quick),
        planned(0.2, frames=[[0.1, token(1)]], hang=True),
        planned(60.0, frames=quick),
    ]
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    done = sent(mock_url, *requests)
    timer.join()
    assert done.is_interrupted
    assert [(o.position, o.status) for o in done.outcomes] == [(0, "ok"), (1, "cancelled")]


def test_two_hundred_requests_a_second_are_all_sent_and_answered(mock_url: str) -> None:
    frames = [[0.05, token(1)], [0.06, token(2)], [0.06, last(2)]]
    done = sent(mock_url, *(planned(n / 200, frames=frames) for n in range(200)))
    assert [o.status for o in done.outcomes] == ["ok"] * 200
    assert [o.output_tokens for o in done.outcomes] == [2] * 200
    assert all((o.sent_s or 0.0) >= (o.intended_s or 0.0) for o in done.outcomes)
    assert done.client_cpu_ratio > 0

"""The gates of a pass: what may not be believed is refused with its figure."""

import dataclasses

import pytest

from simulator.client import Outcome, Pass
from simulator.engines.engine import Served
from simulator.errors import ReplayError
from simulator.trace import TracedCall
from simulator.verification import PassReport, first_error, refuse_untrustworthy, report

CALL = TracedCall(
    call_id="c", session="s", arrived_s=0.0, input_tokens=10, output_tokens=3, ending="e"
)


def outcome(
    position: int,
    *,
    lag_s: float = 0.001,
    prompt_tokens: int = 10,
    cached_tokens: int = 0,
    output_tokens: int = 3,
    seen_tokens: int = 3,
) -> Outcome:
    """A call a second, first token after 0.4 s, of which 0.3 s are prefill; 0.2 s of decode."""
    at_s = float(position)
    return Outcome(
        position=position,
        intended_s=at_s,
        sent_s=at_s + lag_s,
        first_token_s=at_s + 0.4,
        last_token_s=at_s + 0.6,
        ended_s=at_s + 0.6,
        status="ok",
        output_tokens=seen_tokens,
        served=Served(
            cached_tokens=cached_tokens,
            computed_tokens=prompt_tokens - cached_tokens,
            output_tokens=output_tokens,
            prompt_s=0.3,
            decode_s=0.2,
            slot=0,
            stop_reason="limit",
        ),
    )


def seen(*outcomes: Outcome, cpu: float = 0.1, expected: int | None = None) -> PassReport:
    done = Pass(
        started_at=10**18,
        duration_s=float(len(outcomes)),
        outcomes=outcomes,
        client_cpu_ratio=cpu,
        is_interrupted=False,
    )
    cached = None if expected is None else {o.position: expected for o in outcomes}
    return report({o.position: CALL for o in outcomes}, done, cached)


def hundred(**last: int) -> tuple[Outcome, ...]:
    return (*(outcome(n) for n in range(99)), outcome(99, **last))


def test_a_good_pass_is_counted_and_believed() -> None:
    found = seen(outcome(0), outcome(1))
    refuse_untrustworthy(found, None)
    assert (found.sent_count, found.ok_count, found.failed_count) == (2, 2, 0)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (20, 6, 0)
    assert found.send_lag_p50_s == pytest.approx(0.001)
    assert found.send_lag_limit_s == pytest.approx(0.02)  # 5 % of a median TTFT of 0.4 s
    assert found.slot_overlap_s == pytest.approx(0.0)
    assert found.busy_s == pytest.approx(1.0)  # 0.3 + 0.2 s, twice


def test_late_sends_are_refused_at_five_percent_of_the_median_ttft() -> None:
    late = [outcome(n, lag_s=0.03) for n in range(10)]
    with pytest.raises(ReplayError, match=r"30\.0 ms, 20\.0 ms is allowed"):
        refuse_untrustworthy(seen(*late), None)


def test_five_milliseconds_are_always_allowed() -> None:
    quick = [
        dataclasses.replace(outcome(n, lag_s=0.0045), first_token_s=n + 0.01) for n in range(10)
    ]
    refuse_untrustworthy(seen(*quick), None)


@pytest.mark.parametrize("wrong", [{"output_tokens": 2}, {"seen_tokens": 2}, {"prompt_tokens": 11}])
def test_other_lengths_than_asked_for_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ReplayError, match="had other lengths than asked for"):
        refuse_untrustworthy(seen(*hundred(**wrong)), None)


def test_a_failed_request_of_few_is_refused_with_what_it_said() -> None:
    broken = Outcome(position=1, intended_s=1.0, sent_s=1.0, status="error", error="503 busy")
    found = seen(outcome(0), broken)
    with pytest.raises(ReplayError, match="1 of 2 requests failed, first: 503 busy"):
        refuse_untrustworthy(found, first_error([outcome(0), broken]))


def test_a_busy_client_is_refused() -> None:
    with pytest.raises(ReplayError, match="the client used 80% of a processor"):
        refuse_untrustworthy(seen(outcome(0), cpu=0.8), None)


def test_reuse_without_a_prefix_cache_is_refused() -> None:
    with pytest.raises(ReplayError, match="the prefix cache is off, but the engine reused 4"):
        refuse_untrustworthy(seen(outcome(0, cached_tokens=4)), None)
    found = seen(outcome(0, cached_tokens=4), expected=5)
    refuse_untrustworthy(found, None)
    assert (found.cached_tokens, found.cached_tokens_expected) == (4, 5)


def test_overlap_in_one_slot_is_the_error_of_the_placing() -> None:
    # The second call is placed from 0.5 - 0.3 = 0.2 s on, the first ends at 0.4 + 0.2 = 0.6 s.
    second = dataclasses.replace(outcome(1), intended_s=0.1, sent_s=0.1, first_token_s=0.5)
    found = seen(outcome(0), second)
    assert found.slot_overlap_s == pytest.approx(0.4)
    assert found.busy_s == pytest.approx(0.6)  # from 0.1 to 0.7 s

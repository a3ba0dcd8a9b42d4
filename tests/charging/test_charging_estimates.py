"""Phases that were not observed: estimated from measured calls, else from a stated default."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.charging import charge
from ingest.charging.estimates import DEFAULT_PACE
from ingest.config import Configuration, Pool

S = 1_000_000_000
DAY = 86_400 * S
NOON = 20_700 * DAY + 43_200 * S
CONFIGURATION = Configuration(pools=(Pool(name="a", models=("m", "n")),))
REAL_RUN = (
    Path(__file__).resolve().parents[2].parent
    / "shared/data/A_llmservingsim_vllm/rtx4090_llama31_8b/requests.jsonl"
)


def measured(call: Any, call_id: str = "measured", **more: Any) -> Any:
    """1 s for 1,000 uncached input tokens, 2 s for 100 output tokens; alone on its replica."""
    start = NOON - 600 * S
    times = {"started_at": start, "first_token_at": start + S, "ended_at": start + 3 * S}
    tokens = {"uncached_input_tokens": 1_000, "visible_output_tokens": 100}
    return call(call_id=call_id, **(times | tokens | more))


def spanned(call: Any, call_id: str = "spanned", **more: Any) -> Any:
    """Ten seconds of which only start and end are known: 2,000 tokens in, 400 out."""
    times = {"started_at": NOON, "ended_at": NOON + 10 * S, "timing_source": "span"}
    tokens = {"uncached_input_tokens": 2_000, "visible_output_tokens": 400}
    return call(call_id=call_id, **(times | tokens | more))


def counted(call: Any, call_id: str = "counted", **more: Any) -> Any:
    """Arrival and counts alone: 2,000 tokens in, 400 out."""
    known = {"arrived_at": NOON, "timing_source": "tokens", "timing_quality": "unknown"}
    tokens = {"uncached_input_tokens": 2_000, "visible_output_tokens": 400}
    return call(call_id=call_id, **(known | tokens | more))


def seconds(calls: Any, call_id: str) -> Any:
    [found] = calls.rows(
        "select sum(h.prefill_s), sum(h.decode_s) from charges as h "
        "inner join call_rows as r on h.call_no = r.call_no where r.call_id = $call_id",
        call_id=call_id,
    )
    return found


def test_a_span_is_split_as_measured_calls_of_its_model_were(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call))
    calls.charge(CONFIGURATION)
    # 2,000 x 1 ms : 400 x 20 ms = 2 s : 8 s
    assert seconds(calls, "spanned") == pytest.approx((2.0, 8.0))


def test_counts_alone_are_laid_out_from_arrival(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), counted(call))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "counted") == pytest.approx((2.0, 8.0))


def test_choices_are_laid_out_side_by_side(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), counted(call, n_choices=4, visible_output_tokens=1_600))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "counted") == pytest.approx((2.0, 8.0))


def test_a_call_of_several_choices_sets_no_pace(calls: Any, call: Any) -> None:
    quick = {"n_choices": 8, "started_at": NOON - 1_200 * S, "first_token_at": NOON - 1_190 * S}
    calls.deliver(measured(call), measured(call, "quick", **quick), counted(call))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "counted") == pytest.approx((2.0, 8.0))


def test_a_span_of_one_token_a_choice_is_prefill_throughout(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, n_choices=4, visible_output_tokens=4))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == (10.0, 0.0)


def test_without_a_call_of_its_model_the_whole_pool_sets_the_pace(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, model="n"))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((2.0, 8.0))


def test_a_stream_without_a_start_sets_the_pace_from_its_arrival(calls: Any, call: Any) -> None:
    streamed = {"started_at": None, "arrived_at": NOON - 600 * S, "timing_source": "stream"}
    calls.deliver(measured(call, **streamed), spanned(call))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((2.0, 8.0))


def test_its_own_model_outweighs_the_pool(calls: Any, call: Any) -> None:
    start = NOON - 600 * S
    slow = {"first_token_at": start + 8 * S, "ended_at": start + 10 * S}
    calls.deliver(measured(call), measured(call, "slow", model="n", **slow))
    calls.deliver(spanned(call, model="n"))
    calls.charge(CONFIGURATION)
    # 2,000 x 8 ms : 400 x 20 ms = 16 : 8
    assert seconds(calls, "spanned") == pytest.approx((10 * 16 / 24, 10 * 8 / 24))


def test_where_nothing_was_measured_the_default_holds(calls: Any, call: Any) -> None:
    calls.deliver(counted(call))
    calls.charge(CONFIGURATION)
    prefill_s = 2_000 * DEFAULT_PACE.prefill_s_per_token
    decode_s = 400 * DEFAULT_PACE.decode_s_per_token
    assert seconds(calls, "counted") == pytest.approx((prefill_s, decode_s))


def test_a_span_of_unknown_tokens_is_split_as_the_pools_time_is(calls: Any, call: Any) -> None:
    unknown = {"uncached_input_tokens": None, "visible_output_tokens": None}
    calls.deliver(measured(call), spanned(call, **unknown))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((10 / 3, 20 / 3))


def test_a_span_without_output_is_prefill_throughout(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, visible_output_tokens=0))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == (10.0, 0.0)


def test_a_span_of_one_output_token_is_prefill_throughout(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, visible_output_tokens=1))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == (10.0, 0.0)


def test_counts_of_one_output_token_are_laid_out_without_decode(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), counted(call, visible_output_tokens=1))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "counted") == (2.0, 0.0)


def test_one_output_token_that_was_seen_to_come_keeps_its_instant(calls: Any, call: Any) -> None:
    seen = {"first_token_at": NOON + 4 * S, "visible_output_tokens": 1}
    calls.deliver(spanned(call, **seen))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == (4.0, 6.0)


def test_an_engine_call_that_ended_before_any_token_is_prefill_throughout(
    calls: Any, call: Any
) -> None:
    failed = {"timing_source": "engine", "visible_output_tokens": None}
    calls.deliver(measured(call), spanned(call, **failed))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == (10.0, 0.0)


def test_unknown_counts_without_times_are_no_charge(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), counted(call, visible_output_tokens=None))
    calls.charge(CONFIGURATION)
    assert set(calls.gpu_seconds()) == {"measured"}


def test_impossible_counts_without_times_are_no_charge(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), counted(call, visible_output_tokens=10**15))
    calls.charge(CONFIGURATION)
    assert set(calls.gpu_seconds()) == {"measured"}


def test_a_span_without_a_start_is_in_service_from_its_arrival(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, started_at=None, arrived_at=NOON))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((2.0, 8.0))


def test_a_call_without_an_end_lasts_to_its_first_token_at_least(calls: Any, call: Any) -> None:
    unended = {"first_token_at": NOON + 90 * S, "ended_at": None, "timing_source": "engine"}
    calls.deliver(measured(call), spanned(call, **unended))
    calls.charge(CONFIGURATION)
    # 2,000 x 1 ms + 400 x 20 ms are 10 s from the start, which is before the first token.
    assert seconds(calls, "spanned") == (90.0, 0.0)


def test_a_call_without_an_end_that_began_to_answer_decodes_what_is_left(
    calls: Any, call: Any
) -> None:
    unended = {"first_token_at": NOON + 4 * S, "ended_at": None, "timing_source": "engine"}
    calls.deliver(measured(call), spanned(call, **unended))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((4.0, 6.0))


def test_a_first_token_outside_its_call_is_no_charge(calls: Any, call: Any) -> None:
    calls.deliver(measured(call), spanned(call, first_token_at=NOON + 100 * S))
    calls.charge(CONFIGURATION)
    assert set(calls.gpu_seconds()) == {"measured"}


@pytest.mark.parametrize("output_tokens", [0, None])
def test_a_refused_call_is_charged_nothing_and_takes_nothing_from_others(
    calls: Any, call: Any, output_tokens: int | None
) -> None:
    refused = spanned(
        call,
        "refused",
        started_at=None,
        arrived_at=NOON - 599 * S,
        ended_at=NOON - 598 * S,
        http_status=429,
        visible_output_tokens=output_tokens,
    )
    calls.deliver(measured(call), refused)
    calls.charge(CONFIGURATION)
    assert seconds(calls, "refused") == (0.0, 0.0)
    assert calls.gpu_seconds() == {"measured": (1.0, 2.0), "refused": (0.0, 0.0)}


def test_a_laid_out_call_reaches_past_midnight_and_leaves_no_trace_when_it_goes(
    calls: Any, call: Any
) -> None:
    evening = NOON + DAY // 2 - 4 * S
    calls.deliver(measured(call), counted(call, arrived_at=evening))
    calls.charge(CONFIGURATION)
    days = calls.rows("select distinct day from charges natural join charge_partitions order by 1")
    assert days == [(20_700,), (20_701,)]
    calls.withdraw("counted")
    calls.charge(CONFIGURATION)
    assert set(calls.gpu_seconds()) == {"measured"}


def test_a_call_without_an_end_reaches_past_midnight_whatever_else_was_observed(
    calls: Any, call: Any
) -> None:
    evening = NOON + DAY // 2 - 4 * S
    times = {"started_at": evening, "first_token_at": evening + S, "ended_at": None}
    calls.deliver(measured(call), spanned(call, timing_source="engine", **times))
    calls.charge(CONFIGURATION)
    assert seconds(calls, "spanned") == pytest.approx((1.0, 9.0))
    calls.withdraw("spanned")
    calls.charge(CONFIGURATION)
    assert set(calls.gpu_seconds()) == {"measured"}


def test_a_new_measurement_moves_the_estimates_and_nothing_else(calls: Any, call: Any) -> None:
    calls.deliver(measured(call, replica="r1"), spanned(call))
    calls.charge(CONFIGURATION)
    start = NOON - 300 * S
    times = {"started_at": start, "first_token_at": start + 3 * S, "ended_at": start + 5 * S}
    calls.deliver(measured(call, "second", replica="r2", **times))
    again = charge(calls.ledger, CONFIGURATION)
    assert again.partitions == 2  # that of the new call and that of the estimate
    # 4 s over 2,000 tokens, 4 s over 200: 2,000 x 2 ms : 400 x 20 ms = 4 : 8
    assert seconds(calls, "spanned") == pytest.approx((10 * 4 / 12, 10 * 8 / 12))


@given(st.permutations(range(6)), st.lists(st.integers(0, 6), max_size=3).map(sorted))
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_estimates_do_not_depend_on_the_order_of_deliveries(
    new_ledger: Any, call: Any, order: list[int], cuts: list[int]
) -> None:
    evening = NOON + DAY // 2 - 4 * S
    late = {"first_token_at": NOON - 595 * S, "ended_at": NOON - 590 * S}
    made = [
        measured(call),
        measured(call, "late", **late),
        spanned(call),
        spanned(call, "elsewhere", model="n", replica=None),
        counted(call),
        counted(call, "night", arrived_at=evening),
    ]
    at_once, in_parts = new_ledger(), new_ledger()
    at_once.deliver(*made)
    at_once.charge(CONFIGURATION)
    for left, right in zip([0, *cuts], [*cuts, 6], strict=True):
        in_parts.deliver(*(made[i] for i in order[left:right]))
        in_parts.charge(CONFIGURATION)
    assert in_parts.charges() == at_once.charges()


@pytest.mark.shared
@pytest.mark.skipif(not REAL_RUN.exists(), reason="the public vLLM run is not here")
def test_the_default_is_what_the_public_run_measured() -> None:
    requests = [json.loads(line) for line in REAL_RUN.read_text("utf-8").splitlines()]
    prefill_s = sum(r["first_token_ts"] - r["scheduled_ts"] for r in requests)
    decode_s = sum(r["last_token_ts"] - r["first_token_ts"] for r in requests)
    prefill_s_per_token = prefill_s / sum(r["input_toks"] for r in requests)
    decode_s_per_token = decode_s / sum(r["output_toks"] for r in requests)
    assert DEFAULT_PACE.prefill_s_per_token == pytest.approx(prefill_s_per_token, rel=1e-5)
    assert DEFAULT_PACE.decode_s_per_token == pytest.approx(decode_s_per_token, rel=1e-5)
    assert DEFAULT_PACE.prefill_ratio == pytest.approx(prefill_s / (prefill_s + decode_s), rel=1e-5)

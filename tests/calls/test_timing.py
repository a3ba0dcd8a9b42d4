"""Instants of a call by source: engine durations, a first token somebody saw, the bare span."""

import pytest

from ingest.calls.timing import (
    EARLIEST_AT,
    LATEST_AT,
    EngineLatency,
    Observation,
    Phases,
    phases,
    quality,
    refused,
)

S = 1_000_000_000
T0 = 1_795_000_000 * S


def observation(start_s: float | None, end_s: float | None, **facts: object) -> Observation:
    """A view from `start_s` to `end_s` after T0, with latency or a first token in seconds."""
    first_s = facts.pop("first_s", None)
    return Observation(
        started_at=None if start_s is None else T0 + round(start_s * S),
        ended_at=None if end_s is None else T0 + round(end_s * S),
        latency=EngineLatency(**facts),  # type: ignore[arg-type]
        first_token_at=None if first_s is None else T0 + round(float(str(first_s)) * S),
    )


def seconds(found: Phases) -> tuple[float | None, ...]:
    """Arrival, start of service, first token and end in seconds after T0."""
    instants = (found.arrived_at, found.started_at, found.first_token_at, found.ended_at)
    return tuple(None if at is None else (at - T0) / S for at in instants)


def test_engine_durations_follow_each_other_from_arrival() -> None:
    found = phases([observation(0, 9, queue_s=1, prefill_s=2, decode_s=4, ttft_s=3.1, e2e_s=7.2)])
    assert seconds(found) == (0, 1, 3, 7)
    assert (found.timing_source, found.timing_quality) == ("engine", "ok")


def test_engine_durations_win_over_what_the_client_saw() -> None:
    engine = observation(1, 8, queue_s=1, prefill_s=2, decode_s=4)
    client = observation(0, 5, first_s=4.5)
    assert seconds(phases([engine, client])) == (1, 2, 4, 8)
    assert phases([client, engine]) == phases([engine, client])


def test_ttft_places_the_first_token_where_the_engine_reports_no_prefill() -> None:
    found = phases([observation(0, 9, queue_s=1, ttft_s=3, e2e_s=7)])
    assert seconds(found) == (0, 1, 3, 7)


def test_ttft_and_prefill_place_the_start_where_the_engine_reports_no_queue() -> None:
    found = phases([observation(0, 9, prefill_s=2, ttft_s=3, decode_s=4)])
    assert seconds(found) == (0, 1, 3, 7)


def test_prefill_that_contains_the_queue_does_not_count_it_twice() -> None:
    found = phases([observation(0, 9, queue_s=1, prefill_s=3, ttft_s=3, decode_s=4)])
    assert seconds(found) == (0, 1, 3, 7)


def test_a_first_token_seen_by_the_client_is_a_stream() -> None:
    found = phases([observation(0, 5, first_s=2)])
    assert seconds(found) == (0, None, 2, 5)
    assert found.timing_source == "stream"


def test_an_outer_view_lends_its_first_token_where_that_can_be_true() -> None:
    inner, outer = observation(1, 5), observation(0, 6, first_s=2)
    assert seconds(phases([inner, outer])) == (1, None, 2, 5)
    early = observation(0, 6, first_s=0.5)
    assert phases([inner, early]).timing_source == "span"


def test_a_bare_span_gives_start_and_end() -> None:
    found = phases([observation(0, 5)])
    assert seconds(found) == (0, None, None, 5)
    assert (found.timing_source, found.timing_quality) == ("span", "ok")


def test_an_arrival_without_an_end_leaves_only_tokens() -> None:
    found = phases([observation(0, None)])
    assert (found.timing_source, found.timing_quality) == ("tokens", "ok")


def test_no_time_at_all_is_unknown() -> None:
    found = phases([observation(None, None)])
    assert (found.timing_source, found.timing_quality) == ("tokens", "unknown")


@pytest.mark.parametrize(
    "view",
    [
        observation(0, -0.04),
        observation(0, 9, queue_s=-0.02, prefill_s=2, decode_s=4),
        observation(0, 9, queue_s=-0.02),
        observation(0, 9, queue_s=0, prefill_s=2, decode_s=-4),
        observation(0, 9, queue_s=0, prefill_s=1, decode_s=4, ttft_s=8, e2e_s=5),
        observation(0, 5, first_s=5.1),
        observation(0, 5, first_s=-0.1),
        Observation(started_at=-62_135_596_800 * S, ended_at=T0),
        Observation(started_at=T0 // 1000, ended_at=T0 // 1000 + 5),
    ],
)
def test_impossible_times_are_kept_and_marked_invalid(view: Observation) -> None:
    found = phases([view])
    assert found.timing_quality == "invalid"
    assert found.ended_at is not None


@pytest.mark.parametrize(("at", "kept"), [(-(2**66), EARLIEST_AT), (2**66, LATEST_AT)])
def test_a_time_that_the_ledger_cannot_hold_is_invalid_and_stands_at_the_bound(
    at: int, kept: int
) -> None:
    found = phases([Observation(started_at=at, ended_at=at)])
    assert (found.arrived_at, found.ended_at, found.timing_quality) == (kept, kept, "invalid")
    assert phases([Observation(started_at=kept, ended_at=kept)]) == found


def test_the_difference_of_any_two_instants_has_64_bits() -> None:
    assert LATEST_AT - EARLIEST_AT < 2**63


def test_a_first_token_rounded_past_the_end_is_the_end() -> None:
    found = phases([observation(0, 5, first_s=5.0009)])
    assert seconds(found) == (0, None, 5, 5)
    assert found.timing_quality == "ok"


def test_a_refused_call_was_never_in_service() -> None:
    found = refused(phases([observation(0, 5)]))
    assert seconds(found) == (0, None, None, 5)


@pytest.mark.parametrize(
    ("instants", "expected"),
    [
        ((1, 2, 3, 4), "ok"),
        ((1, None, None, 4), "ok"),
        ((None, 2, 3, 4), "ok"),
        ((1, None, None, None), "ok"),
        ((4, 4, 4, 4), "ok"),
        ((None, None, None, 4), "unknown"),
        ((None, None, None, None), "unknown"),
        ((1, 0, 3, 4), "invalid"),
        ((1, 2, 5, 4), "invalid"),
        ((1, 2, 1, 4), "invalid"),
        ((-1, 2, 3, 4), "invalid"),
        ((T0, T0, T0, T0 + 604_800 * S), "ok"),
        ((T0, T0, T0, T0 + 604_800 * S + 1), "invalid"),
        ((None, T0, T0 + 604_800 * S + 1, None), "invalid"),
        ((None, 0, None, T0), "invalid"),
        ((0, T0, T0, T0), "invalid"),
    ],
)
def test_quality_compares_every_pair_of_known_instants(
    instants: tuple[int | None, ...], expected: str
) -> None:
    assert quality(*instants) == expected

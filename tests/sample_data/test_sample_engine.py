"""The engine of the generator against a plain step-by-step engine and figures by hand."""

import math

import pytest

from sample_data.company import CHAT_POOL, StepLaw
from sample_data.engine import Job, Replica

LAW = StepLaw(
    fixed_s=0.02,
    prompt_token_s=0.0001,
    prompt_pair_s=0.0,
    sequence_s=0.001,
    context_token_s=0.00001,
    step_prompt_tokens=1_000,
    kv_tokens=5_000,
)


def job(key: int, prompt: int, output: int, arrived_s: float, cached: int = 0) -> Job:
    return Job(
        key=key,
        input_tokens=prompt,
        cached_tokens=cached,
        output_tokens=output,
        arrived_s=arrived_s,
    )


def play(law: StepLaw, jobs: list[Job]) -> None:
    """Give the jobs to one replica at their arrival and let it run dry."""
    replica = Replica("r0", law)
    waiting = sorted(jobs, key=lambda one: one.arrived_s)
    ends_at: float | None = None
    while waiting or ends_at is not None:
        if waiting and (ends_at is None or waiting[0].arrived_s < ends_at):
            arrived = waiting.pop(0)
            again = replica.submit(arrived, arrived.arrived_s)
            ends_at = ends_at if again is None else again
        else:
            assert ends_at is not None
            replica.finish_stretch(ends_at)
            ends_at = replica.start(ends_at)


def play_step_by_step(law: StepLaw, jobs: list[Job]) -> None:
    """The same without any shortcut: one step, then the next."""
    now_s, waiting = 0.0, sorted(jobs, key=lambda one: one.arrived_s)
    running: list[Job] = []
    while waiting or running:
        if not running:
            now_s = max(now_s, waiting[0].arrived_s)
        admit(law, waiting, running, now_s)
        now_s = one_step(law, running, now_s)
        for one in [one for one in running if one.generated >= one.output_tokens]:
            one.ended_s = now_s
            running.remove(one)


def admit(law: StepLaw, waiting: list[Job], running: list[Job], now_s: float) -> None:
    while waiting and waiting[0].arrived_s <= now_s:
        held = sum(one.reserved_tokens for one in running) + waiting[0].reserved_tokens
        if held > law.kv_tokens and running:
            return
        admitted = waiting.pop(0)
        admitted.started_s = now_s
        admitted.prompt_left = admitted.input_tokens - admitted.cached_tokens
        running.append(admitted)


def one_step(law: StepLaw, running: list[Job], now_s: float) -> float:
    decoding = [one for one in running if not one.prompt_left]
    context = sum(one.context_tokens for one in decoding)
    chunks, budget = [], law.step_prompt_tokens
    for one in running:
        chunks.append((one, min(one.prompt_left, budget)))
        budget -= chunks[-1][1]
    now_s += law.fixed_s + sum(chunk for _, chunk in chunks) * law.prompt_token_s
    now_s += len(decoding) * law.sequence_s + context * law.context_token_s
    for one in decoding:
        one.generated += 1
    for one, chunk in chunks:
        one.prompt_left -= chunk
        if chunk and not one.prompt_left:
            one.generated, one.first_token_s = 1, now_s
    return now_s


def test_one_call_takes_the_seconds_of_its_steps() -> None:
    alone = job(1, prompt=100, output=3, arrived_s=1.0)
    play(LAW, [alone])
    # prefill: 0.02 + 100 x 0.0001; then two steps with 101 and 102 tokens of context
    assert alone.first_token_s == pytest.approx(1.03)
    assert alone.ended_s == pytest.approx(1.03 + 2 * (0.02 + 0.001) + 0.00001 * (101 + 102))


def test_cached_tokens_are_not_computed_again() -> None:
    cached = job(1, prompt=100, output=1, arrived_s=0.0, cached=80)
    play(LAW, [cached])
    assert cached.ended_s == pytest.approx(0.02 + 20 * 0.0001)


def test_a_prompt_longer_than_a_step_takes_several_steps() -> None:
    long = job(1, prompt=2_500, output=1, arrived_s=0.0)
    play(LAW, [long])
    assert long.first_token_s == pytest.approx(3 * 0.02 + 2_500 * 0.0001)


def test_a_call_waits_until_the_cache_has_room() -> None:
    first = job(1, prompt=3_000, output=10, arrived_s=0.0)
    second = job(2, prompt=3_000, output=10, arrived_s=0.001)
    play(LAW, [first, second])
    assert second.started_s == first.ended_s


def test_long_stretches_are_the_sum_of_single_steps() -> None:
    shapes = [(0.0, 400, 300), (0.9, 2_200, 40), (1.4, 900, 1), (3.3, 50, 700), (3.31, 800, 90)]
    quick = [job(n, prompt, output, at) for n, (at, prompt, output) in enumerate(shapes)]
    slow = [job(n, prompt, output, at) for n, (at, prompt, output) in enumerate(shapes)]
    play(LAW, quick)
    play_step_by_step(LAW, slow)
    for one, other in zip(quick, slow, strict=True):
        assert one.started_s == pytest.approx(other.started_s, rel=1e-12)
        assert one.first_token_s == pytest.approx(other.first_token_s, rel=1e-12)
        assert one.ended_s == pytest.approx(other.ended_s, rel=1e-12)


def test_a_bigger_batch_makes_every_call_of_it_slower() -> None:
    alone = job(0, prompt=500, output=200, arrived_s=0.0)
    crowd = [job(n, prompt=500, output=200, arrived_s=0.0) for n in range(8)]
    play(CHAT_POOL.law, [alone])
    play(CHAT_POOL.law, crowd)
    assert all(one.ended_s > alone.ended_s for one in crowd)
    assert not any(math.isnan(one.first_token_s) for one in crowd)

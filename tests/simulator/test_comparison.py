"""Baseline against candidate: ratios of sums, a floor from the baseline itself, and verdicts."""

import math

import numpy as np
import pytest

from simulator.comparison import Block, Comparison, compare
from simulator.figures import FIGURES, PassCalls, figures_of
from simulator.scenario import pass_order

CALLS = 32


def calls(prefill: float = 1.0, noise: float = 0.0, seed: int = 0) -> PassCalls:
    """Calls of 0.5 s prefill, times `prefill`, and 0.2 s decode, with noise of pass and call."""
    numbers = np.random.default_rng(seed)
    spread = np.linspace(0.5, 1.5, CALLS)
    jitter = np.exp(numbers.normal(0, noise, CALLS) + numbers.normal(0, noise))
    prefill_s = 0.5 * prefill * spread * jitter
    decode_s = 0.2 * spread * jitter
    return PassCalls(
        offset_s=np.arange(CALLS) * 2.0,
        prefill_s=prefill_s,
        decode_s=decode_s,
        gpu_seconds=prefill_s + decode_s,
        output_tokens=np.full(CALLS, 11.0),
        ttft_s=prefill_s + 0.01,
        prefill_processor_s=prefill_s,
        decode_processor_s=decode_s,
    )


def blocks(prefill: float, noise: float, pairs: int = 2, seed: int = 0) -> list[Block]:
    return [
        Block(
            baseline=calls(noise=noise, seed=number),
            baseline_again=calls(noise=noise, seed=number + 1),
            candidate=calls(prefill, noise=noise, seed=number + 2),
        )
        for number in range(seed, seed + 3 * pairs, 3)
    ]


def row(name: str, found: tuple[Comparison, ...]) -> Comparison:
    return next(one for one in found if one.figure.name == name)


def test_the_letters_are_means_and_ratios_of_sums() -> None:
    two = PassCalls(
        offset_s=np.array([0.0, 1.0]),
        prefill_s=np.array([1.0, 3.0]),
        decode_s=np.array([1.0, 50.0]),
        gpu_seconds=np.array([1.0, 10.0]),
        output_tokens=np.array([100.0, 1000.0]),
        ttft_s=np.array([1.5, 3.5]),
        prefill_processor_s=np.array([0.5, 1.0]),
        decode_processor_s=np.array([0.5, 10.5]),
    )
    value = dict(zip((figure.name for figure in FIGURES), figures_of(two), strict=True))
    assert value["Tp"] == 2.0
    assert value["L"] == 550.0
    assert value["Td"] == pytest.approx(51 / 1100)
    assert value["B"] == 5.0  # 55 s of residence on 11 GPU-seconds
    assert value["gpu_seconds"] == 5.5
    assert value["TTFT p50"] == 2.5
    assert value["end to end p50"] == pytest.approx((2.5 + 53.5) / 2)
    assert value["TPOT p50"] == pytest.approx((1 / 99 + 50 / 999) / 2)
    assert value["Tp processor"] == 0.75
    assert value["Td processor"] == 0.01


def test_a_halved_prefill_is_lower_and_what_did_not_change_is_not() -> None:
    found = compare(blocks(prefill=0.5, noise=0.03), seed=1).rows
    halved = row("Tp", found)
    assert halved.verdict == "lower"
    assert halved.change.low < -0.4
    assert halved.change.high < halved.floor_low_ratio
    assert row("Td", found).verdict == "within noise"
    assert row("L", found).change.value == 0.0
    assert row("L", found).verdict == "within noise"


def test_noise_alone_has_no_verdict() -> None:
    for seed in range(0, 60, 6):
        found = compare(blocks(prefill=1.0, noise=0.1, seed=seed), seed=1).rows
        assert {one.verdict for one in found} == {"within noise"}


def test_an_effect_below_the_floor_has_no_verdict() -> None:
    # The baseline differs from itself by a factor of two, the candidate by 20 %.
    shaken = [
        Block(baseline=calls(2.0), baseline_again=calls(1.0), candidate=calls(1.2)),
        Block(baseline=calls(2.0), baseline_again=calls(1.0), candidate=calls(1.2)),
    ]
    found = row("Tp", compare(shaken, seed=1).rows)
    # ln 2 between passes, twice: 4.3027 · sqrt(0.75 · ln²2 / 2) = 1.826; e^1.826 - 1 = 5.21.
    assert found.floor_high_ratio == pytest.approx(5.21, abs=0.01)
    assert found.change.value == pytest.approx(-0.2)
    assert found.verdict == "within noise"


def test_what_other_programs_explain_has_no_verdict() -> None:
    halved = blocks(prefill=0.5, noise=0.03)
    assert row("Tp", compare(halved, seed=1).rows).verdict == "lower"
    beside_others = row("Tp", compare(halved, seed=1, known_noise=math.log(3)).rows)
    assert beside_others.verdict == "within noise"
    assert beside_others.floor_high_ratio == pytest.approx(2.0)
    assert beside_others.floor_low_ratio == pytest.approx(-2 / 3)
    # Processor time does not pass while the engine waits for others.
    processor = compare(halved, seed=1, known_noise=math.log(3)).rows
    assert row("Tp processor", processor).verdict == "lower"


def test_the_same_seed_gives_the_same_intervals() -> None:
    made = blocks(prefill=0.8, noise=0.05)
    assert compare(made, seed=3).rows == compare(made, seed=3).rows


def test_a_figure_without_data_is_not_measured() -> None:
    one_token = calls()
    single = PassCalls(
        offset_s=one_token.offset_s,
        prefill_s=one_token.prefill_s,
        decode_s=np.zeros(CALLS),
        gpu_seconds=one_token.prefill_s,
        output_tokens=np.ones(CALLS),
        ttft_s=one_token.ttft_s,
        prefill_processor_s=np.full(CALLS, np.nan),
        decode_processor_s=np.zeros(CALLS),
    )
    block = Block(baseline=single, baseline_again=single, candidate=single)
    found = row("TPOT p50", compare([block], seed=1).rows)
    assert found.verdict == "not measured"
    assert math.isnan(found.change.value)
    assert row("Tp processor", compare([block], seed=1).rows).verdict == "not measured"


def test_short_passes_and_odd_pairs_are_said() -> None:
    notes = compare(blocks(prefill=20.0, noise=0.0, pairs=1), seed=1).notes
    assert any("too short for stretches" in note for note in notes)
    assert any("odd number of pairs" in note for note in notes)


def test_passes_alternate_so_that_a_drift_cancels() -> None:
    order = pass_order(2)
    assert order == ("baseline", "baseline", "candidate", "candidate", "baseline", "baseline")
    mean = {
        arm: sum(n for n, a in enumerate(order) if a == arm) / order.count(arm)
        for arm in set(order)
    }
    assert mean["baseline"] == mean["candidate"] == 2.5

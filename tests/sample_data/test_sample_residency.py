"""The generator's own attribution: by hand, and against the published vectors."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sample_data.company import SECOND_NS, PoolFacts, StepLaw, Stretch
from sample_data.findings import Finding, Times, Tokens
from sample_data.residency import Piece, gpu_seconds, pieces

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "attribution.json"
LAW = StepLaw(
    fixed_s=1.0,
    prompt_token_s=0.0,
    prompt_pair_s=0.0,
    sequence_s=0.0,
    context_token_s=0.0,
    step_prompt_tokens=1,
    kv_tokens=1,
)
NOTHING = Tokens(uncached_input=None, cache_read=None, visible_output=None, reasoning=None)


def pool(name: str, gpus: int, replicas: int) -> PoolFacts:
    always = Stretch(
        since=-SECOND_NS, replicas=replicas, price_per_gpu_hour=Decimal(0), windows=None
    )
    return PoolFacts(
        name=name, model="m", gpu="g", gpus_per_replica=gpus, law=LAW, stretches=(always,)
    )


def call(
    name: str,
    times: tuple[int, int | None, int],
    replica: str | None = None,
    pool_name: str = "a",
) -> Finding:
    started_at, first_token_at, ended_at = times
    return Finding(
        endpoint=name,
        team="t",
        model="m",
        pool=pool_name,
        replica=replica,
        status="ok",
        is_refused=False,
        is_valid=True,
        times=Times(
            source="engine",
            started_at=started_at,
            first_token_at=first_token_at,
            ended_at=ended_at,
        ),
        tokens=NOTHING,
        token_cost=None,
        call_id=name,
        arrived_at=started_at,
        prompt=None,
        attempt_no=1,
    )


def total(found: list[Piece], name: str) -> Fraction:
    return sum((one.gpu_seconds for one in found if one.finding.endpoint == name), Fraction(0))


def test_two_calls_share_the_seconds_in_which_both_are_served() -> None:
    s = SECOND_NS
    calls = [call("x", (0, 2 * s, 10 * s), "r0"), call("y", (5 * s, 6 * s, 15 * s), "r0")]
    found = list(pieces(pool("a", 1, 1), calls, []))
    assert total(found, "x") == total(found, "y") == Fraction(15, 2)


def test_three_calls_of_an_unknown_replica_share_two_busy_replicas() -> None:
    calls = [call(name, (0, None, 6 * SECOND_NS)) for name in "xyz"]
    found = list(pieces(pool("a", 1, 2), calls, []))
    assert [total(found, name) for name in "xyz"] == [4, 4, 4]


def test_a_cut_splits_a_call_and_changes_no_sum() -> None:
    s = SECOND_NS
    calls = [call("x", (0, 2 * s, 10 * s), "r0"), call("y", (5 * s, 6 * s, 15 * s), "r0")]
    cut = list(pieces(pool("a", 1, 1), calls, [3 * s, 9 * s]))
    assert len(cut) == 5
    assert total(cut, "x") == total(cut, "y") == Fraction(15, 2)


@pytest.mark.shared
@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden vectors are not here")
def test_the_published_vectors_come_out_exactly() -> None:
    for case in json.loads(GOLDEN.read_text("utf-8")):
        _agrees(case)


def _agrees(case: dict[str, Any]) -> None:
    calls = [
        call(
            one["call_id"],
            (one["start_ns"], one["first_token_ns"], one["end_ns"]),
            one["replica"],
            one["pool"],
        )
        for one in case["calls"]
    ]
    found = [
        piece
        for name, facts in case["pools"].items()
        for piece in pieces(pool(name, facts["gpus_per_replica"], facts["replicas"]), calls, [])
    ]
    for call_id, expected in case["expected"].items():
        mine = [piece for piece in found if piece.finding.endpoint == call_id]
        prefill = gpu_seconds(sum(piece.prefill_gpu_parts for piece in mine))
        decode = gpu_seconds(sum(piece.decode_gpu_parts for piece in mine))
        assert prefill == Fraction(expected["prefill_gpu_s"]["exact"]), case["name"]
        assert decode == Fraction(expected["decode_gpu_s"]["exact"]), case["name"]

"""The law on the public vectors, computed apart from this project as exact fractions."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from analysis.law import law
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOLDEN = SHARED / "golden"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not GOLDEN.exists(), reason="the public vectors are not beside this checkout"
    ),
]


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text("utf-8"))


def as_native(call: dict[str, Any]) -> dict[str, Any]:
    return {
        "call_id": call["call_id"],
        "pool": call["pool"],
        "replica": call["replica"],
        "endpoint": call["endpoint"],
        "started_at": call["start_ns"],
        "first_token_at": call["first_token_ns"],
        "ended_at": call["end_ns"],
        "visible_output_tokens": call["output_tokens"],
        "timing_source": "engine",
    }


@pytest.fixture
def lines(ledger_of: Callable[..., Ledger]) -> dict[str, dict[str, Any]]:
    expected = golden("law.json")
    case = next(c for c in golden("attribution.json") if c["name"] == expected["case"])
    pool = case["pools"]["a"]
    configuration = Configuration(
        pools=(
            Pool(
                name="a",
                gpus_per_replica=pool["gpus_per_replica"],
                replicas=pool["replicas"],
                price_per_gpu_hour=Decimal(expected["price_per_gpu_hour"]),
            ),
        )
    )
    ledger = ledger_of([as_native(call) for call in case["calls"]], configuration)
    rows = law(ledger, configuration, by=("endpoint",)).frame.to_dicts()
    return {row["endpoint"]: row for row in rows if row["line"] == "calls"}


def test_every_letter_of_every_endpoint_is_that_of_the_vector(
    lines: dict[str, dict[str, Any]],
) -> None:
    columns = {
        "N": "N", "Tp": "Tp_s", "L": "L_tokens", "Td": "Td_s", "B": "B",
        "p": "price_per_gpu_hour", "gpu_seconds": "gpu_seconds",
    }  # fmt: skip
    expected = golden("law.json")["expected"]
    assert set(lines) == set(expected)
    for endpoint, letters in expected.items():
        for letter, column in columns.items():
            found = float(lines[endpoint][column])
            assert found == pytest.approx(letters[letter]["value"], rel=1e-9), (endpoint, letter)
        # Money has nine decimals: the vector's 0.139... differs by at most one of the last.
        cost = float(lines[endpoint]["cost"])
        assert cost == pytest.approx(letters["C"]["value"], abs=1.5e-9)


def test_the_letters_of_the_vector_multiply_to_its_cost(lines: dict[str, dict[str, Any]]) -> None:
    for row in lines.values():
        price = float(row["price_per_gpu_hour"]) / 3600
        product = price * row["N"] * (row["Tp_s"] + row["L_tokens"] * row["Td_s"]) / row["B"]
        assert product == pytest.approx(price * row["gpu_seconds"], rel=1e-12)

"""The levers on the sample: what was planted is found, once, with its figures."""

from decimal import Decimal
from typing import Any

import pytest

from analysis.answer import Answer
from analysis.law import law
from analysis.levers import levers
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")


@pytest.fixture
def answer(sample_ledger: Ledger) -> Answer:
    return levers(sample_ledger, load_configuration(sample_configuration_path()))


def test_the_planted_repeats_are_the_evidence(answer: Answer, manifest: dict[str, Any]) -> None:
    lines = {line["number"]: line for line in answer.frame.to_dicts()}
    repeats = manifest["totals"]["repeats"]
    same = repeats["duplicates"]["/extract"] + repeats["duplicates"]["/rag/answer"]
    assert lines[1]["evidence"].startswith(f"{same:,} calls were sent within 3,600 s")
    assert f"counted apart {repeats['duplicates']['/chat']} more calls" in lines[1]["evidence"]
    assert lines[3]["evidence"].startswith("169 attempts in vain: 73 error, 9 refused, 87 timeout")
    assert lines[4]["evidence"].startswith("3 loops of 61 repeated steps: 55 calls")
    assert lines[9]["evidence"].startswith("2,917 retrieval runs of 6,411 found the same")


def test_a_twentieth_of_the_gpu_seconds_is_a_fortieth_of_the_bill(answer: Answer) -> None:
    # Nearly a third of the calls of /rag/answer would be hits: short calls on cheap GPUs.
    line = answer.frame.row(0, named=True)
    assert (line["number"], line["currency"], line["unpriced_call_count"]) == (1, "USD", 0)
    assert line["attributed_gpu_seconds"] == pytest.approx(26_632.324, abs=1e-3)
    assert line["busy_ratio"] == pytest.approx(0.05500, abs=1e-5)
    assert line["bill_ratio"] == pytest.approx(0.02431, abs=1e-5)


def test_what_is_planted_applies_and_nothing_is_guessed(answer: Answer) -> None:
    lines = {line["number"]: line for line in answer.frame.to_dicts()}
    planted = (1, 2, 3, 4, 9, 10, 12, 20, 21, 22, 23, 25, 26, 29, 31, 33, 42, 44)
    assert {number for number in planted if lines[number]["applies"] != "yes"} == set()
    assert [number for number in (8, 34, 35, 43) if lines[number]["applies"] != "unknown"] == []
    # Menus in prompts are found, and are next to nothing: 7 GPU-seconds, 0.006 USD.
    assert lines[27]["applies"] == "no"
    assert "that saves less than 0.01% of the bill" in lines[27]["evidence"]
    # The time that prompts of /rag/answer begin with keeps what follows out of the cache.
    assert lines[12]["attributed_gpu_seconds"] == pytest.approx(978.7, abs=0.1)
    assert lines[4]["attributed_gpu_seconds"] == pytest.approx(491.788, abs=1e-3)
    assert lines[3]["attributed_cost"] == pytest.approx(Decimal("1.502081545"))


def test_ratios_are_of_the_law_without_idle_time(answer: Answer, sample_ledger: Ledger) -> None:
    bill = law(sample_ledger, load_configuration(sample_configuration_path())).frame
    of_calls = bill.filter(bill["line"] == "calls")
    line = answer.frame.row(0, named=True)
    busy = line["attributed_gpu_seconds"] / of_calls["gpu_seconds"].sum()
    assert line["busy_ratio"] == pytest.approx(busy, rel=1e-9)
    cost = float(line["attributed_cost"] / of_calls["cost"].sum())
    assert line["bill_ratio"] == pytest.approx(cost, rel=1e-6)


def test_attributed_savings_are_never_more_than_alone(answer: Answer) -> None:
    told = answer.frame.drop_nulls("alone_gpu_seconds")
    assert (told["attributed_gpu_seconds"] <= told["alone_gpu_seconds"]).all()
    assert (told["attributed_cost"] <= told["alone_cost"]).all()
    assert told["attributed_gpu_seconds"].sum() < told["alone_gpu_seconds"].sum()

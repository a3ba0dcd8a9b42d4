"""Two weeks without waste: no question about waste finds any, though each finds some elsewhere."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import structs

from analysis.anomalies import anomalies
from analysis.boilerplate import boilerplate
from analysis.bursts import bursts, bursts_verdicts
from analysis.chains import chains
from analysis.check import check
from analysis.chunks import chunks
from analysis.concurrency import concurrency_verdicts
from analysis.duplicates import duplicates, in_flight
from analysis.examples import examples
from analysis.few_outputs import few_outputs
from analysis.interference import interference_verdicts
from analysis.lengths import concentration, finish_reasons, limits
from analysis.levers import levers
from analysis.loops import loops
from analysis.operations import operations
from analysis.output_format import output_format
from analysis.prefix_cache import prefix_cache
from analysis.prefix_loss import prefix_loss
from analysis.rejects import rejects
from analysis.response_cache import response_cache
from analysis.retries import retries
from analysis.routing import routing
from analysis.semantic_cache import semantic_cache
from analysis.siblings import siblings
from analysis.tool_repeats import tool_repeats
from analysis.volatile_prefixes import volatile_prefixes
from analysis.window import Window
from ingest.config import Configuration, load_configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing
from sample_data.generate import generate_control
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")

CONFIGURATION = structs.replace(load_configuration(sample_configuration_path()), content="full")
ALWAYS = Window()

Finds = Callable[[Ledger, Configuration], pl.DataFrame]

LEAST_RATIO = 0.0001
"""Of the GPU-seconds: a cap at the p99 always cuts one answer in a hundred by a little."""

DETECTIONS: Mapping[str, Finds] = {
    "duplicates": lambda ledger, _: duplicates(ledger, window=ALWAYS).frame,
    "in_flight": lambda ledger, _: in_flight(ledger, window=ALWAYS).frame,
    "response_cache": lambda ledger, configuration: response_cache(
        ledger, configuration
    ).frame.filter(pl.col("hit_count") + pl.col("apart_count") > 0),
    "semantic_cache": lambda ledger, _: semantic_cache(ledger, window=ALWAYS).frame.filter(
        pl.col("hit_count") > 0
    ),
    "retries": lambda ledger, _: retries(ledger, window=ALWAYS).frame,
    "operations": lambda ledger, _: operations(ledger, window=ALWAYS).frame,
    "loops": lambda ledger, _: loops(ledger, window=ALWAYS).frame,
    "tool_repeats": lambda ledger, _: tool_repeats(ledger, window=ALWAYS).frame,
    "anomalies": lambda ledger, configuration: anomalies(ledger, configuration).frame,
    "prefix_cache": lambda ledger, configuration: prefix_cache(
        ledger, configuration, where={"endpoint": "/rag/answer"}
    ).frame.filter(
        pl.col("reach") == "pool",
        pl.col("capacity_tokens").is_null(),
        pl.col("block_hit_ratio") < 0.9,
    ),
    "volatile_prefixes": lambda ledger, configuration: (
        volatile_prefixes(ledger, configuration).frame
    ),
    "prefix_loss": lambda ledger, configuration: prefix_loss(ledger, configuration).frame.filter(
        pl.col("cause").is_in(["volatile", "eviction", "routing"])
    ),
    "concentration": lambda ledger, configuration: concentration(
        ledger, configuration
    ).frame.filter(pl.col("top_1_ratio") > 0.03),
    "limits": lambda ledger, configuration: limits(ledger, configuration).frame.filter(
        pl.col("cut_count") > 0
    ),
    "finish_reasons": lambda ledger, configuration: finish_reasons(
        ledger, configuration
    ).frame.filter(~pl.col("finish_reason").is_in(["stop", "tool_calls"])),
    "chunks": lambda ledger, configuration: chunks(ledger, configuration).frame.filter(
        pl.col("saved_tokens") > 0
    ),
    "examples": lambda ledger, configuration: examples(ledger, configuration).frame.filter(
        pl.col("examples_hash").is_not_null()
    ),
    "boilerplate": lambda ledger, configuration: boilerplate(ledger, configuration).frame,
    "output_format": lambda ledger, configuration: output_format(
        ledger, configuration
    ).frame.filter((pl.col("saved_gpu_seconds") > 0) | (pl.col("saved_cost") > 0)),
    "routing": lambda ledger, configuration: routing(ledger, configuration).frame.filter(
        pl.col("simple_count") > 0
    ),
    "few_outputs": lambda ledger, configuration: few_outputs(ledger, configuration).frame.filter(
        "is_few"
    ),
    "siblings": lambda ledger, configuration: siblings(ledger, configuration).frame,
    "chains": lambda ledger, configuration: chains(ledger, configuration).frame,
    "bursts": lambda ledger, configuration: bursts(ledger, configuration).frame.filter(
        pl.col("burst_call_count") > 0
    ),
    "rejects": lambda ledger, _: rejects(ledger, window=ALWAYS).frame,
    "check": lambda ledger, configuration: check(ledger, configuration).frame.filter(
        pl.col("result") == "failed"
    ),
    "levers": lambda ledger, configuration: levers(ledger, configuration).frame.filter(
        (pl.col("busy_ratio") > LEAST_RATIO)
        | (pl.col("applies") == "yes") & pl.col("number").is_in([22, 23, 25, 26, 27])
    ),
}
"""Question to what it would wrongly take for waste; each must be empty."""

NOT_PLANTED = (
    "limits", "finish_reasons", "few_outputs", "routing", "siblings", "chains", "semantic_cache",
    "check",
)  # fmt: skip
"""What the sample has none of: answers that are cut, few or simple, steps that need not be steps,
texts that are stored, and a ledger that is not sound."""


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the control set."""
    folder = tmp_path_factory.mktemp("control")
    generate_control(folder)
    return folder


@pytest.fixture(scope="module")
def control_ledger(control: Path) -> Iterator[Ledger]:
    """Its ledger, with all texts."""
    with open_for_writing(None) as ledger:
        results = deliver_paths(ledger, [str(control / "telemetry")], CONFIGURATION)
        assert {result.error for result in results} == {None}
        yield ledger


def test_nothing_is_planted_in_the_control_set(control: Path, control_ledger: Ledger) -> None:
    manifest: dict[str, Any] = json.loads((control / "manifest.json").read_text("utf-8"))
    assert not any(manifest["waste"].values())
    ((count,),) = control_ledger.connection.sql("select count(*) from calls").fetchall()
    assert count == manifest["totals"]["calls"] == 1_064


@pytest.mark.parametrize("name", DETECTIONS)
def test_no_question_about_waste_finds_any(control_ledger: Ledger, name: str) -> None:
    found = DETECTIONS[name](control_ledger, CONFIGURATION)
    assert found.to_dicts() == []


@pytest.mark.parametrize("name", sorted({*DETECTIONS} - {*NOT_PLANTED}))
def test_each_of_them_finds_something_in_the_sample(sample_ledger: Ledger, name: str) -> None:
    assert DETECTIONS[name](sample_ledger, CONFIGURATION).height > 0


@pytest.mark.parametrize("verdicts", [concurrency_verdicts, bursts_verdicts, interference_verdicts])
def test_no_pool_has_a_queue_a_burst_or_a_prefill_in_its_way(
    control_ledger: Ledger, verdicts: Callable[..., pl.DataFrame]
) -> None:
    found = verdicts(control_ledger, CONFIGURATION)
    assert set(found["pool"]) == {"chat-h100", "rag-l4"}
    assert set(found["applies"]) == {False}

"""A recorded run of vLLM: its engine's log of each second, and the requests of the same run."""

import csv
import json
from datetime import datetime
from pathlib import Path

import pytest

from analysis.engine import engine
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

RUN = (
    Path(__file__).resolve().parents[2].parent
    / "shared/data/A_llmservingsim_vllm/rtx4090_llama31_8b"
)
MODEL = "meta-llama/Llama-3.1-8B"
TEXT = """# scraped_at {at}
vllm:num_requests_running{{model_name="{model}"}} {running}
vllm:num_requests_waiting{{model_name="{model}"}} {waiting}
vllm:kv_cache_usage_perc{{model_name="{model}"}} {kv}
vllm:prompt_tokens_total{{model_name="{model}"}} {prompt}
vllm:generation_tokens_total{{model_name="{model}"}} {output}
"""


def as_prometheus(begin: datetime) -> str:
    """The log of each second as scrapes; throughputs of a second are tokens of that second."""
    prompt = output = 0.0
    texts = [scrape(begin, 0.0, {"running": "0", "waiting": "0", "kv_cache_pct": "0"}, 0, 0)]
    with (RUN / "timeseries.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            prompt += float(row["prompt_throughput"])
            output += float(row["gen_throughput"])
            texts.append(scrape(begin, float(row["t"]), row, prompt, output))
    return "".join(texts)


def scrape(begin: datetime, at_s: float, row: dict[str, str], prompt: float, output: float) -> str:
    at = datetime.fromtimestamp(begin.timestamp() + at_s, begin.tzinfo)
    return TEXT.format(
        at=at.isoformat(),
        model=MODEL,
        running=row["running"],
        waiting=row["waiting"],
        kv=float(row["kv_cache_pct"]) / 100,
        prompt=prompt,
        output=output,
    )


@pytest.mark.shared
@pytest.mark.skipif(not RUN.is_dir(), reason="the public files in ../shared are absent")
def test_b_by_requests_is_that_of_the_engines_log_but_for_calls_that_it_preempted(
    tmp_path: Path,
) -> None:
    begin = datetime.fromisoformat(json.loads((RUN / "meta.json").read_text())["started_at"])
    metrics = tmp_path / "metrics.txt"
    metrics.write_text(as_prometheus(begin))
    configuration = Configuration(pools=(Pool(name="rtx", models=(MODEL,)),))
    with open_for_writing(None) as ledger:
        deliver_paths(ledger, [str(RUN / "requests.jsonl"), str(metrics)], configuration)
        (row,) = engine(ledger, window=Window()).frame.to_dicts()
    assert (row["prompt_tokens"], row["output_tokens"]) == (257_239.0, 195_753.0)
    assert row["input_coverage_ratio"] == pytest.approx(1, abs=0.01)
    assert row["output_coverage_ratio"] == pytest.approx(1, abs=0.01)
    assert row["busy_samples"] > 150
    # The cache is full for most of the run: a preempted call is back among those that wait, while
    # its time from first to last token goes on.
    assert row["B_engine"] == pytest.approx(32.37, abs=0.2)
    assert row["B_calls"] == pytest.approx(34.83, abs=0.2)
    assert row["kv_use_ratio"] > 0.9

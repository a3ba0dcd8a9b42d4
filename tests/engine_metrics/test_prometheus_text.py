"""Prometheus text becomes samples: dated, told apart by labels, the rest ignored and counted."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingest.files import RefusedSourceError, Source
from ingest.readers import recognise
from ingest.readers.prometheus_text import PrometheusText
from ingest.records import Batch, Sample

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "readers" / "vllm-metrics.txt"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "vllm_cpu" / "metrics.txt"
NOON = 1_791_460_800_000_000_000
S = 10**9


def source_of(text: str) -> Source:
    return Source("metrics", lambda: io.BytesIO(text.encode()), size_bytes=len(text))


def read(text: str, scraped_at: int | None = None) -> Batch:
    (batch,) = PrometheusText(scraped_at).read(source_of(text))
    return batch


def values(samples: Sequence[Sample]) -> list[tuple[str, int, float | None]]:
    return [(sample.metric, sample.at, sample.value) for sample in samples]


def test_scrapes_in_a_row_are_dated_by_the_lines_above_them() -> None:
    batch = read(FIXTURE.read_text())
    began = 1_790_841_600 * S
    assert values(batch.samples) == [
        ("running_calls", began, 2.0),
        ("kv_use_ratio", began, 0.25),
        ("output_tokens", began, 1000.0),
        ("queue_s_count", began, 4.0),
        ("queue_s", began, 0.5),
        ("running_calls", began + 15 * S, 3.0),
        ("kv_use_ratio", began + 15 * S, None),
        ("output_tokens", began + 15 * S, 1500.0),
    ]
    assert (list(batch.rejects), batch.ignored_count) == ([], 2)
    assert {(s.engine, s.model, s.instance) for s in batch.samples} == {
        ("vllm", "llama", "10.0.0.7:8000")
    }
    assert {(s.kind, s.began_at) for s in batch.samples} == {("gauge", None), ("counter", began)}


def test_a_line_that_is_no_sample_is_rejected_and_its_neighbours_are_not() -> None:
    batch = read(
        "vllm:num_requests_running 1\nvllm:num_requests_waiting one\n!?\n"
        "vllm:kv_cache_usage_perc 1\n"
        'vllm:generation_tokens_total{model_name="m} 7\nvllm:prompt_tokens_total 1_0\n'
        'vllm:prompt_tokens_total{a="1",a="2"} 3\n',
        NOON,
    )
    assert values(batch.samples) == [("running_calls", NOON, 1.0), ("kv_use_ratio", NOON, 1.0)]
    assert [(r.position, r.reason.partition(":")[0]) for r in batch.rejects] == [
        ("line 2", "'one' is no number"),
        ("line 3", "no sample"),
        ("line 5", "no sample"),
        ("line 6", "'1_0' is no number"),
        ("line 7", "its labels cannot be read"),
    ]


def test_timestamps_are_milliseconds_or_seconds_to_the_last_digit() -> None:
    batch = read(
        "vllm:num_requests_running 1 1791460800123\n"
        "vllm:num_requests_waiting 2 1791460800.123456789\n"
        'vllm:generation_tokens_total 3 1791460800.5 # {trace_id="a b"} 1 1791460799\n'
        "# EOF\n"
    )
    assert values(batch.samples) == [
        ("running_calls", NOON + 123_000_000, 1.0),
        ("waiting_calls", NOON + 123_456_789, 2.0),
        ("output_tokens", NOON + 500_000_000, 3.0),
    ]


def test_labels_may_hold_what_looks_like_the_end_of_them() -> None:
    (sample,) = read(r'vllm:num_requests_running{model_name="a} 9 \"b\\",x="{,}"} 4', NOON).samples
    assert (sample.value, sample.model) == (4.0, 'a} 9 "b\\')
    assert sample.labels == {"model_name": 'a} 9 "b\\', "x": "{,}"}
    (quoted,) = read('{"vllm:num_requests_running",pool="chat",instance="i"} 5', NOON).samples
    assert (quoted.value, quoted.pool_reported, quoted.instance) == (5.0, "chat", "i")


def test_an_undated_text_is_refused_with_what_dates_it() -> None:
    with pytest.raises(RefusedSourceError, match="--at TIME, or write a line '# scraped_at TIME'"):
        read("vllm:num_requests_running 1\n")


def test_two_scrapes_without_a_line_between_them_are_not_taken_for_one() -> None:
    batch = read("vllm:num_requests_running 1\nvllm:num_requests_running 2\n", NOON)
    assert values(batch.samples) == [("running_calls", NOON, 1.0)]
    assert "stands twice in one scrape" in batch.rejects[0].reason


def test_a_line_that_dates_a_scrape_wrongly_is_rejected_with_what_it_knows() -> None:
    batch = read(
        "vllm:num_requests_running 1\n# scraped_at yesterday\nvllm:num_requests_waiting 1\n"
        "# scraped_at 2026-01-01T00:00:00Z modle=a\nvllm:num_requests_running 3 1791460800000\n",
        NOON - S,
    )
    assert values(batch.samples) == [("running_calls", NOON - S, 1.0), ("running_calls", NOON, 3.0)]
    assert [reject.reason for reject in batch.rejects] == [
        "'yesterday' is no instant such as 2026-10-01T08:00:00.5Z",
        "the line above that dates its scrape cannot be read",
        "scraped_at knows instance, model, pool, not modle",
    ]


def test_a_text_without_a_metric_of_an_engine_is_ignored_and_counted() -> None:
    batch = read("# TYPE node_load1 gauge\nnode_load1 0.5\nnode_load5 0.25\n")
    assert (list(batch.samples), list(batch.rejects), batch.ignored_count) == ([], [], 2)


def test_the_text_is_recognised_by_its_comments_or_its_names() -> None:
    assert recognise(source_of("# TYPE a gauge\na 1\n")).name == "prometheus-text"
    assert recognise(source_of("llamacpp:requests_processing 0\n")).name == "prometheus-text"


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the public files in ../shared are absent")
def test_a_recorded_scrape_of_vllm_has_the_tokens_of_its_six_calls() -> None:
    batch = read(SHARED.read_text(), NOON)
    found = {s.metric: s.value for s in batch.samples if s.metric != "finished_calls"}
    assert (found["prompt_tokens"], found["output_tokens"]) == (1282.0, 40.0)
    assert (found["cached_prompt_tokens"], found["prefix_hit_tokens"]) == (768.0, 768.0)
    assert found["e2e_s_count"] == 6.0
    finished = [s.value or 0 for s in batch.samples if s.metric == "finished_calls"]
    assert sum(finished) == 6.0
    assert len(batch.samples) + batch.ignored_count == 459

"""The table of names: each exposed name stands for one thing, whatever an exporter adds to it."""

import pytest

from ingest.engine_metrics.names import (
    NamesError,
    engine_names,
    is_counted_twice,
    known,
    model_of,
    names_of,
)


@pytest.mark.parametrize(
    ("name", "engine", "metric", "kind"),
    [
        ("vllm:num_requests_running", "vllm", "running_calls", "gauge"),
        ("vllm:generation_tokens_total", "vllm", "output_tokens", "counter"),
        ("vllm:generation_tokens", "vllm", "output_tokens", "counter"),
        ("vllm_generation_tokens_total", "vllm", "output_tokens", "counter"),
        ("vllm:request_prefill_time_seconds_sum", "vllm", "prefill_s", "counter"),
        ("vllm:request_prefill_time_seconds_count", "vllm", "prefill_s_count", "counter"),
        ("sglang:num_queue_reqs", "sglang", "waiting_calls", "gauge"),
        ("sglang:num_retracted_requests_total", "sglang", "preemptions", "counter"),
        ("vllm:cache_config_info", "vllm", "kv_blocks", "gauge"),
        ("sglang:max_total_num_tokens", "sglang", "kv_cache_tokens", "gauge"),
        ("sglang:context_len", "sglang", "max_model_len", "gauge"),
        (
            "sglang:num_retracted_input_tokens_total",
            "sglang",
            "preempted_input_tokens",
            "counter",
        ),
        ("sglang:num_requests_total", "sglang", "finished_calls", "counter"),
        ("llamacpp:prompt_tokens_total", "llama.cpp", "computed_prompt_tokens", "counter"),
        ("llamacpp:prompt_tokens_cached_total", "llama.cpp", "cached_prompt_tokens", "counter"),
        ("llamacpp:requests_processing", "llama.cpp", "running_calls", "gauge"),
    ],
)
def test_a_name_stands_for_one_metric(name: str, engine: str, metric: str, kind: str) -> None:
    found = known(name)
    assert found is not None
    assert (found.engine, found.metric, found.kind) == (engine, metric, kind)


@pytest.mark.parametrize(
    "name",
    [
        "python_info",
        "vllm:generation_tokens_created",
        "vllm:request_prefill_time_seconds_bucket",
        "vllm:num_requests_waiting_by_reason",
        "vllm:iteration_tokens_total_sum",
        "sglang:num_running_reqs_total",
        "llamacpp:n_busy_slots_per_decode",
        "process_start_time_seconds",
    ],
)
def test_another_name_stands_for_nothing(name: str) -> None:
    assert known(name) is None


def test_of_two_names_of_one_metric_the_newer_is_read() -> None:
    newer, older = known("vllm:kv_cache_usage_perc"), known("vllm:gpu_cache_usage_perc")
    assert newer is not None
    assert older is not None
    assert newer.metric == older.metric == "kv_use_ratio"
    assert (newer.rank, older.rank) == (0, 1)


def test_ranks_and_priorities_that_repeat_the_aggregate_are_not_read() -> None:
    assert not is_counted_twice("sglang", {"tp_rank": "0", "pp_rank": "0", "priority": ""})
    assert not is_counted_twice("sglang", {"dp_rank": "1", "model_name": "m"})
    assert is_counted_twice("sglang", {"tp_rank": "1"})
    assert is_counted_twice("sglang", {"tp_rank": "0", "priority": "-1"})
    assert not is_counted_twice("vllm", {"engine": "1"})


def test_the_model_is_told_by_the_labels_of_the_engine() -> None:
    assert model_of("vllm", {"model_name": "m", "model": "other"}) == "m"
    assert model_of("llama.cpp", {"instance": "a"}) is None


def test_a_table_that_names_one_thing_twice_is_refused() -> None:
    text = """
        [e]
        prefixes = ["e:"]
        model_labels = []
        gauges = { running_calls = ["a", "b"], waiting_calls = ["b"] }
        counters = {}
    """
    with pytest.raises(NamesError, match="e has b twice"):
        names_of(text)
    with pytest.raises(NamesError, match="Invalid enum value 'runing'"):
        names_of(text.replace("running_calls", "runing"))


def test_every_engine_tells_how_many_calls_run_and_wait_and_which_tokens_it_made() -> None:
    for names in engine_names().values():
        assert {"running_calls", "waiting_calls"} <= set(names.gauges)
        assert "output_tokens" in names.counters

"""The product reads the sample: every total of the manifest, which it had no part in."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.answer import Answer
from analysis.duplicates import duplicates, in_flight
from analysis.law import law
from analysis.loops import loops
from analysis.retries import retries
from analysis.tool_repeats import tool_repeats
from analysis.window import Window
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")

MONTHS = [(zone, month) for zone in ("UTC", "Asia/Tokyo") for month in ("2026-09", "2026-10")]
EXACT = 1e-9
CENT = Decimal("0.01")


def rows(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(sql).fetchall()


def month_lines(ledger: Ledger, zone: str, month: str) -> pl.DataFrame:
    configuration = load_configuration(sample_configuration_path())
    window = Window.month(month, zone)
    return law(ledger, configuration, by=("endpoint",), window=window).frame


def test_every_record_is_read_once_and_the_cut_line_is_rejected(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    counts = rows(
        sample_ledger,
        "select sum(read_count), sum(new_count), sum(duplicate_count), sum(rejected_count), "
        "sum(conflict_count) from deliveries",
    )
    expected = manifest["deliveries"]
    assert counts == [
        tuple(expected[name] for name in ("read", "new", "duplicate", "rejected", "conflict"))
    ]


@pytest.mark.parametrize("column", ["endpoint", "team", "model"])
def test_tokens_of_every_bucket_are_those_of_the_manifest(
    sample_ledger: Ledger, manifest: dict[str, Any], column: str
) -> None:
    totals = pl.DataFrame(
        sample_ledger.connection.sql("from calls")
        .aggregate(
            f"{column}, count(*), "
            "coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), "
            "coalesce(sum(uncached_input_tokens), 0), coalesce(sum(cache_read_tokens), 0), "
            "coalesce(sum(visible_output_tokens), 0), coalesce(sum(reasoning_tokens), 0)"
        )
        .pl()
    )
    found = {name: tuple(int(value) for value in rest) for name, *rest in totals.iter_rows()}
    assert found == {
        name: tuple(line.values()) for name, line in manifest["totals"][f"by_{column}"].items()
    }


def test_outcomes_sources_and_impossible_times_are_counted(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    totals = manifest["totals"]
    by_status = rows(sample_ledger, "select status, count(*) from calls group by all")
    by_source = rows(sample_ledger, "select timing_source, count(*) from calls group by all")
    invalid = rows(
        sample_ledger,
        "select endpoint, count(*) from calls where timing_quality = 'invalid' group by all",
    )
    assert dict(by_status) == totals["by_status"]
    assert dict(by_source) == totals["by_timing_source"]
    assert dict(invalid) == {name: line["calls"] for name, line in totals["invalid"].items()}


def test_every_further_attempt_is_linked_to_the_first(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    found = rows(
        sample_ledger,
        "select count(*), count(*) filter (first.attempt = 1 and first.status <> 'ok') "
        "from calls as later inner join calls as first on later.retry_of = first.call_id "
        "where later.attempt > 1 and later.trace_id = first.trace_id",
    )
    expected = manifest["totals"]["further_attempts"]
    assert found == [(expected, expected)]


def test_tools_and_searches_are_found(sample_ledger: Ledger, manifest: dict[str, Any]) -> None:
    totals = manifest["totals"]
    assert rows(sample_ledger, "select count(*) from tool_runs") == [(totals["tool_runs"],)]
    assert rows(sample_ledger, "select count(*) from retrievals") == [(totals["retrievals"],)]


def test_the_planted_loops_are_found_and_no_other(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    found = loops(sample_ledger, window=Window()).frame
    assert {(row["trace_id"], row["tool"], row["run_count"]) for row in found.to_dicts()} == {
        (loop["trace_id"], loop["tool"], loop["times"])
        for loop in manifest["totals"]["agent_loops"]
    }


@pytest.mark.parametrize(
    ("name", "question"), [("duplicates", duplicates), ("in_flight", in_flight)]
)
def test_the_planted_repeats_of_calls_are_found_and_no_other(
    sample_ledger: Ledger, manifest: dict[str, Any], name: str, question: Callable[..., Answer]
) -> None:
    found = question(sample_ledger, window=Window()).frame
    counts = found.group_by("endpoint").agg(pl.col("duplicate_count").sum())
    assert dict(counts.iter_rows()) == manifest["totals"]["repeats"][name]


def test_the_planted_failures_are_found_by_reason_and_no_other(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    found: dict[str, dict[str, int]] = {}
    for row in retries(sample_ledger, window=Window()).frame.to_dicts():
        found.setdefault(row["endpoint"], {})[row["reason"]] = row["attempt_count"]
    assert found == manifest["totals"]["repeats"]["failed_attempts"]


def test_the_planted_repeats_of_searches_and_tools_are_found_and_no_other(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    totals = manifest["totals"]
    found = tool_repeats(sample_ledger, window=Window()).frame
    counts = dict(found.group_by("kind").agg(pl.col("repeat_count").sum()).iter_rows())
    assert counts == {
        "retrieval": totals["repeats"]["retrievals"]["/rag/answer"],
        "tool": sum(loop["times"] - 1 for loop in totals["agent_loops"]),
    }


def test_equal_texts_have_equal_hashes(sample_ledger: Ledger, manifest: dict[str, Any]) -> None:
    found = rows(
        sample_ledger,
        "select endpoint, count(input_hash), count(distinct input_hash) from calls "
        "where status = 'ok' and input_hash is not null group by endpoint",
    )
    assert {endpoint: (calls, distinct) for endpoint, calls, distinct in found} == {
        endpoint: (line["calls"], line["distinct"])
        for endpoint, line in manifest["totals"]["prompts"].items()
    }


def test_equal_questions_have_equal_hashes_with_and_without_an_engine(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    found = rows(
        sample_ledger,
        "select count(distinct prompt_hash), count(distinct timing_source) from calls "
        "where endpoint = '/rag/answer'",
    )
    assert found == [(manifest["totals"]["prompts"]["/rag/answer"]["distinct"], 2)]


@pytest.mark.parametrize(("zone", "month"), MONTHS)
def test_endpoints_have_their_calls_tokens_gpu_seconds_and_money(
    sample_ledger: Ledger, manifest: dict[str, Any], zone: str, month: str
) -> None:
    lines = month_lines(sample_ledger, zone, month).filter(pl.col("line") == "calls")
    found = {line["endpoint"]: line for line in lines.filter(pl.col("basis") == "gpu").to_dicts()}
    expected = manifest["months"][zone][month]["by_endpoint"]
    assert set(found) == {name for name, line in expected.items() if "gpu_seconds" in line}
    for endpoint, line in found.items():
        wanted, left_out = expected[endpoint], _left_out(manifest, expected, endpoint)
        for ours, theirs in (("N", "calls"), ("input_tokens",) * 2, ("output_tokens",) * 2):
            assert line[ours] + left_out[theirs] == wanted[theirs]
        for seconds in ("gpu_seconds", "prefill_gpu_seconds", "decode_gpu_seconds"):
            assert line[seconds] == pytest.approx(wanted[seconds], rel=EXACT)
        assert abs(line["cost"] - Decimal(wanted["gpu_cost"])) < CENT


@pytest.mark.parametrize(("zone", "month"), MONTHS)
def test_calls_priced_by_the_token_and_unpriced_calls_are_told_apart(
    sample_ledger: Ledger, manifest: dict[str, Any], zone: str, month: str
) -> None:
    lines = month_lines(sample_ledger, zone, month)
    expected = manifest["months"][zone][month]
    priced = lines.filter(pl.col("basis") == "token").to_dicts()
    calls = expected["by_endpoint"]["/extract"]["calls"] - expected["unpriced_calls"]
    assert [(line["endpoint"], line["N"]) for line in priced] == [("/extract", calls)]
    assert priced[0]["cost"] == Decimal(expected["token_cost"])
    invalid = sum(line["invalid_calls"] for line in expected["by_endpoint"].values())
    unpriced = lines.filter(pl.col("line") == "unpriced")["N"].sum()
    assert unpriced == expected["unpriced_calls"] + invalid


@pytest.mark.parametrize(("zone", "month"), MONTHS)
def test_idle_time_is_what_the_windows_leave(
    sample_ledger: Ledger, manifest: dict[str, Any], zone: str, month: str
) -> None:
    lines = month_lines(sample_ledger, zone, month).filter(pl.col("line") == "idle")
    found = {line["pool"]: line for line in lines.to_dicts()}
    expected = manifest["months"][zone][month]["pools"]
    assert set(found) == set(expected)
    for pool, line in found.items():
        assert line["gpu_seconds"] == pytest.approx(expected[pool]["idle_gpu_seconds"], rel=EXACT)
        assert abs(line["cost"] - Decimal(expected[pool]["idle_cost"])) < CENT


@pytest.mark.parametrize(("zone", "month"), MONTHS)
def test_all_lines_add_up_to_the_bill_to_the_cent(
    sample_ledger: Ledger, manifest: dict[str, Any], zone: str, month: str
) -> None:
    costs = month_lines(sample_ledger, zone, month)["cost"].drop_nulls().to_list()
    expected = manifest["months"][zone][month]
    bill = Decimal(expected["gpu_bill"]) + Decimal(expected["token_cost"])
    assert round(sum(costs, Decimal(0)), 2) == round(bill, 2)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("month", ["2026-08", "2026-11"])
def test_calls_over_the_edges_count_where_their_service_begins(
    sample_ledger: Ledger, manifest: dict[str, Any], zone: str, month: str
) -> None:
    lines = month_lines(sample_ledger, zone, month).filter(pl.col("line") == "calls")
    expected = manifest["months"][zone][month]["by_endpoint"]
    found = dict(lines.select("endpoint", "N").iter_rows())
    assert found == {endpoint: line["calls"] for endpoint, line in expected.items()}


def _left_out(manifest: dict[str, Any], expected: dict[str, Any], endpoint: str) -> dict[str, int]:
    """What the endpoint's one call with impossible times counts, in the month that has it."""
    if expected[endpoint]["invalid_calls"]:
        found: dict[str, int] = manifest["totals"]["invalid"][endpoint]
        return found
    return {"calls": 0, "input_tokens": 0, "output_tokens": 0}

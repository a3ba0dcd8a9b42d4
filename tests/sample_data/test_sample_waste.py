"""Each question finds the very calls that the generator planted: none is missing, none too many."""

import gzip
import hashlib
import json
from collections.abc import Iterable
from typing import Any

import polars as pl
import pytest

from analysis.calls import calls
from analysis.duplicates import duplicate_calls, waiting_calls
from analysis.lengths import concentration
from analysis.loops import loops, loops_claims
from analysis.operations import operations
from analysis.prefix_cache import prefix_cache
from analysis.response_cache import response_cache, response_cache_claims
from analysis.retries import retries, retries_claims
from analysis.tool_repeats import tool_repeats
from analysis.ttl import DEFAULT_TTL_NS
from analysis.volatile_prefixes import volatile_prefixes, volatile_prefixes_claims
from analysis.window import Window
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.sample import sample_configuration_path, sample_waste_path

pytestmark = pytest.mark.xdist_group("sample")

CONFIGURATION = load_configuration(sample_configuration_path())
EXACT = 1e-9
ALWAYS = Window()


@pytest.fixture(scope="module")
def waste() -> dict[str, Any]:
    """The committed sets."""
    loaded: dict[str, Any] = json.loads(gzip.decompress(sample_waste_path().read_bytes()))
    return loaded


@pytest.fixture
def told(sample_ledger: Ledger) -> pl.DataFrame:
    """Every call with its id in the telemetry, of the client's span, and its GPU-seconds."""
    found: pl.DataFrame = sample_ledger.connection.sql(
        "select c.call_no, c.call_id, c.endpoint, case when s.name = 'llm_request' "
        "then s.parent_span_id else coalesce(c.span_id, c.call_id) end as told_id, "
        "sum(h.prefill_gpu_seconds + h.decode_gpu_seconds) as gpu_seconds from calls as c "
        "left join spans as s on c.trace_id = s.trace_id and c.span_id = s.span_id "
        "left join charges as h on c.call_no = h.call_no group by all"
    ).pl()
    return found


def spent(told: pl.DataFrame, ids: Iterable[str]) -> Any:
    """The GPU-seconds of the calls with these ids, which all exist."""
    wanted = list(ids)
    found = told.filter(pl.col("told_id").is_in(wanted))
    assert found.height == len(wanted)
    return pytest.approx(found["gpu_seconds"].sum(), rel=EXACT)


def groups_by_endpoint(marked: pl.DataFrame, told: pl.DataFrame) -> dict[str, set[frozenset[str]]]:
    """Endpoint to the groups of calls that an answer was there for."""
    found: dict[str, set[frozenset[str]]] = {}
    repeated = marked.filter("is_duplicate").join(told, on="call_no")
    for (_, endpoint), group in repeated.group_by("group_no", "endpoint"):
        found.setdefault(str(endpoint), set()).add(frozenset(group["told_id"]))
    return found


def planted_groups(sets: dict[str, list[list[str]]]) -> dict[str, set[frozenset[str]]]:
    return {owner: {frozenset(ids) for ids in groups} for owner, groups in sets.items()}


def test_the_manifest_pins_the_planted_sets(manifest: dict[str, Any]) -> None:
    pinned = manifest["waste"]["sha256_before_compression"]
    text = gzip.decompress(sample_waste_path().read_bytes())
    assert hashlib.sha256(text).hexdigest() == pinned


def test_the_planted_duplicates_are_found_call_by_call(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    marked = duplicate_calls(sample_ledger.connection, ALWAYS, None, DEFAULT_TTL_NS)
    assert groups_by_endpoint(marked, told) == planted_groups(waste["duplicates"])


def test_the_planted_calls_in_flight_are_found_call_by_call(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    marked = waiting_calls(sample_ledger.connection, ALWAYS, None)
    assert groups_by_endpoint(marked, told) == planted_groups(waste["in_flight"])


def test_a_cache_of_answers_claims_the_planted_calls_of_temperature_0(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    claims = response_cache_claims(sample_ledger, window=ALWAYS).join(told, on="call_no")
    planted = [
        call_id
        for endpoint in ("/extract", "/rag/answer")
        for ids in waste["duplicates"][endpoint]
        for call_id in ids
    ]
    assert sorted(claims["told_id"]) == sorted(planted)


def test_the_planted_attempts_in_vain_are_found_by_reason_with_what_they_cost(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    in_vain = retries_claims(sample_ledger, window=ALWAYS).join(told, on="call_no")
    assert set(in_vain["told_id"]) == {
        call_id
        for by_reason in waste["retries"].values()
        for ids in by_reason.values()
        for call_id in ids
    }
    found = {
        (row["endpoint"], row["reason"]): (row["attempt_count"], row["gpu_seconds"])
        for row in retries(sample_ledger, window=ALWAYS).frame.to_dicts()
    }
    planted = {
        (endpoint, reason): (len(ids), None if reason == "refused" else spent(told, ids))
        for endpoint, by_reason in waste["retries"].items()
        for reason, ids in by_reason.items()
    }
    assert found == planted


def test_the_planted_operations_of_several_attempts_are_found_and_no_other(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    in_vain = {
        call_id
        for by_reason in waste["retries"].values()
        for ids in by_reason.values()
        for call_id in ids
    }
    found = operations(sample_ledger, window=ALWAYS).frame.join(
        told.select(operation_id="call_id", first_id="told_id"), on="operation_id"
    )
    rows = found.select("first_id", "attempt_count", "failed_count").rows()
    assert sorted(rows) == sorted(
        (ids[0], len(ids), len(in_vain.intersection(ids))) for ids in waste["operations"]
    )


def test_the_planted_loops_are_found_with_the_calls_that_a_guard_would_stop(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    stopped = loops_claims(sample_ledger, window=ALWAYS).join(told, on="call_no")
    assert set(stopped["told_id"]) == {one for loop in waste["loops"] for one in loop["calls"]}
    found = {row["trace_id"]: row for row in loops(sample_ledger, window=ALWAYS).frame.to_dicts()}
    assert set(found) == {loop["trace_id"] for loop in waste["loops"]}
    for loop in waste["loops"]:
        row = found[loop["trace_id"]]
        assert (row["kind"], row["tool"]) == ("tool", loop["tool"])
        assert (row["run_count"], row["call_count"]) == (len(loop["runs"]), len(loop["calls"]))
        assert row["gpu_seconds"] == spent(told, loop["calls"])


@pytest.mark.parametrize(("kind", "planted"), [("retrieval", "retrievals"), ("tool", "tools")])
def test_the_planted_repeats_of_searches_and_tools_are_found_with_their_time(
    sample_ledger: Ledger, waste: dict[str, Any], kind: str, planted: str
) -> None:
    rows = tool_repeats(sample_ledger, window=ALWAYS, where={"kind": kind}).frame.to_dicts()
    found = {row["name"]: (row["repeat_count"], row["saved_s"]) for row in rows}
    assert found == {
        name: (sum(map(len, groups)), _span_seconds(sample_ledger, groups))
        for name, groups in waste[planted].items()
    }


def _span_seconds(ledger: Ledger, groups: list[list[str]]) -> Any:
    ids = [span_id for group in groups for span_id in group]
    ((count, seconds),) = ledger.connection.execute(
        "select count(*), sum(ended_at - started_at) / 1e9 from spans where span_id in "
        "(select unnest($1))",
        [ids],
    ).fetchall()
    assert count == len(ids)
    return pytest.approx(seconds, rel=EXACT)


def test_the_tail_of_each_endpoint_is_the_planted_calls(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    shares = concentration(sample_ledger, CONFIGURATION).frame
    ratios = dict(shares.select("endpoint", "top_1_ratio").iter_rows())
    assert {name for name, ratio in ratios.items() if ratio is not None} == set(waste["tails"])
    for endpoint, ids in waste["tails"].items():
        where, total = {"endpoint": endpoint}, told.filter(pl.col("endpoint") == endpoint)
        dearest = calls(sample_ledger, CONFIGURATION, window=ALWAYS, where=where,
                        order="gpu_seconds", limit=len(ids)).frame  # fmt: skip
        assert set(dearest.join(told, on="call_id")["told_id"]) == set(ids)
        assert ratios[endpoint] * total["gpu_seconds"].sum() == spent(told, ids)


def test_prompts_share_no_block_once_they_begin_with_the_time(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    (volatile,) = manifest["volatile_prefixes"]
    where = {"endpoint": volatile["endpoint"]}
    hits = {}
    for name, since, until in (
        ("before", None, volatile["since"]),
        ("after", volatile["since"], None),
    ):
        window = Window.parse(since, until, "Asia/Tokyo")
        frame = prefix_cache(sample_ledger, CONFIGURATION, window=window, where=where).frame
        whole = frame.filter(pl.col("reach") == "pool", pl.col("capacity_tokens").is_null())
        hits[name] = whole["block_hit_ratio"].item()
    assert hits["before"] > 0.99
    assert hits["after"] == 0.0


def test_the_planted_calls_behind_a_volatile_prefix_are_found_and_no_other(
    sample_ledger: Ledger, waste: dict[str, Any], told: pl.DataFrame
) -> None:
    claims = volatile_prefixes_claims(sample_ledger, window=ALWAYS, configuration=CONFIGURATION)
    claimed = claims.join(told, on="call_no")
    assert set(claimed["endpoint"]) == set(waste["volatile_prefixes"]) == {"/rag/answer"}
    assert sorted(claimed["told_id"]) == sorted(waste["volatile_prefixes"]["/rag/answer"])


def test_volatile_prefixes_are_found_where_and_since_they_were_planted(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    planted = manifest["volatile_prefixes"]
    rows = volatile_prefixes(sample_ledger, CONFIGURATION).frame.to_dicts()
    assert {(row["endpoint"], row["kind"]) for row in rows} == {
        (one["endpoint"], one["kind"]) for one in planted
    }
    # Three tokens of the chat format stand before the first of the text.
    assert {row["first_token"] for row in rows} == {one["position"] + 3 for one in planted}
    before = Window.parse(None, min(one["since"] for one in planted), "Asia/Tokyo")
    assert volatile_prefixes(sample_ledger, CONFIGURATION, window=before).frame.is_empty()


def test_thirty_percent_hits_are_eleven_percent_of_the_pools_gpu_seconds(
    sample_ledger: Ledger, manifest: dict[str, Any]
) -> None:
    case = manifest["hit_rate_case"]
    frame = response_cache(
        sample_ledger,
        CONFIGURATION,
        by=("pool",),
        window=Window.month(case["month"], "Asia/Tokyo"),
        ttl_ns=case["ttl_s"] * 1_000_000_000,
    ).frame
    (row,) = frame.filter(pl.col("pool") == case["pool"]).to_dicts()
    assert (row["call_count"], row["hit_count"]) == (case["calls"], case["hits"])
    for name in ("hit_ratio", "gpu_seconds", "saved_gpu_seconds", "saved_ratio"):
        assert row[name] == pytest.approx(case[name], rel=EXACT)
    assert round(row["hit_ratio"], 3) == 0.299
    assert round(row["saved_ratio"], 3) == 0.111
    assert row["saved_cost_ratio"] == pytest.approx(row["saved_ratio"], abs=1e-6)

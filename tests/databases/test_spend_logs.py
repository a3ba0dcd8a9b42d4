"""LiteLLM's spend logs come out of a real PostgreSQL as calls."""

import json
import sqlite3
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from ingest.config import Configuration
from ingest.databases.address import Address
from ingest.databases.errors import DatabaseSourceError
from ingest.databases.opening import snapshot
from ingest.deliver import deliver_paths
from ingest.readers.mapping_file import load_mapping

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

AT = 1_790_812_800_000_000_000
"""2026-10-01T00:00:00Z."""
S = 1_000_000_000


def test_a_streamed_call_has_its_first_token_its_cost_and_who_pays(logs: Any, door: Any) -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 50},
    }
    logs.insert(
        "chatcmpl-1",
        "00:00:10",
        completionStartTime="2026-10-01 00:00:11.25",
        metadata={"usage_object": usage, "user_api_key_team_alias": "search"},
        end_user="customer-7",
        session_id="s-1",
        team_id="t-1",
    )
    assert door.deliver(logs.url) == (1, 1, 0, 0)
    assert door.calls("arrived_at, first_token_at, ended_at, timing_source, timing_quality") == [
        (AT + 10 * S, AT + 11 * S + 250_000_000, AT + 59 * S + 500_000_000, "stream", "ok")
    ]
    assert door.calls(
        "uncached_input_tokens, cache_read_tokens, visible_output_tokens, reasoning_tokens, "
        "reported_cost, reported_currency",
    ) == [(400, 600, 150, 50, Decimal("0.0125"), "USD")]
    assert door.calls("team, user_id, conversation_id, model, model_requested, provider") == [
        ("search", "customer-7", "s-1", "gpt-4o", "chat", "openai")
    ]


def test_an_answer_in_one_piece_has_no_first_token(logs: Any, door: Any) -> None:
    logs.insert("a", "00:00:10", completionStartTime="2026-10-01 00:00:59.5")
    door.deliver(logs.url)
    assert door.calls("first_token_at, timing_source") == [(None, "span")]


def test_an_answer_of_the_gateways_cache_costs_nothing_and_uses_no_gpu(
    logs: Any, door: Any
) -> None:
    logs.insert("a_cache_hit1", "00:00:10", cache_hit="True", spend=0.0, model="llama")
    door.deliver(logs.url)
    assert door.calls(
        "input_tokens, output_tokens, reported_input_tokens, reported_cost, ended_at"
    ) == [(0, 0, 1000, Decimal(0), None)]
    costs = door.ledger.connection.sql(
        "select token_cost, price_source from token_charges"
    ).fetchall()
    assert costs == [(Decimal(0), "cache")]


def test_an_answer_of_the_cache_is_known_by_its_id_too(logs: Any, door: Any) -> None:
    logs.insert("a_cache_hit1790812800.5", "00:00:10", cache_hit="None", spend=0.0)
    door.deliver(logs.url)
    assert door.calls("input_tokens, output_tokens, reported_cost") == [(0, 0, Decimal(0))]


def test_the_alias_of_a_key_is_the_service_and_makes_the_endpoint(logs: Any, door: Any) -> None:
    logs.insert("a", "00:00:10", metadata={"user_api_key_alias": "shop"})
    logs.insert("b", "00:00:20", call_type="aembedding", metadata={"user_api_key_alias": "shop"})
    door.deliver(logs.url)
    assert door.calls("service, endpoint, endpoint_source") == [
        ("shop", "shop chat", "service"),
        ("shop", "shop embeddings", "service"),
    ]


def test_the_connection_can_only_read(logs: Any) -> None:
    with snapshot(Address(logs.url)) as now, pytest.raises(DatabaseSourceError) as refused:
        now.all(sa.text('delete from "LiteLLM_SpendLogs"'))
    assert "cannot execute DELETE in a read-only transaction" in str(refused.value)


def test_an_older_table_with_fewer_columns_is_read(door: Any, tmp_path: Any) -> None:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(
            'create table "LiteLLM_SpendLogs" (request_id text primary key, call_type text, '
            "spend float, total_tokens int, prompt_tokens int, completion_tokens int, "
            '"startTime" timestamp, "endTime" timestamp, model text, metadata json)'
        )
        connection.execute(
            "insert into \"LiteLLM_SpendLogs\" values ('a', 'completion', 0.25, 30, 10, 20, "
            "'2026-10-01 00:00:10', '2026-10-01 00:00:12.5', 'gpt-4o', "
            '\'{"user_api_key_team_alias": "search"}\')'
        )
    connection.close()
    assert door.deliver(f"sqlite:///{path}") == (1, 1, 0, 0)
    assert door.calls("ended_at - arrived_at, input_tokens, reported_cost, team") == [
        (2_500_000_000, 10, Decimal("0.25"), "search")
    ]


def test_a_failure_is_kept_with_what_it_says_and_without_tokens_of_zero(
    logs: Any, door: Any
) -> None:
    error = {"error_class": "RateLimitError", "error_code": "429"}
    logs.insert(
        "f",
        "00:00:10",
        spend=0.0,
        prompt_tokens=0,
        completion_tokens=0,
        status="failure",
        metadata={"status": "failure", "error_information": error},
    )
    door.deliver(logs.url)
    assert door.calls("status, error_type, http_status, input_tokens, reported_cost") == [
        ("error", "RateLimitError", 429, None, None)
    ]


def test_a_table_and_its_export_as_a_file_are_the_same_calls(
    logs: Any, door: Any, tmp_path: Any
) -> None:
    rows = [logs.row("a", "00:00:10"), logs.row("b", "00:00:20", metadata={"k": 1})]
    logs.insert_all(*rows)
    exported = tmp_path / "logs.jsonl"
    exported.write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert door.deliver(logs.url) == (2, 2, 0, 0)
    [again] = deliver_paths(door.ledger, [str(exported)], Configuration())
    assert (again.counts.read, again.counts.new, again.counts.conflict) == (2, 0, 0)


def test_the_mapping_may_say_who_pays_from_the_metadata(
    logs: Any, door: Any, tmp_path: Any
) -> None:
    path = tmp_path / "m.toml"
    path.write_text(
        '[columns]\nendpoint = "metadata.spend_logs_metadata.route"\nservice = "user"\n'
    )
    metadata = {"spend_logs_metadata": {"route": "/summaries"}}
    logs.insert("a", "00:00:10", metadata=metadata, user="svc")
    door.deliver(logs.url, mapping=load_mapping(path))
    assert door.calls("endpoint, endpoint_source, service") == [("/summaries", "map", "svc")]

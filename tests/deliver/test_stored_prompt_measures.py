"""The measures of prompts have a table of their own, by call, until they are purged."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson

from ingest.config import Configuration
from ingest.deliver import deliver, deliver_paths
from ingest.export import write_native
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.prompt_measures import PromptMeasures
from ingest.purge.removal import purge_ledger
from ingest.records import Call, Span

MakeReader = Callable[..., Any]
S = 1_000_000_000
T0 = 1_800_000_000 * S
PASSAGE = "Meters are read twice before the deposit is returned, which takes six weeks at most."
ASKED = [
    {"role": "user", "content": f"<context>{PASSAGE}\n\n{PASSAGE}</context>When is it returned?"}
]
MEASURES = "select * exclude (call_id) from call_prompts order by call_id"
HASH = Configuration()


def chat(trace: int, **fields: Any) -> Span:
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 60,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.input.messages": orjson.dumps(ASKED).decode(),
        "user.id": f"user-{trace}",
        **fields,
    }
    return Span(
        trace_id=f"{trace:032x}",
        span_id=f"{trace:016x}",
        name="chat",
        kind="client",
        started_at=T0,
        ended_at=T0 + 10 * S,
        service="shop",
        attributes={name: value for name, value in said.items() if value is not None},
    )


def engine(trace: int) -> Span:
    """What an engine tells of the same call in a trace of its own: no text."""
    told = chat(trace, **{"gen_ai.input.messages": None, "gen_ai.request.model": None})
    times = {"gen_ai.latency.time_to_first_token": 2.0, "gen_ai.latency.e2e": 8.0}
    attributes = {**told.attributes, **times}
    return replace(
        told,
        name="llm_request",
        kind="server",
        started_at=T0 + S,
        ended_at=T0 + 9 * S,
        service="vllm",
        scope="vllm",
        attributes=attributes,
    )


def rows(ledger: Ledger, text: str = MEASURES) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(text).fetchall()


def taken(ledger: Ledger, source: Source, reader: Any, terms: Configuration = HASH) -> None:
    deliver(ledger, source, reader, terms)


def test_a_call_has_its_chunks_with_their_sums(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    taken(ledger, source, reader_of(spans=[chat(1)]))
    text = """
        select user_turns, chunk_tokens, chunked_tokens, duplicate_tokens, untouched_tokens
        from call_prompts
    """
    assert rows(ledger, text) == [(1, [17, 17], 34, 17, None)]
    assert rows(ledger, "select count(*) from contents") == [(0,)]


def test_content_off_leaves_the_table_empty_also_of_what_a_record_tells(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    record = Call(
        identity="a", timing_source="tokens", prompt_measures=PromptMeasures(user_turns=1)
    )
    batch = reader_of(spans=[chat(1)], calls=[record])
    taken(ledger, source, batch, Configuration(content="off"))
    assert rows(ledger, "select count(*) from calls") == [(2,)]
    assert rows(ledger) == []


def test_of_two_versions_of_a_record_the_one_that_is_measured_stays_whatever_came_first(
    source: Source, reader_of: MakeReader
) -> None:
    bare = Call(identity="a", timing_source="tokens", uncached_input_tokens=60)
    measured = replace(bare, prompt_measures=PromptMeasures(user_turns=3))
    for order in permutations([bare, measured, bare]):
        with open_for_writing(None) as ledger:
            for call in order:
                taken(ledger, source, reader_of(calls=[call]))
            assert rows(ledger, "select user_turns from call_prompts") == [(3,)]


def test_a_call_that_two_traces_tell_has_the_measures_of_the_view_with_the_text(
    source: Source, reader_of: MakeReader
) -> None:
    client = chat(1, **{"gen_ai.response.id": "r1"})
    served = engine(2)
    served = replace(served, attributes={**served.attributes, "gen_ai.response.id": "r1"})
    for order in permutations([client, served]):
        with open_for_writing(None) as ledger:
            for span in order:
                taken(ledger, source, reader_of(spans=[span]))
            joined = "select duplicate_tokens from call_prompts join calls using (call_id)"
            assert rows(ledger, "select count(*) from calls") == [(1,)]
            assert rows(ledger, joined) == [(17,)]


def test_delivering_again_changes_nothing(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    taken(ledger, source, reader_of(spans=[chat(1), chat(2)]))
    before = rows(ledger, "select * from prompt_measures order by call_id")
    for spans in ([chat(2)], [chat(1), chat(2)]):
        taken(ledger, source, reader_of(spans=spans))
    assert rows(ledger, "select * from prompt_measures order by call_id") == before


def test_a_call_that_is_told_anew_has_the_new_measures(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    taken(ledger, source, reader_of(spans=[chat(1)]))
    asked = orjson.dumps([{"role": "user", "content": "Hello"}]).decode()
    fuller = chat(1, **{"gen_ai.input.messages": asked, "gen_ai.request.max_tokens": 5})
    taken(ledger, source, reader_of(spans=[fuller]))
    assert rows(ledger, "select user_turns, chunked_tokens from call_prompts") == [(1, 0)]


def test_measures_survive_the_export(
    ledger: Ledger, source: Source, reader_of: MakeReader, tmp_path: Path
) -> None:
    said = orjson.dumps(
        [{"role": "assistant", "content": "Read meters twice, deposit, weeks, keys, holes, flat."}]
    ).decode()
    taken(ledger, source, reader_of(spans=[chat(1), chat(2, **{"gen_ai.output.messages": said})]))
    out = BytesIO()
    write_native(ledger.connection, out)
    (tmp_path / "calls.jsonl").write_bytes(out.getvalue())
    with open_for_writing(None) as second:
        deliver_paths(second, [str(tmp_path / "calls.jsonl")], HASH)
        assert rows(second, "select * from call_prompts order by call_id") == rows(
            ledger, "select * from call_prompts order by call_id"
        )
        digests = "select call_id, digest, fullness from call_rows order by call_id"
        assert rows(second, digests) == rows(ledger, digests)


def test_measures_that_cannot_be_are_rejected(ledger: Ledger, tmp_path: Path) -> None:
    given = {"call_id": "a", "started_at": T0, "prompt_measures": {"chunk_hashes": [1]}}
    (tmp_path / "calls.jsonl").write_bytes(orjson.dumps(given))
    (result,) = deliver_paths(ledger, [str(tmp_path / "calls.jsonl")], HASH)
    assert result.counts is not None
    assert result.counts.rejected == 1
    assert "same chunks" in result.reject_reasons[0].reason


def test_a_purge_takes_the_measures_of_a_user_also_from_a_view(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    client = chat(1, **{"gen_ai.response.id": "r1"})
    served = engine(2)
    served = replace(served, attributes={**served.attributes, "gen_ai.response.id": "r1"})
    full = Configuration(content="full")
    taken(ledger, source, reader_of(spans=[client, served, chat(3)]), full)
    purge_ledger(ledger.connection, {}, users=["user-1"], configuration=full)
    for table in ("prompt_measures", "contents"):
        assert rows(ledger, f"select count(*) from {table}") == [(1,)]


def test_measures_go_with_the_identities_of_old_calls(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    later = replace(chat(2), started_at=T0 + 100 * S, ended_at=T0 + 110 * S)
    taken(ledger, source, reader_of(spans=[chat(1), later]))
    removed = purge_ledger(ledger.connection, {"calls": T0 + 50 * S}, configuration=HASH)
    assert {each.table: each.rows for each in removed if each.rows} == {
        "calls": 1,
        "prompt_measures": 1,
    }
    assert rows(ledger, "select count(*) from prompt_measures") == [(1,)]

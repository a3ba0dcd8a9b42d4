"""The measures of answers are columns of the call, whatever came first, until it is purged."""

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
from ingest.purge.removal import purge_ledger
from ingest.records import Call, Span

MakeReader = Callable[..., Any]
S = 1_000_000_000
T0 = 1_800_000_000 * S
ANSWER = "The deposit is returned in May. Please ask us if you have questions."
HASH = Configuration()
COLUMNS = (
    "select answer_shape, answer_tokens, sentence_hashes, sentence_lengths, restated_tokens "
    "from calls order by call_id"
)


def chat(trace: int, **fields: Any) -> Span:
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.id": f"r{trace}",
        "gen_ai.usage.input_tokens": 60,
        "gen_ai.usage.output_tokens": 15,
        "gen_ai.input.messages": orjson.dumps([{"role": "user", "content": "When?"}]).decode(),
        "gen_ai.output.messages": orjson.dumps([{"role": "assistant", "content": ANSWER}]).decode(),
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


def engine(trace: int, response: str) -> Span:
    """What an engine tells of a call in a trace of its own: no text."""
    texts = dict.fromkeys(("gen_ai.input.messages", "gen_ai.output.messages"))
    told = chat(trace, **texts, **{"gen_ai.request.model": None, "gen_ai.response.id": response})
    times = {"gen_ai.latency.time_to_first_token": 2.0, "gen_ai.latency.e2e": 8.0}
    return replace(
        told,
        name="llm_request",
        kind="server",
        started_at=T0 + S,
        ended_at=T0 + 9 * S,
        service="vllm",
        scope="vllm",
        attributes={**told.attributes, **times},
    )


def rows(ledger: Ledger, text: str = COLUMNS) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(text).fetchall()


def test_a_call_has_the_measures_of_its_answer_and_no_text(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    deliver(ledger, source, reader_of(spans=[chat(1)]), HASH)
    ((shape, tokens, hashes, lengths, restated),) = rows(ledger)
    assert (shape, tokens, lengths, restated) == ("prose", 15, [7, 8], 0)
    assert len(set(hashes)) == 2
    assert ANSWER[:20] not in str(rows(ledger, "select * from spans"))


def test_a_call_that_two_traces_tell_has_the_measures_of_the_view_with_the_text(
    source: Source, reader_of: MakeReader
) -> None:
    found = []
    for order in permutations([chat(1), engine(2, "r1")]):
        with open_for_writing(None) as ledger:
            for span in order:
                deliver(ledger, source, reader_of(spans=[span]), HASH)
            found.append(rows(ledger))
    assert found[0] == found[1]
    assert [row[:2] for row in found[0]] == [("prose", 15)]


def test_an_exported_ledger_has_the_same_measures_when_it_is_ingested_again(
    ledger: Ledger, source: Source, reader_of: MakeReader, tmp_path: Path
) -> None:
    deliver(ledger, source, reader_of(spans=[chat(1), chat(2)]), HASH)
    out = BytesIO()
    write_native(ledger.connection, out)
    path = tmp_path / "calls.jsonl"
    path.write_bytes(out.getvalue())
    with open_for_writing(None) as other:
        deliver_paths(other, [str(path)], HASH)
        assert rows(other) == rows(ledger)
    with open_for_writing(None) as other:
        deliver_paths(other, [str(path)], Configuration(content="off"))
        assert rows(other) == [(None,) * 5] * 2


def test_what_is_purged_keeps_its_counts_and_loses_its_hashes(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    deliver(ledger, source, reader_of(spans=[chat(1), chat(2)]), HASH)
    purge_ledger(ledger.connection, {}, users=["user-1"], configuration=HASH)
    text = "select sentence_hashes is null, answer_tokens from calls order by call_id"
    assert sorted(rows(ledger, text)) == [(False, 15), (True, 15)]
    purge_ledger(ledger.connection, {"calls": T0 + 100 * S}, configuration=HASH)
    assert rows(ledger, text) == [(True, 15), (True, 15)]


def test_a_record_and_its_answer_are_measured_at_the_door(
    ledger: Ledger, source: Source, reader_of: MakeReader
) -> None:
    record = Call(identity="a", timing_source="tokens", model="gpt-4o", completion='{"a": "b"}')
    deliver(ledger, source, reader_of(calls=[record]), HASH)
    assert [row[:2] for row in rows(ledger)] == [("json", 6)]

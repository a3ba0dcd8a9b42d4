"""Any file of records becomes calls through a mapping, the same calls from each form."""

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.files import RefusedSourceError, Source
from ingest.ledger import open_for_writing
from ingest.readers import recognise, table_rows
from ingest.readers.mapped_files import MappedFile
from ingest.readers.mapping_file import RowMapping, mapping_of
from ingest.records import Call, Reject

AT = 1790841600 * 10**9
ROWS: list[dict[str, Any]] = [
    {"id": "a", "sent": "2026-10-01T08:00:00.5Z", "took": 1500, "llm": "gpt-x", "tin": 100},
    {"id": "b", "sent": "2026-10-01T08:00:01Z", "took": None, "llm": "gpt-y", "tin": 7},
]
MAPPING = {
    "table": {"identity": "id"},
    "columns": {
        "arrived_at": "sent",
        "duration_s": {"column": "took", "unit": "ms"},
        "model": "llm",
        "input_tokens": "tin",
    },
}


def mapping(**changed: Any) -> RowMapping:
    return mapping_of({**MAPPING, **changed}, "mapping.toml")


def as_csv(rows: list[dict[str, Any]], separator: str = ",") -> bytes:
    lines = [rows[0].keys(), *(["" if v is None else str(v) for v in r.values()] for r in rows)]
    return "\n".join(separator.join(line) for line in lines).encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read(source: Source, given: RowMapping) -> tuple[list[Call], list[Reject]]:
    batches = list(MappedFile(given).read(source))
    return [call for b in batches for call in b.calls], [r for b in batches for r in b.rejects]


FORMS = {
    "csv": as_csv(ROWS),
    "semicolons": as_csv(ROWS, ";"),
    "json lines": "\n".join(map(json.dumps, ROWS)).encode(),
    "json": json.dumps(ROWS, indent=1).encode(),
    "json with a byte order mark": b"\xef\xbb\xbf" + json.dumps(ROWS, indent=1).encode(),
    "csv below blank lines": b"\n\n" + as_csv(ROWS),
    "parquet": as_parquet(ROWS),
    "parquet in gzip": gzip.compress(as_parquet(ROWS)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_the_same_calls(source_of, form: str) -> None:
    (first, second), rejects = read(source_of(FORMS[form]), mapping())
    assert rejects == []
    assert first == Call(
        identity='table:rows:["a"]',
        timing_source="span",
        model="gpt-x",
        arrived_at=AT + 500_000_000,
        ended_at=AT + 2_000_000_000,
        uncached_input_tokens=100,
        reported_input_tokens=100,
        tokens_note="no usage reported: output tokens are unknown",
    )
    assert (second.identity, second.ended_at) == ('table:rows:["b"]', None)


def test_a_row_without_a_named_identity_is_known_by_what_it_says(source_of) -> None:
    rows = [ROWS[0], ROWS[0], ROWS[1]]
    calls, _ = read(source_of(as_csv(rows)), mapping(table={}))
    again, _ = read(source_of(as_csv(rows)), mapping(table={}))
    assert len({call.identity for call in calls}) == 3
    assert [call.identity for call in calls] == [call.identity for call in again]


def test_instants_decimals_and_nanoseconds_of_parquet_are_exact(source_of) -> None:
    table = pa.table(
        {
            "t": pa.array([AT + 7, None], pa.timestamp("ns", "UTC")),
            "e": pa.array([datetime(2026, 10, 1, 8, 0, 1, tzinfo=UTC)] * 2),
            "usd": pa.array([Decimal("0.0045"), None]),
        }
    )
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    columns = {"arrived_at": "t", "ended_at": "e", "reported_cost": "usd"}
    content = sink.getvalue().to_pybytes()
    (first, second), _ = read(source_of(content), mapping(table={}, columns=columns))
    assert (first.arrived_at, first.ended_at) == (AT + 7, AT + 10**9)
    assert (first.reported_cost, second.arrived_at) == (Decimal("0.0045"), None)


def test_a_bad_row_is_rejected_where_it_stands(source_of) -> None:
    rows = [{**ROWS[0], "tin": "many"}, {**ROWS[0], "id": None}, ROWS[1]]
    for content, positions in (
        (as_csv(rows), ["line 2", "line 3"]),
        ("\n".join(map(json.dumps, rows)).encode(), ["line 1", "line 2"]),
    ):
        calls, rejects = read(source_of(content), mapping())
        assert [call.identity for call in calls] == ['table:rows:["b"]']
        assert [reject.position for reject in rejects] == positions
        assert rejects[0].reason == "input_tokens (tin) 'many' is no number"
        assert rejects[1].reason == "id is null, so the row cannot be told from others"


def test_a_row_of_parquet_is_rejected_by_its_number(source_of) -> None:
    rows = [{**ROWS[0], "tin": "7"}, {**ROWS[0], "tin": "many"}]
    calls, rejects = read(source_of(as_parquet(rows)), mapping())
    assert (len(calls), [reject.position for reject in rejects]) == (1, ["row 2"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"id,sent,took,llms,tin\n",
            "it has no column 'llm', which the mapping names; did you mean 'llms'?",
        ),
        (b'{"zebra": 1}\n', "it has no column 'id', which the mapping names; known: zebra"),
        (b"PAR1 and nothing else", "a damaged Parquet file"),
    ],
)
def test_a_file_of_other_columns_is_refused(source_of, content: bytes, said: str) -> None:
    with pytest.raises(RefusedSourceError) as refused:
        read(source_of(content), mapping())
    assert refused.value.found.startswith(said)


def test_records_of_json_may_lack_a_column(source_of) -> None:
    (call,), _ = read(source_of(b'{"id": "a", "tin": 5}'), mapping())
    assert (call.uncached_input_tokens, call.arrived_at) == (5, None)


def test_a_parquet_file_without_a_mapping_is_named(source_of) -> None:
    with pytest.raises(RefusedSourceError, match="a Parquet file; --map FILE says which"):
        recognise(source_of(as_parquet([{"zebra": 1}])))


def test_a_large_parquet_file_is_read_batch_by_batch(
    source_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "_BATCH_ROWS", 2)
    rows = [{**ROWS[0], "id": str(number)} for number in range(5)]
    calls, _ = read(source_of(as_parquet(rows)), mapping())
    assert [call.identity for call in calls] == [f'table:rows:["{n}"]' for n in range(5)]


def test_the_rows_of_a_file_are_in_the_ledger_once(tmp_path: Path) -> None:
    for name in ("csv", "json lines"):
        (tmp_path / name).write_bytes(FORMS[name])
    paths = [str(tmp_path / "csv"), str(tmp_path / "json lines")]
    with open_for_writing(tmp_path / "ledger.duckdb") as ledger:
        results = deliver_paths(ledger, paths, Configuration(), mapping=mapping())
        rows = ledger.connection.execute(
            "select model, input_tokens from calls order by model"
        ).fetchall()
    counts = [(result.format_name, result.counts) for result in results]
    told = [(name, c.read, c.new, c.duplicate, c.rejected) for name, c in counts if c is not None]
    assert told == [("mapped", 2, 2, 0, 0), ("mapped", 2, 0, 2, 0)]
    assert rows == [("gpt-x", 100), ("gpt-y", 7)]


def test_a_bad_row_below_blank_lines_is_named_by_its_own_line(source_of) -> None:
    _, (reject,) = read(source_of(b"\n\n" + as_csv(ROWS) + b"\nc,d\n"), mapping())
    assert (reject.position, reject.reason) == ("line 6", "2 cells in a row, 5 in the header")

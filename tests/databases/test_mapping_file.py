"""A mapping file says which column is what, and is told what it cannot mean."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from ingest.errors import ConfigurationError
from ingest.readers.mapped_rows import call_of_row, identity_of_row
from ingest.readers.mapping_file import RowMapping, lag_of, load_mapping
from ingest.readers.rejection import RecordError

AT = 1_790_000_000_000_000_000
"""2026-09-21T14:13:20Z."""


def mapping(folder: Path, text: str) -> RowMapping:
    path = folder / "mapping.toml"
    path.write_text(text, "utf-8")
    return load_mapping(path)


FULL = """
[table]
name = "public.requests"
identity = "id"
watermark = "created"
lag = "90 min"
timezone = "Asia/Tokyo"

[columns]
arrived_at = { column = "created", unit = "ms" }
ttft_s = { column = "ttft_ms", unit = "ms" }
duration_s = "took"
model = "meta.model"
status = { column = "state", values = { done = "ok", failed = "error" } }
input_tokens = "tin"
output_tokens = "tout"
cache_read_tokens = "cached"
reported_cost = "usd"
provider = { value = "local" }
stream = "streamed"
"""


def test_a_row_becomes_the_call_that_the_mapping_says(tmp_path: Path) -> None:
    given = mapping(tmp_path, FULL)
    row = {
        "id": 7,
        "created": AT // 1_000_000,
        "ttft_ms": Decimal("250.5"),
        "took": 2.25,
        "meta": '{"model": "llama"}',
        "state": "done",
        "tin": 100,
        "tout": "20",
        "cached": 60,
        "usd": Decimal("0.0125"),
        "streamed": 1,
    }
    call = call_of_row(row, given, identity_of_row(row, given, "requests"))
    assert call.identity == 'table:requests:["7"]'
    assert (call.arrived_at, call.first_token_at, call.ended_at) == (
        AT,
        AT + 250_500_000,
        AT + 2_250_000_000,
    )
    assert call.timing_source == "stream"
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (40, 60)
    assert call.visible_output_tokens == 20
    assert (call.model, call.provider, call.status) == ("llama", "local", "ok")
    assert call.reported_cost == Decimal("0.0125")
    assert call.stream is True
    assert lag_of(given.table) == timedelta(minutes=90)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 9, 21, 23, 13, 20),  # noqa: DTZ001 - what a column without a zone gives
        datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC),
        "2026-09-21 23:13:20",
        "2026-09-21T14:13:20Z",
    ],
)
def test_a_time_without_a_zone_is_in_the_declared_one(tmp_path: Path, value: object) -> None:
    given = mapping(
        tmp_path, '[table]\ntimezone = "Asia/Tokyo"\n[columns]\narrived_at = "created"\n'
    )
    assert call_of_row({"created": value}, given, "x").arrived_at == AT


def test_a_duration_before_an_end_tells_the_arrival(tmp_path: Path) -> None:
    given = mapping(
        tmp_path,
        '[columns]\nended_at = "done"\nduration_s = { column = "us", unit = "us" }\n',
    )
    call = call_of_row({"done": "2026-09-21T14:13:20Z", "us": 1500}, given, "x")
    assert (call.arrived_at, call.ended_at) == (AT - 1_500_000, AT)


def test_absent_values_stay_unknown(tmp_path: Path) -> None:
    given = mapping(
        tmp_path, '[columns]\narrived_at = "t"\ninput_tokens = "tin"\nreported_cost = "usd"\n'
    )
    call = call_of_row({"t": "2026-09-21T14:13:20Z", "tin": None, "usd": ""}, given, "x")
    assert call.uncached_input_tokens is None
    assert call.reported_cost is None
    assert call.tokens_source == "unknown"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"t": 1_790_000_000}, r"arrived_at \(t\) 1790000000 is a number; say its unit"),
        ({"t": "yesterday"}, r"arrived_at \(t\): 'yesterday' is no instant"),
        ({"tin": "many"}, r"input_tokens \(tin\) 'many' is no number"),
        ({"tin": -1}, "input_tokens -1 is below 0"),
        ({"tin": Decimal("1e400")}, "is beyond what is counted"),
        ({"state": "odd"}, "state 'odd' is none of the values that the mapping names: done"),
    ],
)
def test_a_row_that_cannot_be_read_says_which_column_and_why(
    tmp_path: Path, row: dict[str, object], reason: str
) -> None:
    given = mapping(
        tmp_path,
        '[columns]\narrived_at = "t"\ninput_tokens = "tin"\n'
        'status = { column = "state", values = { done = "ok" } }\n',
    )
    with pytest.raises(RecordError, match=reason):
        call_of_row(row, given, "x")


def test_a_row_without_its_identity_is_told_from_no_other(tmp_path: Path) -> None:
    given = mapping(tmp_path, '[table]\nidentity = ["tenant", "id"]\n')
    with pytest.raises(RecordError, match="id is null"):
        identity_of_row({"tenant": "a", "id": None}, given, "t")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[tabel]\nname = "t"\n', "unknown key 'tabel'; did you mean 'table'"),
        (
            '[table]\nwatermrk = "t"\n',
            "did you mean 'watermark'",
        ),
        ('[columns]\nmodle = "m"\n', r"\[columns\] cannot fill 'modle'; did you mean 'model'"),
        ("[columns]\nmodel = 3\n", "model must be the name of a column in quotes"),
        ('[columns]\narrived_at = { column = "t", unit = "min" }\n', "unit is 'min'; it must be"),
        ('[columns]\nmodel = { column = "t", unit = "ms" }\n', "model is no time"),
        ('[columns]\nmodel = { column = "t", value = "x" }\n', "either a column or a value"),
        ('[columns]\nduration_s = "t"\n', "a duration needs an instant"),
        ('[columns]\ncall_id = "t"\n', r"cannot fill 'call_id'"),
        ('[table]\nlag = "soon"\n', r"lag is 'soon'; write a number with s, min, h or d"),
        ('[table]\ntimezone = "Asia/Tokio"\n', "timezone 'Asia/Tokio' is unknown"),
        ("[table]\nname = 3\n", "name is 3; it must be a text in quotes"),
        ('table = "t"\n', r"table must be a table, under \[table\]"),
    ],
)
def test_a_mapping_that_means_nothing_says_what_to_change(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        mapping(tmp_path, text)

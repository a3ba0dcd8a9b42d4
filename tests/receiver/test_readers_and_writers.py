"""Questions, reports, a dashboard, a receiver and ingests at one ledger, each in its process."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import httpx
import orjson
import pytest
import streamlit as st

from analysis.window import Window
from dashboard.answers import calls_count
from dashboard.server import LEDGER_VARIABLE
from dashboard.source import current_source
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import open_for_reading
from ingest.turn import turn_path

Run = Callable[..., CompletedProcess[str]]
LEDGER = "gpuledger.duckdb"
SECOND_NS = 10**9
BEGIN_NS = 1_790_000_000 * SECOND_NS
CALLS = 1_500
WAIT_S = 300.0

IN_SMALL_PARTS = """
from ingest import hold
hold.PART_RECORDS = 60
from gpuledger.main import main
main()
"""


def lines(numbers: range) -> str:
    """A call a second, each of two seconds, as the native format writes it."""
    told = (
        {
            "call_id": f"c{number}",
            "endpoint": "/ask",
            "model": "m",
            "replica": f"r{number % 3}",
            "started_at": BEGIN_NS + number * SECOND_NS,
            "first_token_at": BEGIN_NS + number * SECOND_NS + SECOND_NS // 2,
            "ended_at": BEGIN_NS + (number + 2) * SECOND_NS,
            "input_tokens": 100 + number,
            "output_tokens": 9,
        }
        for number in numbers
    )
    return "".join(orjson.dumps(call).decode() + "\n" for call in told)


@pytest.fixture
def ingest(tmp_path: Path) -> Iterator[Callable[[str], "subprocess.Popen[bytes]"]]:
    """Starts an ingest of a file in many parts; it ends with the test."""
    with ExitStack() as stack:

        def started(name: str) -> "subprocess.Popen[bytes]":
            command = [sys.executable, "-c", IN_SMALL_PARTS, "ingest", name]
            process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def content(path: Path) -> list[list[tuple[Any, ...]]]:
    """What the ledger tells, without the numbers that its deliveries and calls were given."""
    with open_current(path, Configuration()) as ledger:
        return [
            ledger.connection.execute(f"select {columns} from {source} order by all").fetchall()
            for source, columns in (
                ("calls", "* exclude (call_no, cohort_id, delivery_id)"),
                (
                    "charges inner join call_rows using (call_no)",
                    "call_id, quarter, round(prefill_gpu_seconds, 9), round(decode_gpu_seconds, 9)",
                ),
            )
        ]


def count_in(path: Path) -> int:
    with open_for_reading(path) as ledger:
        [(count,)] = ledger.connection.execute("select count(*) from call_rows").fetchall()
    return int(count)


def wait_for_calls(path: Path, count: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while not path.exists() or count_in(path) < count:
        assert time.monotonic() < deadline
        time.sleep(0.3)


@pytest.fixture
def undisturbed(run: Run, tmp_path: Path) -> Path:
    """The ledger of `calls.jsonl`, ingested alone and at once."""
    (tmp_path / "calls.jsonl").write_text(lines(range(CALLS)))
    assert run("ingest", "calls.jsonl", "--ledger", "alone.duckdb").returncode == 0
    return tmp_path / "alone.duckdb"


def test_questions_are_answered_while_a_large_file_is_ingested(
    run: Run,
    ingest: Callable[[str], "subprocess.Popen[bytes]"],
    undisturbed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / LEDGER))
    st.cache_data.clear()
    (tmp_path / "first.jsonl").write_text(lines(range(1)))
    run("ingest", "first.jsonl")
    process = ingest("calls.jsonl")
    told: list[int] = []
    while process.poll() is None:
        answer = run("ask", "law", "--format", "json")
        assert answer.returncode == 0, answer.stderr
        told.append(sum(row["N"] for row in orjson.loads(answer.stdout)))
        checked = run("check")
        assert checked.returncode == 0, checked.stdout
        report = run("report", "--month", "2026-09", "--out", f"out{len(told)}", "--format", "html")
        assert report.returncode == 0, report.stderr
        told.append(calls_count(current_source(), Window(timezone="UTC"), {}))
    assert process.returncode == 0
    assert told == sorted(told)
    between = {count for count in told if 1 < count < CALLS}
    assert len(between) >= 3, told
    assert content(tmp_path / LEDGER) == content(undisturbed)


def test_an_ingest_killed_between_its_parts_is_completed_by_the_next(
    run: Run,
    ingest: Callable[[str], "subprocess.Popen[bytes]"],
    undisturbed: Path,
    tmp_path: Path,
) -> None:
    process = ingest("calls.jsonl")
    wait_for_calls(tmp_path / LEDGER, 200)
    process.kill()
    process.wait()
    taken = count_in(tmp_path / LEDGER)
    assert 200 <= taken < CALLS
    assert run("check").returncode == 0
    again = orjson.loads(run("ingest", "calls.jsonl", "--output", "json").stdout)[0]
    assert (again["read"], again["new"], again["duplicate"]) == (CALLS, CALLS - taken, taken)
    assert content(tmp_path / LEDGER) == content(undisturbed)
    with open_for_reading(tmp_path / LEDGER) as ledger:
        sums = "sum(read_count), sum(new_count), sum(duplicate_count)"
        told = ledger.connection.execute(f"select {sums} from deliveries").fetchall()
    assert told == [(CALLS + taken, CALLS, taken)]


def test_two_ingests_and_a_receiver_take_turns(  # noqa: PLR0917 - fixtures
    ingest: Callable[[str], "subprocess.Popen[bytes]"],
    start: Callable[..., Any],
    request_of: Callable[..., Any],
    run: Run,
    undisturbed: Path,
    tmp_path: Path,
) -> None:
    half = CALLS // 2
    (tmp_path / "one.jsonl").write_text(lines(range(half + 100)))
    (tmp_path / "two.jsonl").write_text(lines(range(half - 100, CALLS)))
    receiver = start(ledger_path=tmp_path / LEDGER)
    ingests = [ingest("one.jsonl"), ingest("two.jsonl")]
    wait_for_calls(tmp_path / LEDGER, 100)
    body = request_of(range(1, 6)).SerializeToString()
    headers = {"content-type": "application/x-protobuf"}
    assert httpx.post(f"{receiver.http}/v1/traces", content=body, headers=headers).is_success
    receiver.wait_until_settled()
    assert [process.poll() for process in ingests] == [None, None]
    assert [process.wait(WAIT_S) for process in ingests] == [0, 0]
    assert receiver.stop() == 0
    assert run("check").returncode == 0
    with open_for_reading(tmp_path / LEDGER) as ledger:
        counted = "select count(*), count(*) filter (where trace_id is null) from calls"
        assert ledger.connection.execute(counted).fetchall() == [(CALLS + 5, CALLS)]
        first, second = (
            ledger.connection.execute(
                "select min(r.call_no), max(r.call_no) from call_rows as r inner join deliveries "
                "as d on r.delivery_id = d.delivery_id where d.source = $source",
                {"source": source},
            ).fetchall()[0]
            for source in ("one.jsonl", "two.jsonl")
        )
    assert first[0] < second[1]
    assert second[0] < first[1]


def test_a_question_leaves_no_file_where_there_is_no_ledger(run: Run, tmp_path: Path) -> None:
    assert run("ask", "law").returncode == 4
    assert not turn_path(tmp_path / LEDGER).exists()

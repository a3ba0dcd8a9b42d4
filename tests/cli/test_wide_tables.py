"""What a reader sees of a wide table at 80, 120 and 200 columns, on a real terminal."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gpuledger.output import MAX_CELL_WIDTH
from gpuledger.records import record_lines

WIDTHS = (80, 120, 200)
BEGIN = 1_790_841_600 * 10**9
CALL = {
    "model": "m",
    "pool": "chat",
    "replica": "10.0.0.7:8000",
    "endpoint": "/v1/a/rather/long/endpoint/{of}/an/application/that/folds/its/name",
    "timing_source": "engine",
    "uncached_input_tokens": 100,
    "visible_output_tokens": 60,
}
SAMPLES = "\n".join(
    f"# scraped_at 2026-10-01T08:00:{second}Z instance=10.0.0.7:8000 pool=chat\n"
    f'vllm:num_requests_running{{model_name="m"}} 1\n'
    f'vllm:generation_tokens_total{{model_name="m"}} {second}'
    for second in ("00", "30")
)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three calls, and what an engine counted meanwhile."""
    folder = tmp_path_factory.mktemp("wide")
    times = {"arrived_at": BEGIN, "started_at": BEGIN, "first_token_at": BEGIN + 10**10}
    calls = [CALL | times | {"call_id": f"{n}" * 32, "ended_at": BEGIN + 3 * 10**10} for n in "123"]
    (folder / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    (folder / "metrics.txt").write_text(SAMPLES + "\n")
    path = folder / "l.duckdb"
    command = [sys.executable, "-m", "gpuledger.main", "ingest", "--ledger", str(path)]
    done = subprocess.run(
        [*command, *map(str, sorted(folder.glob("*.*")))], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return path


def asked(ledger: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "gpuledger.main", "ask", *words, "--ledger", str(ledger)]


def on_terminal(command: list[str], width: int) -> list[str]:
    """The lines that `command` writes on a terminal of `width` columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    written = b""
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(slave)
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:
                break
            if not part:
                break
            written += part
    os.close(master)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).replace("\r", "").split("\n")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("question", ["calls", "engine"])
def test_every_cell_of_a_wide_answer_is_on_a_terminal_and_no_line_is_broken(
    ledger: Path, question: str, width: int
) -> None:
    lines = on_terminal(asked(ledger, question), width)
    assert max(map(cell_len, lines)) <= width
    told = subprocess.run(
        [*asked(ledger, question), "--format", "csv"], capture_output=True, text=True, check=True
    )
    names, *rows = list(csv.reader(io.StringIO(told.stdout)))
    text = "\n".join(lines)
    assert len(re.findall(r"^── \d of \d ─+$", text, re.MULTILINE)) == len(rows)
    for name in names:
        assert len(re.findall(rf"(?<!\w){name}(?!\w)", text)) >= len(rows)
    assert text.count("10.0.0.7:8000") >= len(rows)


def test_a_pipe_has_a_line_a_row(ledger: Path) -> None:
    done = subprocess.run(asked(ledger, "calls"), capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(lines) == 6
    assert all(line.split()[0] == n * 32 for line, n in zip(lines[3:], "123", strict=True))


def test_a_record_fills_its_columns_from_the_top_down() -> None:
    texts = {"a": ["1", "5"], "b": ["2", "6"], "cc": ["30", "70"], "d": ["–", "8"]}
    assert list(record_lines(texts, 20, MAX_CELL_WIDTH)) == [
        "── 1 of 2 ──────────",
        "a  1   cc  30",
        "b  2   d   –",
        "── 2 of 2 ──────────",
        "a  5   cc  70",
        "b  6   d   8",
    ]


@given(
    rows=st.integers(0, 3),
    names=st.lists(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), min_size=1, unique=True),
    width=st.integers(24, 200),
    data=st.data(),
)
def test_no_line_is_wider_than_the_terminal_and_no_letter_is_lost(
    rows: int, names: list[str], width: int, data: st.DataObject
) -> None:
    cell = st.text("xyzあ", max_size=90)
    texts = {name: [data.draw(cell) for _ in range(rows)] for name in names}
    lines = list(record_lines(texts, width, MAX_CELL_WIDTH))
    assert all(cell_len(line) <= width for line in lines)
    for letter in "xyzあ":
        in_names = sum(name.count(letter) for name in names) * rows
        in_cells = sum(one.count(letter) for cells in texts.values() for one in cells)
        assert sum(line.count(letter) for line in lines) == in_names + in_cells

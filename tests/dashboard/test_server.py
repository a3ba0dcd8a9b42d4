"""The dashboard listens on this machine only, and says so where it cannot."""

import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from dashboard.server import PortTakenError, arguments, environment, free_port
from dashboard.source import current_source


def test_it_binds_to_loopback_answers_to_its_own_names_and_sends_no_statistics() -> None:
    words = arguments(8501)
    flags = list(pairwise(words))
    assert ("--server.address", "127.0.0.1") in flags
    assert [value for flag, value in flags if flag == "--server.allowedHosts"] == [
        "127.0.0.1",
        "localhost",
    ]
    assert ("--browser.gatherUsageStats", "false") in flags


def test_a_wanted_port_that_is_taken_is_an_error_with_a_next_step() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"port {taken} is in use; choose another"):
            free_port(taken)


def test_the_process_is_told_where_ledger_and_configuration_are(tmp_path: Path) -> None:
    ledger, config = tmp_path / "a.duckdb", tmp_path / "a.toml"
    ledger.write_bytes(b"x" * 10)
    config.write_text("", "utf-8")
    source = current_source(environment(ledger, config))
    assert (source.ledger_path, source.config_path) == (ledger, config)
    assert source.ledger_version is not None
    assert source.ledger_version[1] == 10


def test_without_a_configuration_an_inherited_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPULEDGER_CONFIG", "other.toml")
    source = current_source(environment(tmp_path / "a.duckdb", None))
    assert source.config_path is None
    assert source.ledger_version is None


def test_a_ledger_that_changed_is_another_source(tmp_path: Path) -> None:
    ledger = tmp_path / "a.duckdb"
    ledger.write_bytes(b"1")
    told = environment(ledger, None)
    before = current_source(told)
    ledger.write_bytes(b"22")
    assert current_source(told) != before


def test_what_every_page_needs_is_read_before_the_server_listens_and_no_page_is() -> None:
    text = (
        "import sys\n"
        "from importlib import import_module\n"
        "from dashboard.serving import READ_FIRST\n"
        "for name in READ_FIRST:\n"
        "    import_module(name)\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    read = set(done.stdout.split())
    assert {"duckdb", "pandas", "plotly.graph_objects", "polars", "analysis.law"} <= read
    assert read.isdisjoint({"dashboard.answers", "dashboard.pages.overview"})
    assert arguments(8501)[1:4] == ["-m", "dashboard.serving", "run"]

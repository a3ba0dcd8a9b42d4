"""The command group: its help, its names, its exit codes."""

import importlib

import click
import pytest
from click.testing import CliRunner

from gpuledger.main import COMMANDS, gpuledger, main


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_line_of_a_command_is_its_own_first_sentence_in_short(name: str) -> None:
    module, attribute = COMMANDS[name].target.split(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    assert command.help
    assert len(COMMANDS[name].summary) <= 72


def test_help_lists_every_command() -> None:
    printed = CliRunner().invoke(gpuledger, ["--help"]).output
    assert [name for name in COMMANDS if f"\n  {name} " not in printed] == []


def test_a_misspelt_command_is_wrong_usage_and_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["aks", "law"])
    assert stopped.value.code == 2
    assert "did you mean 'ask'?" in capsys.readouterr().err


def test_a_missing_ledger_is_not_usable_and_says_what_to_do(
    tmp_path: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["ask", "law", "--ledger", f"{tmp_path}/none.duckdb"])
    assert stopped.value.code == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "gpuledger ingest PATH" in captured.err

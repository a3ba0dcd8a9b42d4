"""What holds for every test."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from gpuledger.main import main


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """A shell starts what runs in the background with SIGINT ignored, and children inherit it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    """Runs a command in this process, in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPULEDGER_LEDGER", raising=False)

    def ran(*arguments: str) -> CompletedProcess[str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capfd.readouterr()
        return CompletedProcess(arguments, int(ended.value.code or 0), said.out, said.err)

    return ran

"""An engine's process: none is lost sight of, and its clock counts what it computes."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.engines.process import EngineProcess

WAITS_FOR_THE_END_OF_ITS_INPUT = "import sys; sys.stdin.read()"
REAL_POPEN = subprocess.Popen


def waiting_process(**options: Any) -> subprocess.Popen[bytes]:
    return REAL_POPEN([sys.executable, "-c", WAITS_FOR_THE_END_OF_ITS_INPUT], **options)


def test_an_interrupt_while_a_process_is_made_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[subprocess.Popen[bytes]] = []

    def interrupted(_arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        made.append(waiting_process(**options))
        signal.raise_signal(signal.SIGINT)
        return made[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        EngineProcess.start("unused", {}, tmp_path / "log")
    assert made[0].returncode == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_processor_seconds_are_those_of_the_process_and_unknown_after_its_end(
    tmp_path: Path,
) -> None:
    code = (
        "import sys, time\n"
        "while time.process_time() < 0.3: pass\n"
        "sys.stdout.write('x'); sys.stdout.flush()\n"
        "sys.stdin.read()\n"
    )
    busy = REAL_POPEN([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with busy:
        assert busy.stdout is not None
        assert busy.stdout.read(1) == b"x"
        process = EngineProcess(busy, "", tmp_path / "log")
        used_s = process.cpu_s()
        process.stop()
    assert used_s is not None
    assert used_s >= 0.3
    assert process.cpu_s() is None

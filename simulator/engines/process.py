"""An engine in a process of its own: announced address, readiness, kept log, clean end.

Owns the process. Refuses to wait for ever: a start has a deadline, and every failure names what
the process did last.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from simulator.errors import EngineError

START_DEADLINE_S = 120.0
STOP_DEADLINE_S = 5.0
READY_POLL_S = 0.02
TAIL_LINES = 12
NO_MEMORY_SIGNAL = 9
SCHEDULER_CLOCK = 2
"""The kind of a Linux process clock that counts the time on a processor, in nanoseconds."""


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Ctrl-C in this block is raised at its end: no process is started and then lost sight of."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


class EngineProcess:
    """A started engine module. `address` is where it answers."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, log_path: Path) -> None:
        self._process = process
        self.address = address
        self._log_path = log_path

    @classmethod
    def start(cls, module: str, settings: Mapping[str, Any], log_path: Path) -> Self:
        """Run `python -m module SETTINGS` until it answers `/health`; the log is appended."""
        deadline = time.monotonic() + START_DEADLINE_S
        read_fd, write_fd = os.pipe()
        arguments = json.dumps({**settings, "announce_fd": write_fd})
        started: Self | None = None
        try:
            with _interrupts_deferred(), log_path.open("ab") as log:
                process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                    [sys.executable, "-m", module, arguments],
                    stdin=subprocess.PIPE,  # closes when we end, however we end: so does the child
                    stdout=log,
                    stderr=log,
                    pass_fds=(write_fd,),
                    start_new_session=True,  # Ctrl-C is ours to handle; the engine is stopped
                )
                started = cls(process, "", log_path)
                os.close(write_fd)
            started.address = started._announced(read_fd, deadline)
            started._wait_until_ready(deadline)
        except BaseException:
            if started is not None:
                started.stop()
            raise
        return started

    @property
    def process_id(self) -> int:
        """The process as the system numbers it."""
        return self._process.pid

    def stop(self) -> None:
        """End the process, by force where it does not end by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def raise_if_dead(self, grace_s: float = 0.0) -> None:
        """Raises `EngineError` with the end of the log where the process ends within `grace_s`."""
        try:
            code = self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            return
        how = f"with exit status {code}"
        if code < 0:
            how = f"by signal {-code}"
        if code == -NO_MEMORY_SIGNAL:
            how += " (often: out of memory; fewer slots or a smaller context need less)"
        raise EngineError(f"the engine ended {how}; its log {self._log_path} ends:\n{self.tail()}")

    def cpu_s(self) -> float | None:
        """Processor seconds that the process has used; None where the system does not tell.

        The clock is the one that `clock_getcpuclockid(3)` names on Linux (`include/linux/
        posix-timers.h`): exact to the microsecond, where `/proc` counts in hundredths.
        """
        if sys.platform != "linux":
            return None
        try:
            return time.clock_gettime((~self._process.pid << 3) | SCHEDULER_CLOCK)
        except OSError:
            return None

    def tail(self) -> str:
        """The last lines of the log, indented."""
        lines = self._log_path.read_text("utf-8", errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join(f"    {line}" for line in lines)

    def get(self, path: str, *, timeout_s: float = 10.0) -> httpx.Response:
        """The answer to a GET; raises `EngineError` where there is none or it is an error."""
        return self._answer("GET", path, None, timeout_s)

    def post(self, path: str, body: bytes, *, timeout_s: float) -> httpx.Response:
        """The answer to a POST of JSON; raises `EngineError` where there is none or an error."""
        return self._answer("POST", path, body, timeout_s)

    def _answer(
        self, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> httpx.Response:
        url = self.address + path
        try:
            answer = httpx.request(
                method,
                url,
                content=body,
                headers={"content-type": "application/json", "connection": "close"},
                timeout=timeout_s,
                trust_env=False,  # a proxy for the outside world has no business on loopback
            )
        except httpx.HTTPError as error:
            self.raise_if_dead()
            raise EngineError(
                f"the engine runs but gave no answer to {url} within {timeout_s:g} s ({error!r}); "
                f"its log {self._log_path} ends:\n{self.tail()}"
            ) from error
        if answer.is_error:
            raise EngineError(f"{url} answered {answer.status_code}: {answer.text[:400]}")
        return answer

    def _announced(self, read_fd: int, deadline: float) -> str:
        with os.fdopen(read_fd) as announcement:
            waited_s = max(0.0, deadline - time.monotonic())
            if not select.select([announcement], [], [], waited_s)[0]:
                raise self._not_ready()
            address = announcement.read()
        if not address:  # the pipe closed without a word: the process is ending
            self._process.wait()
            self.raise_if_dead()
        return address

    def _wait_until_ready(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            self.raise_if_dead()
            try:
                health = httpx.get(self.address + "/health", timeout=1.0, trust_env=False)
            except httpx.HTTPError:
                health = None
            if health is not None and health.status_code == httpx.codes.OK:
                return
            time.sleep(READY_POLL_S)
        raise self._not_ready()

    def _not_ready(self) -> EngineError:
        return EngineError(
            f"the engine was not ready after {START_DEADLINE_S:g} s; its log {self._log_path} "
            f"ends:\n{self.tail()}"
        )

"""The dashboard's process: its command line, its address, and what it is told.

Owns the arguments of Streamlit. Refuses to listen anywhere but on this machine, to answer to
another host's name, and to send usage statistics.
"""

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from ingest.errors import LedgerError

ADDRESS = "127.0.0.1"
FIRST_PORT = 8501
PORTS_TRIED = 50
LEDGER_VARIABLE = "GPULEDGER_LEDGER"
CONFIG_VARIABLE = "GPULEDGER_CONFIG"
SCRIPT = Path(__file__).parent / "entry" / "app.py"


class PortTakenError(LedgerError):
    """The port that was asked for belongs to another process."""


def free_port(wanted: int | None = None) -> int:
    """`wanted` if it is free, else an error; without a wish the first free one from 8501 on."""
    if wanted is not None:
        if not _is_free(wanted):
            raise PortTakenError(
                f"port {wanted} is in use; choose another with --port, or leave --port out"
            )
        return wanted
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(port):
            return port
    raise PortTakenError(
        f"ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are in use; choose one with --port"
    )


def url(port: int) -> str:
    """Where the dashboard is served."""
    return f"http://{ADDRESS}:{port}"


def arguments(port: int, *, opens_browser: bool = False) -> list[str]:
    """The command line that serves the dashboard."""
    options = (
        ("server.address", ADDRESS),
        ("server.port", str(port)),
        ("server.allowedHosts", ADDRESS),
        ("server.allowedHosts", "localhost"),
        ("server.headless", _flag(not opens_browser)),
        ("server.showEmailPrompt", "false"),
        ("server.fileWatcherType", "none"),
        ("runner.magicEnabled", "false"),
        ("browser.gatherUsageStats", "false"),
        ("client.toolbarMode", "viewer"),
        ("client.showErrorDetails", "none"),
        ("client.showErrorLinks", "false"),
        ("logger.hideWelcomeMessage", "true"),
        ("theme.light.primaryColor", "#2f6fab"),
        ("theme.dark.primaryColor", "#6fa8dc"),
    )
    flags = [part for name, value in options for part in (f"--{name}", value)]
    return [sys.executable, "-m", "dashboard.serving", "run", str(SCRIPT), *flags]


def environment(ledger_path: Path, config_path: Path | None) -> dict[str, str]:
    """This process's environment with the ledger and the configuration for the dashboard."""
    told = {LEDGER_VARIABLE: str(ledger_path.resolve())}
    if config_path is not None:
        told[CONFIG_VARIABLE] = str(config_path.resolve())
    inherited = {name: value for name, value in os.environ.items() if name != CONFIG_VARIABLE}
    return inherited | told


def replace_process(
    ledger_path: Path, config_path: Path | None, port: int, *, opens_browser: bool
) -> NoReturn:
    """Become the dashboard: this process serves until it is interrupted.

    What Streamlit prints goes to stderr; stdout is for data.
    """
    command = arguments(port, opens_browser=opens_browser)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(2, 1)
    os.execve(command[0], command, environment(ledger_path, config_path))  # noqa: S606 - no shell


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def _flag(value: bool) -> str:
    return "true" if value else "false"

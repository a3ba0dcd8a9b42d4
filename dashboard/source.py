"""Where the dashboard reads: the ledger and the configuration, and which version of them.

Owns the environment that `dashboard.server` sets and the version that cached answers carry.
Refuses to open anything.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dashboard.server import CONFIG_VARIABLE, LEDGER_VARIABLE
from ingest.config import Configuration, load_configuration

DEFAULT_LEDGER = "gpuledger.duckdb"

FileVersion = tuple[int, int] | None
"""Modification time in nanoseconds and size in bytes; None where there is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A ledger and a configuration as they are now; equal sources have equal answers."""

    ledger_path: Path
    config_path: Path | None
    ledger_version: FileVersion
    config_version: FileVersion

    def configuration(self) -> Configuration:
        """What the configuration file says; raises `ConfigurationError`."""
        return load_configuration(self.config_path)


def current_source(environment: Mapping[str, str] = os.environ) -> Source:
    """The ledger and the configuration that `environment` names, in their present version."""
    ledger_path = Path(environment.get(LEDGER_VARIABLE, DEFAULT_LEDGER))
    config = environment.get(CONFIG_VARIABLE)
    config_path = None if config is None else Path(config)
    return Source(
        ledger_path=ledger_path,
        config_path=config_path,
        ledger_version=_version(ledger_path),
        config_version=None if config_path is None else _version(config_path),
    )


def _version(path: Path) -> FileVersion:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size

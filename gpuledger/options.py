"""Options that several commands share: where the ledger is, where the configuration is."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ingest.config import Configuration, load_configuration

DEFAULT_LEDGER = "gpuledger.duckdb"
DEFAULT_CONFIG = "gpuledger.toml"

Command = Callable[..., Any]

COUNT = click.IntRange(1, 10**15)
"""A count of rows or of tokens; no ledger has more."""


def ledger_option(command: Command) -> Command:
    """Adds `--ledger PATH`, passed as `ledger_path`."""
    return click.option(
        "--ledger",
        "ledger_path",
        type=click.Path(path_type=Path, dir_okay=False),
        default=DEFAULT_LEDGER,
        envvar="GPULEDGER_LEDGER",
        show_default=True,
        help="The ledger; also GPULEDGER_LEDGER.",
    )(command)


def config_option(command: Command) -> Command:
    """Adds `--config PATH`, passed as `configuration`, read and checked."""
    return click.option(
        "--config",
        "configuration",
        type=click.Path(path_type=Path, dir_okay=False),
        default=None,
        callback=_load,
        envvar="GPULEDGER_CONFIG",
        help=f"The configuration; also GPULEDGER_CONFIG. [default: {DEFAULT_CONFIG}, if any]",
    )(command)


def configuration_path(path: Path | None) -> Path | None:
    """`path` where it is given, else the default file if there is one, else None.

    A link to a file that is gone is there, and an error when it is read.
    """
    default = Path(DEFAULT_CONFIG)
    return default if path is None and os.path.lexists(default) else path


def format_option(command: Command) -> Command:
    """Adds `--format table|csv|json`, passed as `output_format`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(["table", "csv", "json"]),
        default="table",
        show_default=True,
        help="How stdout is written; a table rounds, and adds totals to the law.",
    )(command)


def _load(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Configuration:
    return load_configuration(configuration_path(path))

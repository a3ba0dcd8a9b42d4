"""`gpuledger config`: what the configuration file was understood to say.

Owns how a configuration is shown, and how it is shown for one call. Refuses to show a hash key.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import polars as pl

from analysis.mapping import mapping
from gpuledger.asking import print_answer, refusing_wrong_questions
from gpuledger.exits import ExitCode
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format, write_frame, write_json
from ingest.charging.schedule import parse_window
from ingest.config import Configuration
from ingest.current import open_current
from ingest.errors import ConfigurationError
from ingest.masking import masks_of

SHOWN_KEY = "(set)"


@click.group("config")
def configuration() -> None:
    """Pools, prices, mapping, budgets and SLOs as understood."""


@configuration.command("check")
@config_option
def check(configuration: Configuration) -> int:
    """Print "ok"; exit with 4 and the reason where the file cannot be understood."""
    _refuse_unusable(configuration)
    if configuration == Configuration():
        click.echo("nothing is configured; the defaults hold", err=True)
    click.echo("ok")
    return ExitCode.DONE


@configuration.command("show")
@click.option(
    "--call",
    "identity",
    metavar="ID",
    help="Instead: which rule gave each column of this call. A call, or a trace with one call.",
)
@ledger_option
@format_option
@config_option
def show(
    configuration: Configuration,
    output_format: Format,
    ledger_path: Path,
    identity: str | None,
) -> int:
    """Print every key with its value, the defaults included; or explain one call."""
    _refuse_unusable(configuration)
    if identity is not None:
        with refusing_wrong_questions(), open_current(ledger_path, configuration) as ledger:
            print_answer(mapping(ledger, configuration, identity), output_format, "The call")
        return ExitCode.DONE
    understood = msgspec.to_builtins(configuration, builtin_types=())
    if understood["hash_key"] is not None:
        understood["hash_key"] = SHOWN_KEY
    if output_format == "json":
        write_json(understood)
    else:
        rows = list(_flat("", understood))
        frame = pl.DataFrame(rows, schema={"key": pl.String, "value": pl.String}, orient="row")
        write_frame(frame, output_format)
    return ExitCode.DONE


def _refuse_unusable(configuration: Configuration) -> None:
    """Raise for a window of a schedule or a mask that is not understood, with its key."""
    masks_of(configuration)
    for number, pool in enumerate(configuration.pools):
        for window in () if pool.schedule == "always" else pool.schedule:
            try:
                parse_window(window)
            except ConfigurationError as error:
                raise ConfigurationError(f"pools[{number}].schedule: {error}") from None


def _flat(key: str, value: Any) -> Iterator[tuple[str, str | None]]:
    """Pairs such as `pools[0].name` and `chat-h100`, in the order of the file's keys."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _flat(f"{key}[{index}]", item)
    elif isinstance(value, dict | list | tuple):
        yield key, ", ".join(str(item) for item in value) or None
    else:
        yield key, None if value is None else str(value)

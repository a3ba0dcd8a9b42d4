"""`gpuledger dashboard`: serves the dashboard on this machine."""

from pathlib import Path

import click

from dashboard.server import free_port, replace_process, url
from gpuledger.options import configuration_path, ledger_option
from ingest.config import load_configuration


@click.command("dashboard")
@ledger_option
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    envvar="GPULEDGER_CONFIG",
    help="The configuration; also GPULEDGER_CONFIG. [default: gpuledger.toml, if any]",
)
@click.option("--port", type=click.IntRange(1, 65_535), default=None, help="Default: 8501 on.")
@click.option("--open", "opens_browser", is_flag=True, help="Open it in the browser.")
def serve_dashboard(
    ledger_path: Path, config_path: Path | None, port: int | None, opens_browser: bool
) -> None:
    """Serve the dashboard until Ctrl-C; it listens on 127.0.0.1 only."""
    found = configuration_path(config_path)
    load_configuration(found)
    serve(ledger_path, found, port=port, opens_browser=opens_browser)


def serve(
    ledger_path: Path,
    config_path: Path | None,
    *,
    port: int | None = None,
    opens_browser: bool = False,
) -> None:
    """Say where the dashboard is and become its server; it ends with Ctrl-C.

    Every ledger that this process has open must be closed before.
    """
    chosen = free_port(port)
    click.echo(f"dashboard: {url(chosen)} (Ctrl-C stops it)", err=True)
    replace_process(ledger_path, config_path, chosen, opens_browser=opens_browser)

"""`gpuledger receive`: live OTLP into the ledger."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

from gpuledger.options import config_option, ledger_option
from ingest.config import Configuration
from ingest.receiver.address import Address, parse_address
from ingest.receiver.reception import MIB, Limits, Tokens, read_tokens
from ingest.receiver.scraping import parse_target
from ingest.receiver.service import Settings, serve

CLOSED = "off"
METRIC_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where the receiver's own metrics go, as for any program with OpenTelemetry; else nowhere."""


@click.command("receive")
@ledger_option
@config_option
@click.option(
    "--http", "http_address", default="127.0.0.1:4318", show_default=True, help="OTLP/HTTP."
)
@click.option(
    "--grpc",
    "grpc_address",
    default="127.0.0.1:4317",
    show_default=True,
    help="OTLP/gRPC; `off` closes it.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Bearer tokens, one a line; without it everyone who reaches the address may send.",
)
@click.option(
    "--scrape",
    "scraped",
    multiple=True,
    metavar="[[POOL/]REPLICA=]URL",
    help="An engine whose metrics are taken every so often; repeat it for several.",
)
@click.option(
    "--scrape-every",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    help="Seconds from one scrape to the next.",
)
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="MiB of a request, as sent and again decompressed.",
)
@click.option(
    "--max-inbox",
    type=click.IntRange(1),
    default=4_096,
    show_default=True,
    help="MiB that may wait for the ledger; then senders are told to come back later.",
)
def receive(  # noqa: PLR0917 - one parameter an option
    ledger_path: Path,
    configuration: Configuration,
    http_address: str,
    grpc_address: str,
    token_file: Path | None,
    scraped: tuple[str, ...],
    scrape_every: float,
    max_body: int,
    max_inbox: int,
) -> None:
    """Receive OTLP traces, logs and metrics until Ctrl-C; what is acknowledged survives a crash.

    Point any exporter at it: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. Questions, reports
    and `gpuledger ingest` work on the same ledger meanwhile.
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    settings = Settings(
        http=parse_address(http_address),
        grpc=None if grpc_address == CLOSED else parse_address(grpc_address),
        tokens=Tokens() if token_file is None else read_tokens(token_file),
        limits=Limits(body=max_body * MIB, inbox=max_inbox * MIB),
        targets=tuple(parse_target(text) for text in scraped),
        scrape_every_s=scrape_every,
    )

    def announce(door: str, address: Address) -> None:
        click.echo(f"receiving {door} on {address}", err=True)
        if not settings.tokens.are_wanted and not address.is_loopback:
            click.echo("warning: everyone who reaches it may send; see --token-file", err=True)

    with _own_metrics() as meter:
        serve(ledger_path, configuration, settings, meter, announce)


@contextmanager
def _own_metrics() -> Iterator[Meter]:
    """A meter whose metrics are exported where the environment names an endpoint."""
    readers: list[MetricReader] = []
    if any(os.environ.get(name) for name in METRIC_ENDPOINTS):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    provider = MeterProvider(metric_readers=readers)
    try:
        yield provider.get_meter("gpuledger.receiver")
    finally:
        provider.shutdown()

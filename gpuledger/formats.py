"""`gpuledger formats`: what can be ingested and how it is recognised."""

import click
import polars as pl

from gpuledger.options import format_option
from gpuledger.output import Format, write_frame
from ingest.readers import READERS


@click.command()
@format_option
def formats(output_format: Format) -> None:
    """The readers, with how each is recognised."""
    rows = [
        {"name": reader.name, "title": reader.title, "recognised_by": reader.recognised_by}
        for reader in READERS
    ]
    write_frame(pl.DataFrame(rows), output_format, "Formats that `gpuledger ingest` reads")

"""`gpuledger questions`: every analysis with its question."""

import click
import polars as pl

from analysis.sql import all_questions
from gpuledger.options import format_option
from gpuledger.output import Format, write_frame


@click.command()
@format_option
def questions(output_format: Format) -> None:
    """Every analysis with its question, grain and units."""
    rows = [
        {
            "name": question.name,
            "question": question.question,
            "grain": question.grain,
            "unit": question.unit,
        }
        for question in all_questions()
    ]
    write_frame(pl.DataFrame(rows), output_format, "What can be asked")

"""`gpuledger questions`: every analysis with its question.

Owns which command asks what. Refuses to describe: the words are those of the question files.
"""

import click
import polars as pl

from analysis.sql import Question, all_questions
from gpuledger.options import format_option
from gpuledger.output import Format, write_frame

COMMANDS = {
    "law": "gpuledger ask law --by COLUMN",
    "law_detailed": "gpuledger ask law --by day",
    "calls": "gpuledger ask calls",
    "latency": "gpuledger ask latency --by COLUMN",
    "rejects": "gpuledger ask rejects",
    "latency_histogram": "gpuledger ask latency --by COLUMN",
    "trace": "gpuledger trace ID",
    "identities": "gpuledger trace ID",
    "traces": "gpuledger dashboard",
}
"""Question to the command that asks it; the others are asked by the way."""

EXPLAIN = {
    "name": "explain",
    "question": "Which letter of the law moved the bill from one month to the other?",
    "asked_with": "gpuledger explain --from MONTH --to MONTH",
    "grain": "a group; idle time per pool; a total in each currency",
    "unit": "money per letter, adding up to the change",
}
"""Two answers of `law` compared: a question without a file of its own."""


@click.command()
@format_option
def questions(output_format: Format) -> None:
    """Every analysis with its question, how it is asked, its grain and units."""
    rows = [
        *[_row(question, COMMANDS.get(question.name)) for question in all_questions()],
        EXPLAIN,
        *[_row(question, "gpuledger check") for question in all_questions("checks")],
    ]
    write_frame(pl.DataFrame(rows), output_format, "What can be asked")


def _row(question: Question, asked_with: str | None) -> dict[str, str | None]:
    return {
        "name": question.name,
        "question": question.question,
        "asked_with": asked_with,
        "grain": question.grain,
        "unit": question.unit,
    }

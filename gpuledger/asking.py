"""What the commands that ask a question share: a window, a filter, and how an answer is printed.

Owns the options of a question and the exit code of one that is asked wrongly. Refuses to compute.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from gpuledger.output import Format, write_frame

Command = Callable[..., Any]

ROUNDED = "the table rounds for reading; --format csv and json have every digit"


def window_options(command: Command) -> Command:
    """Adds `--since`, `--until` and `--tz`, passed as `since`, `until` and `timezone`."""
    for option in (
        click.option("--tz", "timezone", help="Time zone of days and months; by configuration."),
        click.option(
            "--until",
            metavar="TIME",
            help="Up to but without this month, day or time; else to the last end.",
        ),
        click.option(
            "--since",
            metavar="TIME",
            help="From this month, day or time on; else from the first start.",
        ),
    ):
        command = option(command)
    return command


def by_option(default: str) -> Callable[[Command], Command]:
    """Adds `--by COLUMN`, given once or twice or with a comma, passed as the tuple `by`."""
    return click.option(
        "--by",
        multiple=True,
        default=(default,),
        show_default=True,
        callback=_split_columns,
        help="Columns to group by, two at most.",
    )


def where_option(command: Command) -> Command:
    """Adds `--where COLUMN=VALUE`, repeatable, passed as the tuple `where`."""
    return click.option(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only the calls with this value; no value: those of which it is not known.",
    )(command)


@contextmanager
def refusing_wrong_questions() -> Iterator[None]:
    """A question asked wrongly becomes wrong usage, exit code 2."""
    try:
        yield
    except WrongQuestionError as error:
        raise click.UsageError(str(error)) from error


def print_answer(answer: Answer, output_format: Format, title: str | None = None) -> None:
    """The cells on stdout, the notes on stderr, and that a table rounds its numbers."""
    write_frame(answer.frame, output_format, title)
    print_notes(answer, output_format)


def print_notes(answer: Answer, output_format: Format) -> None:
    """The notes on stderr, and that a table rounds its numbers."""
    for note in answer.notes:
        click.echo(note, err=True)
    if output_format == "table" and any(
        dtype.is_float() or dtype.is_decimal() for dtype in answer.frame.dtypes
    ):
        click.echo(ROUNDED, err=True)


def _split_columns(
    _context: click.Context, _parameter: click.Parameter, values: Sequence[str]
) -> tuple[str, ...]:
    columns = (column.strip() for value in values for column in value.split(","))
    return tuple(column for column in columns if column)

"""`gpuledger`: the command group. Commands are imported only when they are called.

Owns exit codes and the one place where an error of the product becomes a message. Refuses stack
traces for what a user can mend.
"""

import difflib
import sys
from dataclasses import dataclass
from typing import Any

import click

from gpuledger.asked import loaded
from gpuledger.exits import ExitCode
from ingest.errors import ConfigurationError, LedgerError


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """Where a command is, as `module:function`, and its line in the help text."""

    target: str
    summary: str


_MACHINE_ERRORS = ("IOException", "FatalException", "OutOfMemoryException")
"""Errors of the database that tell of a full or failing disk, or of too little memory."""
_NOT_WRITTEN = "Could not write file"
"""What the database says, in an error of another name, of a commit for which there is no room."""

COMMANDS: dict[str, CommandEntry] = {
    "demo": CommandEntry(
        target="gpuledger.demo:demo",
        summary="Build a ledger from the sample, print the bill, serve the dashboard.",
    ),
    "ingest": CommandEntry(
        target="gpuledger.ingest_paths:ingest_paths",
        summary="Take files into the ledger; a second run adds nothing.",
    ),
    "receive": CommandEntry(
        target="gpuledger.receive:receive",
        summary="Receive live OTLP, and scrape engines, into the ledger.",
    ),
    "formats": CommandEntry(
        target="gpuledger.formats:formats",
        summary="List the readers, with how each is recognised.",
    ),
    "config": CommandEntry(
        target="gpuledger.configuration:configuration",
        summary="Check the configuration, or show it as understood.",
    ),
    "questions": CommandEntry(
        target="gpuledger.questions:questions", summary="List every analysis with its question."
    ),
    "ask": CommandEntry(
        target="gpuledger.ask:ask", summary="Answer one question; `ask law` is the headline."
    ),
    "explain": CommandEntry(
        target="gpuledger.explain:explain", summary="Say which letter moved between two months."
    ),
    "levers": CommandEntry(
        target="gpuledger.levers:levers",
        summary="Say what can be done about the bill, and what it would save.",
    ),
    "trace": CommandEntry(
        target="gpuledger.trace:trace", summary="Draw one trace with its phases and its money."
    ),
    "check": CommandEntry(
        target="gpuledger.check:check", summary="Check conservation, coverage and data quality."
    ),
    "replay": CommandEntry(
        target="gpuledger.replay:replay",
        summary="Replay a trace on a real engine, baseline against candidate.",
    ),
    "report": CommandEntry(
        target="gpuledger.report:report", summary="Write the monthly report as XLSX and HTML."
    ),
    "dashboard": CommandEntry(
        target="gpuledger.serve_dashboard:serve_dashboard", summary="Serve the dashboard."
    ),
    "purge": CommandEntry(
        target="gpuledger.purge:purge_rows",
        summary="Remove what is past its retention, or a trace, or a user, for good.",
    ),
    "export": CommandEntry(
        target="gpuledger.export:export", summary="Write the ledger's calls in the native format."
    ),
}
"""Every command, in the order of the help text."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = loaded(entry.target)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gpuledger")
def gpuledger() -> None:
    """Every GPU-second of LLM inference, accounted for."""


def _of_the_machine(error: Exception) -> str | None:
    """What to say where a disk, a file or the memory gave out; None for a fault of the product.

    The driver's errors are known by name: importing it here would slow every command down.
    """
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror or error}; mend that and run the command again"
    if type(error).__module__ != "_duckdb":
        return None
    if type(error).__name__ not in _MACHINE_ERRORS and _NOT_WRITTEN not in str(error):
        return None
    return (
        f"the ledger could not be read or written: {str(error).splitlines()[0]}; free space or "
        "memory and run the command again: what was taken already is not taken twice"
    )


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit with its code."""
    try:
        code = gpuledger.main(args=arguments, standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except LedgerError as error:
        click.echo(f"error: {error}", err=True)
        is_misused = isinstance(error, ConfigurationError)
        sys.exit(ExitCode.WRONG_USAGE if is_misused else ExitCode.NOT_USABLE)
    except BrokenPipeError:
        sys.exit(ExitCode.DONE)
    except Exception as error:
        if (message := _of_the_machine(error)) is None:
            raise
        click.echo(f"error: {message}", err=True)
        sys.exit(ExitCode.NOT_USABLE)
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)


if __name__ == "__main__":
    main()

"""`gpuledger`: the command group. Commands are imported only when they are called.

Owns exit codes and the one place where an error of the product becomes a message. Refuses stack
traces for what a user can mend.
"""

import importlib
import sys
from typing import Any

import click

from gpuledger.exits import ExitCode
from ingest.errors import LedgerError

COMMANDS: dict[str, str] = {
    "demo": "gpuledger.demo:demo",
    "ingest": "gpuledger.ingest_paths:ingest_paths",
    "formats": "gpuledger.formats:formats",
    "config": "gpuledger.configuration:configuration",
    "questions": "gpuledger.questions:questions",
    "ask": "gpuledger.ask:ask",
    "explain": "gpuledger.explain:explain",
    "trace": "gpuledger.trace:trace",
    "check": "gpuledger.check:check",
    "replay": "gpuledger.replay:replay",
    "report": "gpuledger.report:report",
    "dashboard": "gpuledger.serve_dashboard:serve_dashboard",
    "export": "gpuledger.export:export",
}
"""Command name to `module:function`, in the order of the help text."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, attribute = target.split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gpuledger")
def gpuledger() -> None:
    """Every GPU-second of LLM inference, accounted for."""


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
        sys.exit(ExitCode.NOT_USABLE)
    except BrokenPipeError:
        sys.exit(ExitCode.DONE)
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)


if __name__ == "__main__":
    main()

"""`gpuledger replay`: a trace on a real engine, baseline against candidate.

Owns the options, the progress bar and what is printed. Refuses to hide a step: what is changed in
the trace, how long it takes and what the engine cannot do is said before it starts.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gpuledger.exits import ExitCode
from gpuledger.options import COUNT, config_option, format_option, ledger_option
from gpuledger.output import Format, write_frame
from gpuledger.replay_progress import say, watching
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import open_for_reading
from simulator.engines.engine import Engine
from simulator.engines.flags import parse_flags
from simulator.engines.registry import ENGINES
from simulator.errors import WrongFlagError
from simulator.experiment import run
from simulator.models import cache_folder
from simulator.plan import plan_sentences, refuse_without_room
from simulator.preparation import Limits, prepared_trace
from simulator.recording import Recorder
from simulator.results import compared_scenario, results_frame
from simulator.scenario import BASELINE, CANDIDATE, Scenario, flags_text, pass_order
from simulator.trace import FILTERS, Trace, rows_from_ledger, rows_from_paths


def _parsed_flags(
    _context: click.Context, _parameter: click.Parameter, text: str
) -> dict[str, str]:
    try:
        return parse_flags(text)
    except WrongFlagError as error:
        raise click.BadParameter(str(error)) from None


def _parsed_filters(
    _context: click.Context, _parameter: click.Parameter, conditions: tuple[str, ...]
) -> dict[str, str]:
    filters: dict[str, str] = {}
    for condition in conditions:
        column, sign, value = (part.strip() for part in condition.partition("="))
        if not sign or column not in FILTERS or not value:
            raise click.BadParameter(f"{condition!r}: write column=value of {', '.join(FILTERS)}")
        filters[column] = value
    return filters


@click.command("replay")
@click.option(
    "--trace",
    "trace_paths",
    multiple=True,
    metavar="PATH",
    help="A file of any known format; without it the calls of the ledger are replayed.",
)
@click.option(
    "--where",
    "filters",
    multiple=True,
    callback=_parsed_filters,
    metavar="COLUMN=VALUE",
    help="Which calls of the ledger; may be repeated.",
)
@click.option(
    "--baseline",
    default="",
    callback=_parsed_flags,
    metavar="FLAGS",
    help="Engine flags as name=value, separated by commas.",
)
@click.option(
    "--candidate",
    required=True,
    callback=_parsed_flags,
    metavar="FLAGS",
    help="The flags that are compared with the baseline, such as prefix_cache=on.",
)
@click.option("--engine", "engine_name", type=click.Choice(list(ENGINES)), default="llama.cpp")
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Blocks of two baseline passes and one candidate pass; an even number cancels drift.",
)
@click.option(
    "--rate",
    "rate_per_s",
    type=click.FloatRange(min=0, min_open=True),
    help="Mean arrivals a second; else as recorded, slowed where the engine cannot follow.",
)
@click.option(
    "--limit",
    "limit_calls",
    type=COUNT,
    help="At most so many calls, in whole sessions.",
)
@click.option(
    "--limit-input",
    "limit_input_tokens",
    type=COUNT,
    help="Scale all prompts so that the longest has so many tokens.",
)
@click.option(
    "--limit-output",
    "limit_output_tokens",
    type=COUNT,
    help="Scale all outputs so that the longest has so many tokens.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of every draw.")
@click.option("--name", "scenario_name", help="Of the scenario in the ledger (default: the time).")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where spans and engine logs are kept (default: the cache folder).",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Say what would be done and refuse what has no room; start nothing.",
)
@format_option
@ledger_option
@config_option
def replay(ledger_path: Path, configuration: Configuration, **options: Any) -> int:
    """Replay a trace on a real engine with two sets of flags and compare them."""
    engine, flags = _engine_with_flags(options)
    trace = _trace(ledger_path, configuration, options)
    _tell_plan(engine, flags, trace, options)
    refuse_without_room(trace, engine, flags)
    if options["dry_run"]:
        return ExitCode.DONE
    name = options["scenario_name"] or f"replay-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    scenario = Scenario(
        name=name,
        trace=trace,
        engine=engine,
        flags=flags,
        pairs=options["pairs"],
        seed=options["seed"],
        rate_per_s=options["rate_per_s"],
        folder=options["folder"] or cache_folder() / "replays" / name,
    )
    scenario.folder.mkdir(parents=True, exist_ok=True)
    with watching() as watcher:
        is_complete = run(scenario, Recorder(ledger_path, configuration), watcher)
    _print_results(ledger_path, configuration, scenario, options["output_format"])
    if not is_complete:
        say("what was measured until now is in the ledger")
        raise click.Abort
    return ExitCode.DONE


def _engine_with_flags(options: Mapping[str, Any]) -> tuple[Engine, dict[str, Mapping[str, str]]]:
    """The engine and the resolved flags of both arms; a wrong flag is wrong usage."""
    engine = ENGINES[options["engine_name"]]()
    try:
        flags = {arm: engine.resolve(options[arm]) for arm in (BASELINE, CANDIDATE)}
    except WrongFlagError as error:
        raise click.UsageError(str(error)) from None
    return engine, flags


def _trace(ledger_path: Path, configuration: Configuration, options: Mapping[str, Any]) -> Trace:
    """The trace that is sent, from files or from the ledger."""
    paths, filters = list(options["trace_paths"]), options["filters"]
    if paths and filters:
        raise click.UsageError("--where chooses calls of the ledger; leave out --trace")
    if paths:
        rows, source = rows_from_paths(paths, configuration), ", ".join(paths)
    else:
        with open_for_reading(ledger_path, memory_limit=configuration.memory_limit) as ledger:
            rows = rows_from_ledger(ledger.connection, filters)
        source = f"{ledger_path} ({flags_text(filters) or 'all calls'})"
    limits = Limits(
        calls=options["limit_calls"],
        input_tokens=options["limit_input_tokens"],
        output_tokens=options["limit_output_tokens"],
    )
    return prepared_trace(rows, source, limits, options["seed"])


def _tell_plan(
    engine: Engine,
    flags: Mapping[str, Mapping[str, str]],
    trace: Trace,
    options: Mapping[str, Any],
) -> None:
    """Say on stderr what will be done and what will not be measured."""
    for note in trace.notes:
        say(note)
    for sentence in plan_sentences(trace, engine, flags, options["pairs"], options["rate_per_s"]):
        say(sentence)
    say(f"engine: {engine.name} ({engine.version})")
    for arm, resolved in flags.items():
        say(f"{arm}: {flags_text(resolved)}")
    differing = [n for n in flags[BASELINE] if flags[BASELINE][n] != flags[CANDIDATE][n]]
    if len(differing) > 1:
        say(f"the arms differ in {', '.join(differing)}: no change can be told to one of them")
    if not differing:
        say("the arms do not differ: this measures the noise")
    for limitation in engine.cannot:
        say(f"the engine cannot {limitation}")
    say(f"passes, each on a fresh engine: {' '.join(pass_order(options['pairs']))}")


def _print_results(
    ledger_path: Path, configuration: Configuration, scenario: Scenario, output_format: Format
) -> None:
    """Print the comparison of the complete blocks on stdout, and where things are on stderr."""
    with open_current(ledger_path, configuration) as ledger:
        compared = compared_scenario(ledger, configuration, scenario.name, scenario.seed)
    say(f"spans and engine logs: {scenario.folder}")
    say(
        f"the calls: gpuledger ask law --by arm --where origin=replay "
        f"--where scenario={scenario.name} --ledger {ledger_path}"
    )
    if compared is None:
        say("no block of three passes is complete, so nothing is compared")
        return
    write_frame(results_frame(compared), output_format, f"{scenario.name}: {_arms(scenario)}")
    for note in compared.notes:
        say(note)


def _arms(scenario: Scenario) -> str:
    baseline, candidate = scenario.flags[BASELINE], scenario.flags[CANDIDATE]
    differing = [name for name in baseline if baseline[name] != candidate[name]]
    return ", ".join(f"{n} {baseline[n]} → {candidate[n]}" for n in differing) or "no difference"

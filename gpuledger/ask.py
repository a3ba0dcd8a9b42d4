"""`gpuledger ask NAME`: one question, its rows on stdout.

Owns which questions can be asked by name. Refuses to compute.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from analysis.anomalies import anomalies
from analysis.answer import Answer
from analysis.budget import BUDGET_FILTERS, budget
from analysis.calls import ORDERS, calls
from analysis.capacity.lanes import LANE_FILTERS
from analysis.columns import FILTER_COLUMNS, nearest, parsed_filters
from analysis.concurrency import concurrency
from analysis.context_limits import context_limits
from analysis.duplicates import duplicates, in_flight
from analysis.engine import ENGINE_FILTERS, engine
from analysis.errors import WrongQuestionError
from analysis.forecast import forecast
from analysis.goodput import goodput
from analysis.latency import latency
from analysis.law import law
from analysis.lengths import concentration, finish_reasons, length, limits
from analysis.loops import LOOP_FILTERS, loops
from analysis.operations import OPERATION_FILTERS, operations
from analysis.pairs import PAIR_FILTERS, pairs
from analysis.prefix_cache import prefix_cache
from analysis.rejects import REJECT_FILTERS, rejects
from analysis.response_cache import response_cache
from analysis.retries import retries
from analysis.semantic_cache import semantic_cache
from analysis.tool_latency import RUN_FILTERS, tool_latency
from analysis.tool_repeats import TOOL_FILTERS, tool_repeats
from analysis.ttl import DEFAULT_TTL, parsed_ttl_ns
from analysis.window import Window
from gpuledger.asking import (
    by_option,
    print_answer,
    refusing_wrong_questions,
    where_option,
    window_options,
)
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format
from gpuledger.questions import where_asked
from gpuledger.totals import with_totals
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import Ledger

GROUPED: Mapping[str, Callable[..., Answer]] = {
    "law": law,
    "latency": latency,
    "goodput": goodput,
    "length": length,
    "limits": limits,
    "finish_reasons": finish_reasons,
    "concentration": concentration,
    "prefix_cache": prefix_cache,
    "response_cache": response_cache,
    "anomalies": anomalies,
    "forecast": forecast,
}
"""Questions that are answered by group."""

LISTS: Mapping[str, tuple[Callable[..., Answer], tuple[str, ...]]] = {
    "rejects": (rejects, REJECT_FILTERS),
    "pairs": (pairs, PAIR_FILTERS),
    "operations": (operations, OPERATION_FILTERS),
    "tool_latency": (tool_latency, RUN_FILTERS),
    "loops": (loops, LOOP_FILTERS),
    "duplicates": (duplicates, FILTER_COLUMNS),
    "in_flight": (in_flight, FILTER_COLUMNS),
    "retries": (retries, OPERATION_FILTERS),
    "tool_repeats": (tool_repeats, TOOL_FILTERS),
}
"""Questions that list rows, with what they may be filtered by."""

POOLED: Mapping[str, tuple[Callable[..., Answer], tuple[str, ...]]] = {
    "concurrency": (concurrency, LANE_FILTERS),
    "context_limits": (context_limits, FILTER_COLUMNS),
}
"""Questions about pools, by replica or by a time, with what they may be filtered by."""

CACHES = ("duplicates", "response_cache", "tool_repeats")
"""Questions that ask for a cache, whose answers live for `--ttl`."""

NAMES = (*GROUPED, "calls", *LISTS, *POOLED, "engine", "budget", "semantic_cache")


@click.command()
@click.argument("name")
@by_option("endpoint")
@where_option
@window_options
@click.option("--order", default=ORDERS[0], show_default=True, help=f"calls: {', '.join(ORDERS)}.")
@click.option("--limit", type=click.IntRange(min=1), help="Of a list: at most so many rows.")
@click.option(
    "--ttl", default=DEFAULT_TTL, show_default=True, help=f"{', '.join(CACHES)}: life of an answer."
)
@ledger_option
@config_option
@format_option
def ask(
    name: str,
    ledger_path: Path,
    configuration: Configuration,
    output_format: Format,
    **asked: Any,
) -> None:
    """One analysis; `ask law --by endpoint` is the headline, `questions` lists them."""
    with refusing_wrong_questions():
        question = _prepared(name, configuration, asked)
        with open_current(ledger_path, configuration) as ledger:
            answer = question(ledger)
    if name == "law" and output_format == "table":
        answer = replace(answer, frame=with_totals(answer.frame))
    title = (
        name
        if name in (*LISTS, "engine", "budget", "semantic_cache")
        else f"{name}, {answer.window.text()}"
    )
    print_answer(answer, output_format, title=title)


def _prepared(
    name: str, configuration: Configuration, asked: dict[str, Any]
) -> Callable[[Ledger], Answer]:
    """The question with its words checked, before any ledger is opened."""
    if name not in NAMES:
        elsewhere = where_asked(name)
        raise WrongQuestionError(
            elsewhere or f"there is no question {name!r}; {nearest(name, NAMES)}"
        )
    timezone = asked["timezone"] or configuration.timezone
    window = Window.parse(asked["since"], asked["until"], timezone)
    if name == "budget":
        return _asked_budget(configuration, asked)
    if name == "engine":
        times = asked["by"] if _is_given("by") else ()
        where = parsed_filters(asked["where"], ENGINE_FILTERS)
        return lambda ledger: engine(ledger, by=times, window=window, where=where)
    if name == "semantic_cache":
        where = parsed_filters(asked["where"])
        grain, limit = ",".join(asked["by"]), asked["limit"]
        return lambda ledger: semantic_cache(
            ledger, window=window, by=grain, where=where, limit=limit
        )
    if name in POOLED:
        pooled, filterable = POOLED[name]
        where = parsed_filters(asked["where"], filterable)
        columns = asked["by"] if _is_given("by") else ()
        return lambda ledger: pooled(ledger, configuration, by=columns, window=window, where=where)
    listed, filterable = LISTS.get(name, (None, FILTER_COLUMNS))
    where = parsed_filters(asked["where"], filterable)
    by, order, limit = asked["by"], asked["order"], asked["limit"]
    lives = {"ttl_ns": parsed_ttl_ns(asked["ttl"])} if name in CACHES else {}
    if listed is not None:
        return lambda ledger: listed(ledger, window=window, where=where, limit=limit, **lives)
    if name == "calls":
        return lambda ledger: calls(
            ledger, configuration, window=window, where=where, order=order, limit=limit
        )
    grouped = GROUPED[name]
    return lambda ledger: grouped(ledger, configuration, by=by, window=window, where=where, **lives)


def _asked_budget(
    configuration: Configuration, asked: dict[str, Any]
) -> Callable[[Ledger], Answer]:
    """Each budget has its own month: no other window can be asked for."""
    if asked["since"] or asked["until"]:
        raise WrongQuestionError(
            "a budget is of a whole month; choose it with --where month=2026-10"
        )
    where = parsed_filters(asked["where"], BUDGET_FILTERS)
    timezone = asked["timezone"]
    return lambda ledger: budget(ledger, configuration, timezone=timezone, where=where)


def _is_given(option: str) -> bool:
    """Whether the command line, and not a default, gives this option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE

"""`gpuledger ask NAME`: one question, its rows on stdout.

Owns how the words of the command line become those of a question. Refuses to compute, and to import
an answer that is not asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from analysis.answer import Answer
from analysis.calls import ORDERS, calls
from analysis.columns import nearest, parsed_filters
from analysis.errors import WrongQuestionError
from analysis.ttl import DEFAULT_TTL, parsed_ttl_ns
from analysis.window import Window
from gpuledger.asked import CACHES, GROUPED, LISTS, NAMES, OPTIONS, POOLED, ROOMS, loaded, not_taken
from gpuledger.asking import (
    by_option,
    print_answer,
    refusing_wrong_questions,
    where_option,
    window_options,
)
from gpuledger.options import COUNT, config_option, format_option, ledger_option
from gpuledger.output import Format
from gpuledger.totals import with_totals
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import Ledger

Words = Mapping[str, Any]
"""What the command line gives, by the name of the option."""
Prepared = Callable[[Ledger], Answer]


@click.command()
@click.argument("name")
@by_option("endpoint")
@where_option
@window_options
@click.option("--order", default=ORDERS[0], show_default=True, help=f"calls: {', '.join(ORDERS)}.")
@click.option("--limit", type=COUNT, help="Of a list: at most so many rows.")
@click.option(
    "--ttl", default=DEFAULT_TTL, show_default=True, help=f"{', '.join(CACHES)}: life of an answer."
)
@click.option(
    "--capacity-tokens",
    type=COUNT,
    help=f"{', '.join(ROOMS)}: room of each cache; else as engines or the configuration tell.",
)
@click.option("--policy", default="own", show_default=True, help="idle: own, proportional or peak.")
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
    if name in (*LISTS, "semantic_cache") and name != "rejects":  # it names its own
        answer = replace(answer, notes=(f"window: {answer.window.text()}", *answer.notes))
    title = (
        name
        if name in (*LISTS, "engine", "budget", "semantic_cache")
        else f"{name}, {answer.window.text()}"
    )
    print_answer(answer, output_format, title=title)


def _prepared(name: str, configuration: Configuration, asked: Words) -> Prepared:
    """The question with its words checked, before any ledger is opened."""
    if name not in NAMES:
        elsewhere = loaded("gpuledger.questions:where_asked")(name)
        raise WrongQuestionError(
            elsewhere or f"there is no question {name!r}; {nearest(name, NAMES)}"
        )
    for option in OPTIONS:
        if _is_given(option) and (why := not_taken(name, option)):
            raise WrongQuestionError(why)
    timezone = asked["timezone"] or configuration.timezone
    window = Window.parse(asked["since"], asked["until"], timezone)
    if name in OWN:
        return OWN[name](configuration, window, asked)
    lives = {"ttl_ns": parsed_ttl_ns(asked["ttl"])} if name in CACHES else {}
    if name in ROOMS:
        lives = {"capacity_tokens": asked["capacity_tokens"]}
    if name in GROUPED:
        answered, where, by = loaded(GROUPED[name]), parsed_filters(asked["where"]), asked["by"]
        return lambda ledger: answered(
            ledger, configuration, by=by, window=window, where=where, **lives
        )
    answered, columns = map(loaded, LISTS[name] if name in LISTS else POOLED[name])
    where = parsed_filters(asked["where"], columns)
    if name in POOLED:
        by = _given("by", asked)
        return lambda ledger: answered(ledger, configuration, by=by, window=window, where=where)
    limit = asked["limit"]
    return lambda ledger: answered(ledger, window=window, where=where, limit=limit, **lives)


def _asked_calls(configuration: Configuration, window: Window, asked: Words) -> Prepared:
    where, order, limit = parsed_filters(asked["where"]), asked["order"], asked["limit"]
    return lambda ledger: calls(
        ledger, configuration, window=window, where=where, order=order, limit=limit
    )


def _asked_engine(_: Configuration, window: Window, asked: Words) -> Prepared:
    engine, columns = loaded("analysis.engine:engine"), loaded("analysis.engine:ENGINE_FILTERS")
    where, times = parsed_filters(asked["where"], columns), _given("by", asked)
    return lambda ledger: engine(ledger, by=times, window=window, where=where)


def _asked_idle(configuration: Configuration, window: Window, asked: Words) -> Prepared:
    idle, columns = loaded("analysis.idle:idle"), loaded("analysis.idle:IDLE_FILTERS")
    where, by, policy = (
        parsed_filters(asked["where"], columns),
        _given("by", asked),
        asked["policy"],
    )
    return lambda ledger: idle(
        ledger, configuration, by=by, window=window, where=where, policy=policy
    )


def _asked_volatile_prefixes(
    configuration: Configuration, window: Window, asked: Words
) -> Prepared:
    answered = loaded("analysis.volatile_prefixes:volatile_prefixes")
    by = _given("by", asked) or loaded("analysis.volatile_prefixes:BY")
    where, room = parsed_filters(asked["where"]), asked["capacity_tokens"]
    return lambda ledger: answered(
        ledger, configuration, by=by, window=window, where=where, capacity_tokens=room
    )


def _asked_semantic_cache(_: Configuration, window: Window, asked: Words) -> Prepared:
    semantic_cache = loaded("analysis.semantic_cache:semantic_cache")
    where, grain, limit = parsed_filters(asked["where"]), ",".join(asked["by"]), asked["limit"]
    return lambda ledger: semantic_cache(ledger, window=window, by=grain, where=where, limit=limit)


def _asked_budget(configuration: Configuration, _: Window, asked: Words) -> Prepared:
    """Each budget has its own month: no other window can be asked for."""
    if asked["since"] or asked["until"]:
        raise WrongQuestionError(
            "a budget is of a whole month; choose it with --where month=2026-10"
        )
    budget, columns = loaded("analysis.budget:budget"), loaded("analysis.budget:BUDGET_FILTERS")
    where, timezone = parsed_filters(asked["where"], columns), asked["timezone"]
    return lambda ledger: budget(ledger, configuration, timezone=timezone, where=where)


def _given(option: str, asked: Words) -> Any:
    """What the command line gives for this option, nothing where it is a default."""
    return asked[option] if _is_given(option) else ()


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


OWN: Mapping[str, Callable[[Configuration, Window, Words], Prepared]] = {
    "calls": _asked_calls,
    "engine": _asked_engine,
    "budget": _asked_budget,
    "idle": _asked_idle,
    "volatile_prefixes": _asked_volatile_prefixes,
    "semantic_cache": _asked_semantic_cache,
}
"""Questions whose words are read in a way of their own."""

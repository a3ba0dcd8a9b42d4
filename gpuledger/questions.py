"""`gpuledger questions`: every analysis with its question.

Owns which command asks what, and what no command asks by name. Refuses to describe: the words are
the facts that each question declares.
"""

import click
import polars as pl

from analysis.computed import COMPUTED
from analysis.facts import Facts
from analysis.sql import all_questions
from gpuledger.asked import NAMES
from gpuledger.options import format_option
from gpuledger.output import Format, write_frame

COMMANDS = {
    "law": "gpuledger ask law --by COLUMN",
    "calls": "gpuledger ask calls",
    "latency": "gpuledger ask latency --by COLUMN",
    "tool_latency": "gpuledger ask tool_latency",
    "critical_path": "gpuledger ask critical_path --by COLUMN",
    "goodput": "gpuledger ask goodput --by COLUMN",
    "chains": "gpuledger ask chains --by COLUMN",
    "siblings": "gpuledger ask siblings --by COLUMN",
    "batch_lane": "gpuledger ask batch_lane --by COLUMN",
    "few_outputs": "gpuledger ask few_outputs --by COLUMN",
    "length": "gpuledger ask length --by COLUMN",
    "limits": "gpuledger ask limits --by COLUMN",
    "finish_reasons": "gpuledger ask finish_reasons --by COLUMN",
    "concentration": "gpuledger ask concentration --by COLUMN",
    "prompt_sections": "gpuledger ask prompt_sections --by COLUMN",
    "chunks": "gpuledger ask chunks --by COLUMN",
    "history": "gpuledger ask history --by COLUMN",
    "examples": "gpuledger ask examples --by COLUMN",
    "prefix_cache": "gpuledger ask prefix_cache --by COLUMN",
    "prefix_loss": "gpuledger ask prefix_loss --by COLUMN",
    "volatile_prefixes": "gpuledger ask volatile_prefixes --by COLUMN",
    "response_cache": "gpuledger ask response_cache --by COLUMN",
    "concurrency": "gpuledger ask concurrency",
    "context_limits": "gpuledger ask context_limits",
    "bursts": "gpuledger ask bursts",
    "interference": "gpuledger ask interference",
    "gpu_fit": "gpuledger ask gpu_fit",
    "preemptions": "gpuledger ask preemptions",
    "output_format": "gpuledger ask output_format --by COLUMN",
    "boilerplate": "gpuledger ask boilerplate --by COLUMN",
    "routing": "gpuledger ask routing --by endpoint,model",
    "rejects": "gpuledger ask rejects",
    "pairs": "gpuledger ask pairs",
    "operations": "gpuledger ask operations",
    "loops": "gpuledger ask loops",
    "duplicates": "gpuledger ask duplicates",
    "in_flight": "gpuledger ask in_flight",
    "retries": "gpuledger ask retries",
    "tool_repeats": "gpuledger ask tool_repeats",
    "semantic_cache": "gpuledger ask semantic_cache",
    "engine": "gpuledger ask engine",
    "budget": "gpuledger ask budget",
    "anomalies": "gpuledger ask anomalies --by COLUMN",
    "prices": "gpuledger ask prices --by COLUMN",
    "unit_costs": "gpuledger ask unit_costs --by COLUMN",
    "idle": "gpuledger ask idle --by COLUMN",
    "forecast": "gpuledger ask forecast --by COLUMN",
    "explain": "gpuledger explain --from PERIOD --to PERIOD",
    "levers": "gpuledger levers",
    "trace": "gpuledger trace ID",
    "traces": "gpuledger dashboard",
}
"""Question to the command that asks it."""

PARTS = {
    "prompt_orders": "gpuledger ask prefix_loss --by COLUMN",
    "prompt_chunks": "gpuledger ask chunks --by COLUMN",
    "few_outputs_calls": "gpuledger ask few_outputs --by COLUMN",
    "answer_shapes": "gpuledger ask output_format --by COLUMN",
    "output_parts": "gpuledger levers",
    "simple_calls": "gpuledger ask routing --by endpoint,model",
    "priced_tokens": "gpuledger ask routing --by endpoint,model",
    "sentence_counts": "gpuledger ask boilerplate --by COLUMN",
    "said_sentences": "gpuledger ask boilerplate --by COLUMN",
    "completions": "gpuledger ask boilerplate --by COLUMN",
    "chains_extent": "gpuledger ask chains --by COLUMN",
    "span_count": "gpuledger ask critical_path --by COLUMN",
    "critical_path_calls": "gpuledger ask critical_path --by COLUMN",
    "critical_path_runs": "gpuledger ask critical_path --by COLUMN",
    "calls_of_trace": "gpuledger trace ID",
    "engine_calls": "gpuledger ask engine",
    "engine_replicas": "gpuledger ask engine",
    "engine_series": "gpuledger ask engine",
    "engine_tokens": "gpuledger ask engine",
    "engine_sizes": "gpuledger ask concurrency",
    "lane_days": "gpuledger ask concurrency",
    "cohorts": "gpuledger ask law --by COLUMN",
    "estimated_end": "gpuledger ask law --by COLUMN",
    "extent": "gpuledger ask law --by COLUMN",
    "extent_by_origin": "gpuledger ask law --by COLUMN",
    "identities": "gpuledger trace ID",
    "known_hashes": "gpuledger ask duplicates",
    "charged_pieces": "gpuledger levers",
    "served_calls": "gpuledger levers",
    "token_costs": "gpuledger levers",
    "token_parts": "gpuledger levers",
    "output_tails": "gpuledger levers",
    "adapter_switches": "gpuledger levers",
    "told_facts": "gpuledger levers",
    "call_labels": "gpuledger ask duplicates",
    "repeated_costs": "gpuledger ask duplicates",
    "token_sums": "gpuledger ask prices --by COLUMN",
    "tool_totals": "gpuledger ask tool_repeats",
    "latency_histogram": "gpuledger ask latency --by COLUMN",
    "law_detailed": "gpuledger ask law --by day",
    "semantic_cache_calls": "gpuledger ask semantic_cache",
    "plan_months": "gpuledger ask law --by COLUMN",
    "price_rules": "gpuledger ask law --by COLUMN",
}
"""Question that only other answers ask, to a command whose answer it is a part of."""

CHECK_COMMAND = "gpuledger check"


@click.command()
@format_option
def questions(output_format: Format) -> None:
    """Every analysis with its question, how it is asked, its grain and units.

    First what `ask` answers by name, then what has a command of its own, then the parts of these
    answers, then the checks.
    """
    own = COMMANDS.keys() - set(NAMES)
    known = sorted([*all_questions(), *COMPUTED], key=lambda facts: facts.name)
    rows = [
        *[_row("question", one, COMMANDS[one.name]) for one in known if one.name in NAMES],
        *[_row("command", one, COMMANDS[one.name]) for one in known if one.name in own],
        *[_row("part", one, PARTS.get(one.name)) for one in known if one.name not in COMMANDS],
        *[_row("check", one, CHECK_COMMAND) for one in all_questions("checks")],
    ]
    write_frame(pl.DataFrame(rows), output_format, "What can be asked")


def where_asked(name: str) -> str | None:
    """What to do about `name`, which `ask` does not know but `questions` lists; else None."""
    if name in COMMANDS:
        return f"{name!r} is asked with `{COMMANDS[name]}`"
    if name in PARTS:
        return f"{name!r} is a part of what `{PARTS[name]}` answers"
    if name in {one.name for one in all_questions("checks")}:
        return f"{name!r} is a part of `{CHECK_COMMAND}`"
    return None


def _row(kind: str, facts: Facts, asked_with: str | None) -> dict[str, str | None]:
    return {
        "kind": kind,
        "name": facts.name,
        "question": facts.question,
        "asked_with": asked_with,
        "grain": facts.grain,
        "unit": facts.unit,
    }

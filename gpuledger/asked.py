"""Which questions can be asked by name, and where each is answered.

Owns the list, and which options each takes. Refuses to import an answer that is not asked: each is
named as `module:function`.
"""

import importlib
from collections.abc import Mapping
from typing import Any

OF_CALLS = "analysis.columns:FILTER_COLUMNS"

GROUPED: Mapping[str, str] = {
    "law": "analysis.law:law",
    "latency": "analysis.latency:latency",
    "goodput": "analysis.goodput:goodput",
    "critical_path": "analysis.critical_path:critical_path",
    "length": "analysis.lengths:length",
    "limits": "analysis.lengths:limits",
    "finish_reasons": "analysis.lengths:finish_reasons",
    "concentration": "analysis.lengths:concentration",
    "prompt_sections": "analysis.prompt_sections:prompt_sections",
    "chunks": "analysis.chunks:chunks",
    "history": "analysis.history:history",
    "examples": "analysis.examples:examples",
    "prefix_cache": "analysis.prefix_cache:prefix_cache",
    "prefix_loss": "analysis.prefix_loss:prefix_loss",
    "response_cache": "analysis.response_cache:response_cache",
    "chains": "analysis.chains:chains",
    "siblings": "analysis.siblings:siblings",
    "batch_lane": "analysis.batch_lane:batch_lane",
    "few_outputs": "analysis.few_outputs:few_outputs",
    "output_format": "analysis.output_format:output_format",
    "boilerplate": "analysis.boilerplate:boilerplate",
    "routing": "analysis.routing:routing",
    "anomalies": "analysis.anomalies:anomalies",
    "forecast": "analysis.forecast:forecast",
    "unit_costs": "analysis.unit_costs:unit_costs",
}
"""Questions that are answered by group."""

LISTS: Mapping[str, tuple[str, str]] = {
    "rejects": ("analysis.rejects:rejects", "analysis.rejects:REJECT_FILTERS"),
    "pairs": ("analysis.pairs:pairs", "analysis.pairs:PAIR_FILTERS"),
    "operations": ("analysis.operations:operations", "analysis.operations:OPERATION_FILTERS"),
    "tool_latency": ("analysis.tool_latency:tool_latency", "analysis.tool_latency:RUN_FILTERS"),
    "loops": ("analysis.loops:loops", "analysis.loops:LOOP_FILTERS"),
    "duplicates": ("analysis.duplicates:duplicates", OF_CALLS),
    "in_flight": ("analysis.duplicates:in_flight", OF_CALLS),
    "retries": ("analysis.retries:retries", "analysis.operations:OPERATION_FILTERS"),
    "tool_repeats": ("analysis.tool_repeats:tool_repeats", "analysis.tool_repeats:TOOL_FILTERS"),
}
"""Questions that list rows, with what they may be filtered by."""

POOLED: Mapping[str, tuple[str, str]] = {
    "concurrency": ("analysis.concurrency:concurrency", "analysis.capacity.lanes:LANE_FILTERS"),
    "prices": ("analysis.prices:prices", OF_CALLS),
    "context_limits": ("analysis.context_limits:context_limits", OF_CALLS),
    "bursts": ("analysis.bursts:bursts", OF_CALLS),
    "preemptions": (
        "analysis.preemptions:preemptions",
        "analysis.preemptions:PREEMPTION_FILTERS",
    ),
    "interference": ("analysis.interference:interference", "analysis.capacity.lanes:LANE_FILTERS"),
    "gpu_fit": ("analysis.gpu_fit:gpu_fit", "analysis.gpu_fit:GPU_FIT_FILTERS"),
}
"""Questions with columns of their own to group by, with what they may be filtered by."""

CACHES = ("duplicates", "response_cache", "tool_repeats")
"""Questions that ask for a cache, whose answers live for `--ttl`."""

ROOMS = ("prefix_loss", "volatile_prefixes")
"""Questions that ask for a prefix cache, which has room for `--capacity-tokens`."""

NAMES = (
    *GROUPED,
    "calls",
    *LISTS,
    *POOLED,
    "engine",
    "budget",
    "idle",
    "semantic_cache",
    "volatile_prefixes",
)

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "by": (*GROUPED, *POOLED, "engine", "idle", "semantic_cache", "volatile_prefixes"),
    "order": ("calls",),
    "limit": (*LISTS, "calls", "semantic_cache"),
    "ttl": CACHES,
    "capacity_tokens": ROOMS,
    "policy": ("idle",),
}
"""The options that not every question takes, with the questions that do."""
FEW_QUESTIONS = 3
"""So many questions that take an option are named where another is asked with it."""


def not_taken(question: str, option: str) -> str | None:
    """Why `question` is wrongly asked with `option`, as Python spells it; None where it is not."""
    if question in OPTIONS.get(option, NAMES):
        return None
    takers = OPTIONS[option]
    fitting = f": it is for {', '.join(takers)}" if len(takers) <= FEW_QUESTIONS else ""
    own = ", ".join(_spelled(one) for one, names in OPTIONS.items() if question in names)
    return (
        f"{question} takes no {_spelled(option)}{fitting}; besides --where and the window "
        f"{question} takes {own or 'nothing'}"
    )


def _spelled(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def loaded(target: str) -> Any:
    """What `target`, a `module:name`, stands for."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)

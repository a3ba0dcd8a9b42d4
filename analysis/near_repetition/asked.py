"""A call as a semantic cache would see it: its question, and everything that must be the same.

Owns what of a prompt is the question, the last message of the user, and what is its scope. Refuses
a prompt whose question is no plain text, is long, or was masked: such texts are not compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.near_repetition.guards import MASKED
from ingest.calls.content import Message, messages_of
from ingest.calls.fingerprints import json_text

LONGEST_QUESTION = 500
"""Characters; of longer texts the embedding says too little about a detail."""

SCOPE_GUARDS = (
    "user", "tenant", "model", "system prompt", "history", "tools", "parameters", "temperature",
    "in flight",
)  # fmt: skip
"""Guards of what stands around the question, in the order in which they are told."""

_SYSTEM_ROLES = frozenset({"system", "developer"})
_PARAMETERS = ("max_tokens", "top_p", "seed", "stop", "response_format", "n_choices")

Unfit = Literal["no plain text", "long", "masked", "tools unknown"]
"""Why a question is not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question; `scope` are the values of the guards from "user" to "parameters".

    `is_sampled` says that the temperature is above 0, or not told, which is 1 by the API. Instants
    are nanoseconds since 1970.
    """

    call_id: str
    endpoint: str | None
    text: str
    text_hash: str
    scope: tuple[Any, ...]
    is_sampled: bool
    begun_at: int
    ended_at: int | None


def asked_of(row: Mapping[str, Any]) -> Asked | Unfit:
    """The question of a row of `semantic_cache.sql`, or why it is not compared."""
    messages = messages_of(row["prompt"], "user") or []
    text = messages[-1].get("content") if messages else None
    if not isinstance(text, str) or messages[-1].get("role") != "user" or not text.strip():
        return "no plain text"
    if MASKED in row["prompt"]:
        return "masked"
    if len(text) > LONGEST_QUESTION:
        return "long"
    if row["is_tools_unknown"]:
        return "tools unknown"
    return Asked(
        call_id=row["call_id"],
        endpoint=row["endpoint"],
        text=text,
        text_hash=row["input_hash"],
        scope=_scope(row, messages[:-1]),
        is_sampled=row["temperature"] != 0,
        begun_at=row["begun_at"],
        ended_at=row["ended_at"],
    )


def _scope(row: Mapping[str, Any], before: Sequence[Message]) -> tuple[Any, ...]:
    system = [message for message in before if message.get("role") in _SYSTEM_ROLES]
    history = [message for message in before if message.get("role") not in _SYSTEM_ROLES]
    return (
        row["user_id"],
        row["tenant"],
        row["model"],
        json_text(system),
        json_text(history),
        row["tools_hash"],
        tuple(row[name] for name in _PARAMETERS),
    )


def scope_conflicts(kept: Asked, later: Asked) -> tuple[str, ...]:
    """The guards of the scope that keep the answer of `kept` from serving `later`."""
    found = [
        guard
        for guard, one, other in zip(SCOPE_GUARDS, kept.scope, later.scope, strict=False)
        if one != other
    ]
    if kept.is_sampled or later.is_sampled:
        found.append("temperature")
    if kept.ended_at is None or kept.ended_at > later.begun_at:
        found.append("in flight")
    return tuple(found)

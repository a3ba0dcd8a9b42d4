"""The 44 levers as data: what each changes, its tier, how it is judged, and what can go wrong.

Owns the reading of `analysis/levers.toml`. Refuses to know where a lever applies.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """What levers of a tier can change in an answer, and what each has to show first."""

    tier: int
    name: str
    change: str
    show: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One change that moves a letter of the law.

    `partition` is what its claims are on a part of: those of levers with one partition are on
    different tokens. `needs` is what a ledger has to hold to tell whether it applies.
    """

    number: int
    name: str
    letter: str
    tier: int
    evaluate: tuple[str, ...]
    risk: str
    needs: str
    partition: str = ""


def levers_known() -> tuple[Lever, ...]:
    """All levers, by number."""
    return tuple(
        Lever(**{**row, "evaluate": tuple(row["evaluate"])}) for row in _content()["levers"]
    )


def tiers_known() -> tuple[Tier, ...]:
    """All tiers, by number."""
    return tuple(Tier(**row) for row in _content()["tiers"])


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads((files("analysis") / "levers.toml").read_text("utf-8"))

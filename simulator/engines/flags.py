"""Engine flags as a user writes them: `prefix_cache=off,slots=4`.

Owns their parsing. Refuses an unknown flag, naming the nearest known one, and a value outside
what the flag can take.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from simulator.errors import WrongFlagError


class Kind(Protocol):
    """What values a flag can take."""

    def refusal(self, value: str) -> str | None:
        """What is allowed, where `value` is not; None where it is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def refusal(self, value: str) -> str | None:
        """What is allowed, where `value` is not; None where it is."""
        return None if value in self.words else " or ".join(self.words)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `least` to `most` in steps of `step`."""

    least: int
    most: int
    step: int = 1

    def refusal(self, value: str) -> str | None:
        """What is allowed, where `value` is not; None where it is."""
        is_number = value.isascii() and value.isdigit()
        if is_number and self.least <= int(value) <= self.most and int(value) % self.step == 0:
            return None
        steps = f" in steps of {self.step:,}" if self.step > 1 else ""
        return f"a whole number from {self.least:,} to {self.most:,}{steps}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSpec:
    """A flag's default and the values it can take."""

    default: str
    kind: Kind


def parse_flags(text: str) -> dict[str, str]:
    """`name=value` pairs separated by commas; an empty text is no flags."""
    flags: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise WrongFlagError(f"{pair!r} is no engine flag; write name=value, such as slots=4")
        if name in flags:
            raise WrongFlagError(f"the engine flag {name!r} is given twice in {text!r}")
        flags[name] = value
    return flags


def resolve_flags(
    engine: str, specs: Mapping[str, FlagSpec], flags: Mapping[str, str]
) -> dict[str, str]:
    """Every flag of `specs`, as given or by default; raises `WrongFlagError`."""
    for name, value in flags.items():
        if name not in specs:
            near = difflib.get_close_matches(name, specs, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(specs)}"
            raise WrongFlagError(f"{engine} has no flag {name!r}; {hint}")
        allowed = specs[name].kind.refusal(value)
        if allowed is not None:
            raise WrongFlagError(f"{engine} flag {name}={value!r}: {allowed} is allowed")
    return {name: flags.get(name, spec.default) for name, spec in specs.items()}

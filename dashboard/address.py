"""Choices that the address of a page may carry.

Owns what is said of a value that the address asks for and nothing has. Refuses to replace it in
silence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

LACKS = {"period": "has no data", "line": "has no calls here"}
"""Why a value of a parameter cannot be shown, where it is not merely unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice of one value: its parameter in the address, its label, its options."""

    key: str
    label: str
    options: Sequence[str]
    default: str
    width_px: int | None = None


def choose(choice: Choice, told: DeltaGenerator) -> str:
    """The chosen value; what the address asks for in vain is said in `told`."""
    asked = st.query_params.get(choice.key)
    chosen = st.selectbox(
        choice.label,
        choice.options,
        index=choice.options.index(choice.default),
        key=choice.key,
        bind="query-params",
        width=choice.width_px or "stretch",
    )
    shown = choice.default if chosen is None else chosen
    if asked is not None and asked not in choice.options:
        told.text(replaced_sentence(choice.key, asked, shown))
    return shown


def replaced_sentence(key: str, asked: str, shown: str) -> str:
    """That the address asks for a value that cannot be shown, and what is shown instead."""
    lacks = LACKS.get(key, "is not known")
    return f"The address asks for {key.replace('_', ' ')} {asked}, which {lacks}; showing {shown}"

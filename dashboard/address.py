"""Choices that the address of a page may carry.

Owns what is said of a value that the address asks for and nothing has. Refuses to replace it in
silence: the sentence stands until another value is chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

LACKS = {
    "period": "has no data",
    "line": "has no calls here",
    "from": "is no day from 1970 on, such as 2026-10-01",
    "to": "is no day from 1970 on, such as 2026-10-01",
}
"""Why a value of a parameter cannot be shown, where it is not merely unknown."""
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)
"""Days that a reader may choose, and whose instants fit in nanoseconds since 1970."""
IN_VAIN = "asked_in_vain"


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
    in_vain = _asked_in_vain(choice.key, lambda asked: asked in choice.options)
    chosen = st.selectbox(
        choice.label,
        choice.options,
        index=choice.options.index(choice.default),
        key=choice.key,
        bind="query-params",
        on_change=lambda: _forget(choice.key),
        width=choice.width_px or "stretch",
    )
    shown = choice.default if chosen is None else chosen
    if in_vain is not None:
        told.text(replaced_sentence(choice.key, in_vain, shown))
    return shown


def choose_day(label: str, key: str, default: date, told: DeltaGenerator) -> date:
    """The chosen day; a day that the address asks for in vain is said in `told`."""
    in_vain = _asked_in_vain(key, is_day)
    chosen = st.date_input(
        label,
        default,
        min_value=FIRST_DAY,
        max_value=LAST_DAY,
        key=key,
        bind="query-params",
        on_change=lambda: _forget(key),
        width=150,
    )
    if in_vain is not None:
        told.text(replaced_sentence(key, in_vain, chosen.isoformat()))
    return chosen


def is_day(asked: str) -> bool:
    """Whether `asked` is a day as the address writes it: 2026-10-01."""
    try:
        day = date.fromisoformat(asked)
    except ValueError:
        return False
    return day.isoformat() == asked and FIRST_DAY <= day <= LAST_DAY


def replaced_sentence(key: str, asked: str, shown: str) -> str:
    """That the address asks for a value that cannot be shown, and what is shown instead."""
    lacks = LACKS.get(key, "is not known")
    return f"The address asks for {key.replace('_', ' ')} {asked}, which {lacks}; showing {shown}"


def _asked_in_vain(key: str, is_known: Callable[[str], bool]) -> str | None:
    """What the address asks of `key` without success, remembered after Streamlit has dropped it."""
    remembered: dict[str, str] = st.session_state.setdefault(IN_VAIN, {})
    asked = st.query_params.get(key)
    if asked is not None:
        remembered[key] = asked
    if key in remembered and is_known(remembered[key]):
        del remembered[key]
    return remembered.get(key)


def _forget(key: str) -> None:
    """Another value was chosen: the address no longer asks in vain."""
    st.session_state.setdefault(IN_VAIN, {}).pop(key, None)

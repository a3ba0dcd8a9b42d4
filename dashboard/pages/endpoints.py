"""Endpoints: the law per line with its total, and the calls behind a line down to their trace."""

from collections.abc import Mapping

import streamlit as st

from dashboard import answers
from dashboard.address import Choice, choose
from dashboard.drilldown import NO_LINE, Behind, line_choices
from dashboard.pages.notes import show_notes
from dashboard.pages.tables import show_table
from dashboard.pages.trace_panel import show_trace
from dashboard.source import Source
from dashboard.tables import call_columns, calls_table, law_columns, law_table
from dashboard.view import View
from dashboard.wording import count_text

SHOWN_CALLS = 500
ORDERS = {
    "dearest first": "cost",
    "slowest first": "e2e_s",
    "most GPU-seconds first": "gpu_seconds",
    "earliest first": "started_at",
}
"""What a reader chooses, and by which column that sorts."""
ORDER = Choice(
    key="order", label="Order", options=tuple(ORDERS), default="dearest first", width_px=220
)


def show(source: Source, view: View) -> None:
    """The page in `view`."""
    lines = answers.law_by(source, (view.by,), view.window, view.where)
    st.subheader(f"The law by {view.by}, {view.period.text}")
    show_table(
        law_table(lines.frame, view.by),
        "law",
        f"The law by {view.by}",
        column_config=law_columns(view.by, view.currency),
        height="content",
    )
    show_notes(lines)
    _calls_behind(source, view, line_choices(lines.frame, view.by, view.where))


def _calls_behind(source: Source, view: View, choices: Mapping[str, Behind]) -> None:
    st.subheader("Calls behind a line")
    told = st.container()
    lines = Choice(
        key="line", label="Line", options=[NO_LINE, *choices], default=NO_LINE, width_px=300
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = choose(lines, told)
        order = choose(ORDER, told)
    if chosen in choices:
        _calls(source, view, choices[chosen], ORDERS[order])


def _calls(source: Source, view: View, behind: Behind, order: str) -> None:
    answer, count = answers.calls_behind(source, view.window, behind, order, SHOWN_CALLS)
    st.text(f"Showing {count_text(answer.frame.height)} of {count_text(count)} calls")
    table = calls_table(answer.frame)
    event = show_table(
        table,
        "calls",
        "Calls",
        column_config=call_columns(),
        on_select="rerun",
        selection_mode="single-row",
        key="calls",
    )
    rows = event.selection.rows
    if rows:
        show_trace(source, view, table["trace_id"][rows[0]] or table["call_id"][rows[0]])

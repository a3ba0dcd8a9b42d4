"""Traces: find one by its id, its endpoint, its cost or its length, and see where it went."""

import streamlit as st

from analysis.errors import NoDataError
from analysis.traces import TraceSearch
from analysis.wording import counted
from dashboard import answers
from dashboard.address import Choice, choose
from dashboard.pages.tables import show_table
from dashboard.pages.trace_panel import show_trace
from dashboard.source import Source
from dashboard.tables import trace_columns, traces_table
from dashboard.view import View
from dashboard.wording import count_text

SHOWN_TRACES = 500
ORDERS = {
    "dearest first": "cost",
    "longest first": "duration_s",
    "most GPU-seconds first": "gpu_seconds",
    "most calls first": "call_count",
    "latest first": "started_at",
}
"""What a reader chooses, and by which column that sorts."""
ORDER = Choice(
    key="trace_order", label="Order", options=tuple(ORDERS), default="dearest first", width_px=220
)


def show(source: Source, view: View) -> None:
    """The page in `view`."""
    st.subheader(f"Traces with calls, {view.period.text}")
    search = _search()
    try:
        answer = answers.traces_in(source, view.window, view.where, search)
    except NoDataError:
        _no_trace(source, view)
        return
    found = answer.frame.height
    fitting = int(answer.frame["fitting_count"][0])
    st.text(f"Showing {count_text(found)} of {count_text(fitting)} traces; choose one below")
    show_table(
        traces_table(answer.frame),
        "traces",
        "Traces",
        column_config=trace_columns(),
        on_select=lambda: _remember(answer.frame["trace_id"].to_list()),
        selection_mode="single-row",
        key="trace_list",
    )
    trace_id = st.query_params.get("trace")
    if trace_id:
        _chosen_trace(source, view, trace_id)


def _no_trace(source: Source, view: View) -> None:
    """That no trace is found; raises `NoDataError` where there is no call either."""
    count = answers.calls_count(source, view.window, view.where)
    st.text(
        f"Of {counted(count, 'call')} here none is in a trace that fits. "
        "Search more widely; calls that name no trace are listed on Endpoints."
    )


def _chosen_trace(source: Source, view: View, trace_id: str) -> None:
    try:
        show_trace(source, view, trace_id)
    except NoDataError:
        st.text(f"The address asks for trace {trace_id}, which the ledger does not have")


def _remember(trace_ids: list[str]) -> None:
    """Put the chosen row's trace into the address."""
    rows = st.session_state["trace_list"].selection.rows
    if rows:
        st.query_params["trace"] = trace_ids[rows[0]]


def _search() -> TraceSearch:
    told = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        prefix = st.text_input(
            "Trace id begins with", key="trace_prefix", bind="query-params", width=260
        )
        least_cost = st.number_input(
            "Cost at least", value=None, min_value=0.0, key="least_cost", bind="query-params"
        )
        least_s = st.number_input(
            "Seconds at least", value=None, min_value=0.0, key="least_s", bind="query-params"
        )
        order = choose(ORDER, told)
    return TraceSearch(
        prefix=(prefix or "").strip().lower() or None,
        least_cost=least_cost,
        least_duration_s=least_s,
        order=ORDERS[order],
        limit=SHOWN_TRACES,
    )

"""One trace: its waterfall, and its spans as a table."""

import streamlit as st

from dashboard.source import Source
from dashboard.view import View


def show_trace(source: Source, view: View, trace_id: str) -> None:
    """The trace `trace_id` with the phases, GPU-seconds and money of its calls."""
    st.text(trace_id)

"""One trace: what it cost, its waterfall, and its spans as a table."""

import streamlit as st

from dashboard import answers
from dashboard.pages.tables import show_table
from dashboard.source import Source
from dashboard.tables import span_columns, spans_table, trace_sentence
from dashboard.view import View
from dashboard.waterfall import waterfall_figure

WATERFALL_HEIGHT_PX = 640
MORE_ROWS = "The command `gpuledger trace ID --limit N` shows more."


def show_trace(source: Source, view: View, identity: str) -> None:
    """The trace or call `identity` with the phases, GPU-seconds and money of its calls."""
    answer = answers.trace_of(source, identity)
    spans = answer.frame
    st.subheader("One trace")
    st.text(trace_sentence(answer.whole, view.currency))
    if spans.height < answer.whole.row_count:
        st.text(f"{answer.whole.shown_text(spans.height)}. {MORE_ROWS}")
    figure = waterfall_figure(spans, identity)
    with st.container(height=min(WATERFALL_HEIGHT_PX, figure.layout.height + 40), border=False):
        st.plotly_chart(figure, key="waterfall", alt="Waterfall of one trace")
    table = st.expander("Its spans as a table", key="spans", on_change="rerun")
    if table.open:
        show_table(
            spans_table(spans),
            "spans",
            "Spans of one trace",
            place=table,
            column_config=span_columns(),
        )

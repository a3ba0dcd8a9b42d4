"""One trace: what it cost, its waterfall, and its spans as a table."""

import streamlit as st

from dashboard import answers
from dashboard.pages.tables import show_table
from dashboard.source import Source
from dashboard.tables import span_columns, spans_table, trace_sentence
from dashboard.view import View
from dashboard.waterfall import drawn_spans, waterfall_figure
from dashboard.wording import count_text

WATERFALL_HEIGHT_PX = 640


def show_trace(source: Source, view: View, identity: str) -> None:
    """The trace or call `identity` with the phases, GPU-seconds and money of its calls."""
    spans = answers.trace_of(source, identity).frame
    drawn = drawn_spans(spans)
    st.subheader("One trace")
    st.text(trace_sentence(spans, view.currency))
    if drawn.height < spans.height:
        st.text(
            f"Showing {count_text(drawn.height)} of {count_text(spans.height)} spans: "
            "those at the top first, then calls, then the longest"
        )
    figure = waterfall_figure(drawn, identity)
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

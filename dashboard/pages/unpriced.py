"""Calls without a price: which, why, and what to configure or to send."""

import streamlit as st

from dashboard import answers
from dashboard.pages.tables import show_table
from dashboard.remedies import with_remedies
from dashboard.source import Source
from dashboard.summary import Summary
from dashboard.tables import unpriced_columns


def show_unpriced(source: Source, summary: Summary) -> None:
    """The reasons of all unpriced calls of the ledger, open where nothing has a price."""
    if not summary.unpriced_calls_count:
        return
    why = st.expander(
        "Calls without a price in the whole ledger: why, and what to do",
        expanded=summary.cost is None,
        key="unpriced",
        on_change="rerun",
    )
    if why.open:
        show_table(
            with_remedies(answers.without_price(source)),
            "without-price",
            "Calls without a price",
            place=why,
            column_config=unpriced_columns(),
            height="content",
        )

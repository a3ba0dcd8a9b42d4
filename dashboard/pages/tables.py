"""A table with its download: what it holds, whole, as CSV that a spreadsheet may open."""

from typing import Any

import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.guarded_csv import guarded_csv

# The download of Streamlit's own toolbar writes a text such as =1+1 as it is, and a spreadsheet
# would compute it; it is also hidden on a phone.
NO_UNGUARDED_DOWNLOAD = "<style>button[aria-label^='Download as CSV']{display:none}</style>"


def show_table(
    frame: pl.DataFrame, name: str, alt: str, *, place: DeltaGenerator | None = None, **options: Any
) -> Any:
    """`frame` as a table called `alt`, with a button that downloads it as NAME.csv.

    `options` go to Streamlit; the result is its selection where rows can be chosen.
    """
    target = st.container() if place is None else place
    target.html(NO_UNGUARDED_DOWNLOAD)
    result = target.dataframe(frame, hide_index=True, placeholder="–", alt=alt, **options)
    target.download_button(
        f"Download: {alt}",
        data=lambda: guarded_csv(frame),
        file_name=f"gpuledger-{name}.csv",
        mime="text/csv",
        key=f"download_{name}",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )
    return result

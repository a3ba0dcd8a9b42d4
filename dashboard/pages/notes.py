"""What must be said beside an answer."""

import streamlit as st

from analysis.answer import Answer

WINDOW_NOTE = "window: "


def show_notes(answer: Answer) -> None:
    """The notes of `answer` as text; its window stands in the heading already."""
    for note in answer.notes:
        if not note.startswith(WINDOW_NOTE):
            st.text(note)

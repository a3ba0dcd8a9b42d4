"""Sentences beside an answer, as text."""

import streamlit as st

from analysis.answer import Answer
from dashboard.notes import notes_beside


def show_notes(answer: Answer) -> None:
    """The notes of `answer`, one a line."""
    for note in notes_beside(answer):
        st.text(note)

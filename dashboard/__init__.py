"""Answers to pictures and documents: Streamlit pages, charts, reports."""

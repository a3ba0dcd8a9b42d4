"""Rows to answers: reads only, one question per file."""

"""Rows to answers: one question per file. Reads the ledger and never writes to it."""

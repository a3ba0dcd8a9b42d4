"""The engines a trace is replayed on, one adapter each."""

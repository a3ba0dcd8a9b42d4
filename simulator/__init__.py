"""Scenario, replay on an engine, comparison; asks analysis, writes through ingest."""

"""Telemetry to rows: owns the schema, the readers and the only door to the database."""

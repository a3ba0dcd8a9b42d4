"""What of a delivery is written where: spans, calls, cohorts, deliveries.

Owns the statements that change these tables, one `.sql` file each. Refuses to read a source, to
derive a call and to charge one. Nothing here opens a transaction: `ingest.deliver` does.
"""

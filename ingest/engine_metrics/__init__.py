"""What inference engines count of themselves: batch, queue, cache, tokens, preemptions.

Owns the names under which engines expose these, and the way from a scrape or an OTLP export to
samples. Refuses to guess: a metric that the table does not name is ignored and counted.
"""

"""Spans to calls: names, tokens, phases, endpoints and the joining of several views of one call."""

"""The live receiver: OTLP over HTTP and gRPC, durable before acknowledged.

Owns what happens between a request and its answer, and the way from the inbox into the ledger.
Refuses to acknowledge what would not survive the end of the process.
"""

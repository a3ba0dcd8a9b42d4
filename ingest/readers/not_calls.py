"""Files about model calls that hold none: sums over many calls, prices, recordings of HTTP.

Owns their names and the reason why each is refused. Refuses to make calls of a sum: what several
calls used together cannot be told apart again.
"""

from ingest.readers.csv_rows import header_cells
from ingest.readers.opening import Opening, opening

_SUMS = "sums over many calls, of which no call can be made; ingest what logged the calls"
_BUCKETS = f"usage of a provider in buckets of time: {_SUMS}"
_BUCKET_MARKS = (b'"object":"bucket"', b'"starting_at"', b'"organization.usage.', b'"num_model_')
_BY_KEYS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"start_time", "end_time", "results"}), _BUCKETS),
    (frozenset({"starting_at", "ending_at", "results"}), _BUCKETS),
    (
        frozenset({"custom_id", "method", "url", "body"}),
        "requests of a batch without their answers; ingest the output of the batch",
    ),
    (frozenset({"pricing_urls", "models"}), "a catalogue of prices, not calls"),
    (frozenset({"api_pattern", "models"}), "a catalogue of prices, not calls"),
)
_BY_COLUMNS: tuple[tuple[frozenset[str], str], ...] = (
    *(
        (frozenset({column}), _BUCKETS)
        for column in (
            "num_model_requests",
            "n_requests",
            "num_requests",
            "api_requests",
            "usage_date_utc",
            "n_context_tokens_total",
        )
    ),
    (frozenset({"amount_value", "line_item"}), f"costs of a provider by day: {_SUMS}"),
    (frozenset({"cost_usd", "usage_date"}), f"costs of a provider by day: {_SUMS}"),
    (
        frozenset({"prompt_throughput", "gen_throughput"}),
        f"throughput of an engine over time: {_SUMS}",
    ),
    (frozenset({"gpu type", "on-demand"}), "a list of prices of GPUs, not calls"),
    (
        frozenset({"input", "output", "outputmaxtokens10"}),
        "test vectors of a tokenizer, texts with their tokens, not calls",
    ),
)
_CASSETTE = (
    "a cassette of recorded HTTP in YAML, not a log of calls; write the bodies of its answers as "
    "JSON lines"
)


def not_calls(head: bytes) -> str | None:
    """What a source is that is about calls and has none; None where it may be calls."""
    first = opening(head)
    if not first.keys:
        return _of_text(first.first_line)
    for keys, what in _BY_KEYS:
        if keys <= first.keys:
            return what
    return _of_marks(head, first)


def _of_marks(head: bytes, first: Opening) -> str | None:
    plain = head.replace(b" ", b"")
    if {"data", "has_more"} <= first.keys and any(mark in plain for mark in _BUCKET_MARKS):
        return _BUCKETS
    if b'"litellm_provider"' in plain and b'"input_cost_per_' in plain:
        return "a catalogue of prices, not calls"
    return None


def _of_text(first_line: bytes) -> str | None:
    if first_line.rstrip() == b"interactions:":
        return _CASSETTE
    if first_line.startswith(b"EncodingName:"):
        return "test plans of a tokenizer, texts with their tokens, not calls"
    columns = {cell.lower() for cell in header_cells(first_line)}
    return next((what for known, what in _BY_COLUMNS if known <= columns), None)

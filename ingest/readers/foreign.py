"""What a source looks like that no reader takes.

Owns the names of formats that are known and not read, and of files that describe others. Refuses
to say "unknown" where the content tells more.
"""

from ingest.files.content import appearance, no_data
from ingest.readers.not_calls import not_calls
from ingest.readers.opening import opening
from ingest.readers.otlp_json_spans import OTHER_SIGNALS
from ingest.readers.otlp_wire import framing_and_signal

_SHOWN_KEYS = 6
PARQUET_MAGIC = b"PAR1"

_COMPANIONS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"vllm_version", "engine_kwargs"}),
        "the description of a vLLM run; it is read with the request lifecycles beside it",
    ),
)

_BY_KEYS: tuple[tuple[frozenset[str], str], ...] = (
    *((frozenset({key}), what) for key, what in OTHER_SIGNALS.items()),
)


def companion(head: bytes) -> str | None:
    """What the head describes, where it is a companion of another file; else None."""
    keys = opening(head).keys
    return next((what for known, what in _COMPANIONS if known <= keys), None)


def other_signal(head: bytes) -> str | None:
    """What the head shows, where it is OTLP logs or metrics as protobuf; else None."""
    found = framing_and_signal(head)
    if found is None or found[1] == "traces":
        return None
    return f"OTLP {found[1]} as protobuf, not traces"


def described(head: bytes) -> str:
    """What the head shows, for the error that no reader takes a source."""
    known = no_data(head) or other_signal(head) or not_calls(head)
    if known is not None:
        return known
    if head.startswith(PARQUET_MAGIC):
        return "a Parquet file; --map FILE says which of its columns is what"
    first = opening(head)
    for keys, what in _BY_KEYS:
        if keys <= first.keys:
            return what
    if first.keys:
        shown = sorted(first.keys)[:_SHOWN_KEYS]
        more = "" if len(first.keys) <= _SHOWN_KEYS else ", …"
        return f"JSON with the keys {', '.join(key[:30] for key in shown)}{more}"
    return appearance(head)

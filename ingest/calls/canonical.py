"""What a tool was told and what it answered, so far as it tells two runs apart.

Owns which keys say nothing but that a run is another one. The form: JSON in text is read, keys are
ordered, texts are normalised as everywhere, and volatile keys are left out: of arguments at any
depth, of a result at the top alone. An object that would be left empty keeps all its keys. Refuses
to drop by value: a key is volatile by its whole name.
"""

import json
from collections.abc import Callable, Mapping, Set

from ingest.calls.aliases import FieldName
from ingest.calls.fingerprints import (
    MAX_DEPTH,
    MAX_JSON_CHARACTERS,
    fingerprint,
    fingerprint_of_run,
    is_fingerprint,
    normalised_text,
)
from ingest.config import Configuration
from ingest.records import Json

VOLATILE_RESULT_KEYS = frozenset(
    {
        "nonce", "timestamp", "requestid", "clientrequestid", "correlationid", "callid",
        "toolcallid", "traceid", "spanid", "traceparent", "elapsedms", "durationms", "latencyms",
        "tookms",
    }
)  # fmt: skip
"""Of a result: what changes though nothing else did. Small letters, without `_`, `-` and `.`."""

VOLATILE_ARGUMENT_KEYS = VOLATILE_RESULT_KEYS | {
    "uuid", "guid", "idempotencykey", "counter", "attempt", "retry", "retrycount", "iteration",
    "cachebuster", "currenttime", "now",
}  # fmt: skip
"""Of arguments: those of results, and what counts the runs themselves."""

Fingerprint = Callable[[Json, Configuration], str | None]


def fingerprint_of_arguments(value: Json, configuration: Configuration) -> str | None:
    """`v3:` and 64 hex digits of arguments, the same for two runs that ask the same."""
    return _fingerprint(value, configuration, VOLATILE_ARGUMENT_KEYS, MAX_DEPTH)


def fingerprint_of_result(value: Json, configuration: Configuration) -> str | None:
    """`v3:` and 64 hex digits of a result, the same for two runs that found the same."""
    return _fingerprint(value, configuration, VOLATILE_RESULT_KEYS, 1)


def fingerprint_of_field(field: FieldName, value: Json, configuration: Configuration) -> str | None:
    """The fingerprint of `value` as the texts of `field` are compared."""
    return _OF_FIELD.get(field, fingerprint)(value, configuration)


_OF_FIELD: Mapping[FieldName, Fingerprint] = {
    "tool_arguments": fingerprint_of_arguments,
    "tool_result": fingerprint_of_result,
}


def _fingerprint(
    value: Json, configuration: Configuration, volatile: Set[str], levels: int
) -> str | None:
    if value is None or configuration.content == "off":
        return None
    if is_fingerprint(value):
        return str(value)
    return fingerprint_of_run(_canonical(value, volatile, levels), configuration)


def _canonical(value: Json, volatile: Set[str], levels: int, depth: int = 0) -> Json:
    """`value` without the `volatile` keys of its objects in the upper `levels`."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, str):
        inside = _json_inside(value)
        if inside is None:
            return normalised_text(value)
        return _canonical(inside, volatile, levels, depth + 1)
    if isinstance(value, Mapping):
        kept = {str(key): item for key, item in value.items() if _plain(key) not in volatile}
        named = kept if kept and levels > 0 else {str(key): value[key] for key in value}
        return {
            key: _canonical(item, volatile, levels - 1, depth + 1) for key, item in named.items()
        }
    if isinstance(value, list | tuple):
        return [_canonical(item, volatile, levels - 1, depth + 1) for item in value]
    return value if isinstance(value, int | float | None) else str(value)


def _plain(key: object) -> str:
    """`key` in small letters, without what separates words."""
    return "".join(character for character in str(key).lower() if character.isalnum())


def _json_inside(text: str) -> Json | None:
    """The object or list that `text` is JSON for."""
    if len(text) > MAX_JSON_CHARACTERS or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found

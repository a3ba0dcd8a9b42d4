"""Hashes of prompts, completions, arguments and results, and the text that may be kept.

Owns the normalising of texts, version 1: Unicode NFC, line ends, trailing blanks, key order of
JSON; not case, not numbers, not punctuation. That of whole requests is at version 2: what the
client asked for, documented defaults left out (`request.told_apart_by`); that of what tools were
told and answered is version 3 (`canonical`). Refuses to keep text unless the configuration says
"full", and to hash at all where it says "off".
"""

import hashlib
import hmac
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.config import Configuration
from ingest.records import Json

VERSION = "v1"
REQUEST_VERSION = "v2"
RUN_VERSION = "v3"
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_FINGERPRINT = re.compile(r"v\d+k?:[0-9a-f]{64}")
MAX_DEPTH = 64
"""Nesting below this is not compared: no prompt says anything down there."""
MAX_JSON_CHARACTERS = 1024 * 1024
"""Longer text is compared as text: its key order is left as it is."""


def fingerprint(value: Json, configuration: Configuration) -> str | None:
    """`v1:` and 64 hex digits, `v1k:` where keyed; None where there is nothing or content is off.

    Keyed and unkeyed hashes never compare equal, nor do hashes of two versions of normalising. A
    text that `ingest.redact` has already replaced by its fingerprint has that fingerprint.
    """
    if value is None or configuration.content == "off":
        return None
    if is_fingerprint(value):
        return str(value)
    return _digest(normalised(value), configuration, VERSION)


def pseudonym(text: str, configuration: Configuration) -> str:
    """What stands for `text`, somebody's id, whatever `content` says; a fingerprint by its form."""
    return _digest(normalised_text(text), configuration, VERSION)


def fingerprint_of_request(parts: Sequence[Json], configuration: Configuration) -> str:
    """`v2:` and 64 hex digits, `v2k:` where keyed; `parts` are fingerprints, names and scalars."""
    return _digest(parts, configuration, REQUEST_VERSION)


def fingerprint_of_run(value: Json, configuration: Configuration) -> str:
    """`v3:` and 64 hex digits, `v3k:` where keyed; `value` in the form of `canonical`."""
    return _digest(value, configuration, RUN_VERSION)


def _digest(value: Json, configuration: Configuration, version: str) -> str:
    text = _CANONICAL.encode(value).encode()
    if configuration.hash_key is None:
        return f"{version}:{hashlib.sha256(text).hexdigest()}"
    keyed = hmac.new(configuration.hash_key.encode(), text, hashlib.sha256)
    return f"{version}k:{keyed.hexdigest()}"


def fingerprint_of_attributes(
    given: Mapping[str, Json], configuration: Configuration
) -> str | None:
    """One fingerprint of several attributes, each first reduced to its own."""
    if not given:
        return None
    own = {name: fingerprint(value, configuration) for name, value in given.items()}
    return fingerprint(own, configuration)


def own_fingerprint(text: str) -> str:
    """The attribute in which a span keeps the fingerprint of `text`, a field or a prefix, from
    before something in it was masked."""
    return f"gpuledger.hash.{text.rstrip('.')}"


def is_fingerprint(value: Json) -> bool:
    """Whether `value` is what `fingerprint` returns."""
    return isinstance(value, str) and _FINGERPRINT.fullmatch(value) is not None


def keeps_text(configuration: Configuration) -> bool:
    """Whether prompts and completions are stored themselves."""
    return configuration.content == "full"


def kept_text(value: Json, configuration: Configuration) -> str | None:
    """`value` as text to store; None unless content is "full"."""
    if value is None or not keeps_text(configuration) or is_fingerprint(value):
        return None
    text = value if isinstance(value, str) else json_text(value)
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def json_text(value: Json) -> str | None:
    """`value` as compact JSON with ordered keys; None where it is nested beyond all reason."""
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str
        )
    except RecursionError:
        return None


def normalised(value: Json, depth: int = 0) -> Json:
    """`value` with every text normalised; JSON inside of text is brought to one order of keys."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, str):
        inside = _json_inside(value)
        return normalised_text(value) if inside is None else normalised(inside, depth + 1)
    if isinstance(value, Mapping):
        return {str(key): normalised(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalised(item, depth + 1) for item in value]
    return value if isinstance(value, int | float | None) else str(value)


def normalised_text(text: str) -> str:
    """NFC, lines ended by a line feed, no blanks before a line's end nor at the end."""
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def _json_inside(text: str) -> Json | None:
    """The object or list that `text` is JSON for; numbers keep the digits they were written in."""
    if len(text) > MAX_JSON_CHARACTERS or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(
            text, parse_int=_literal, parse_float=_literal, object_pairs_hook=_sorted_pairs
        )
    except (ValueError, RecursionError):
        return None


def _literal(digits: str) -> Json:
    return {"number": digits}


def _sorted_pairs(pairs: list[tuple[str, Any]]) -> Json:
    """Keys in order; a key that is there twice stays there twice."""
    return ["object", *sorted(([key, value] for key, value in pairs), key=lambda pair: pair[0])]

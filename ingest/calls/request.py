"""What a call asked for: limits, sampling, streaming, format, number of choices.

Owns the columns of the request. Refuses to fill in a server's default: what nobody said is not
known.
"""

from collections.abc import Sequence
from typing import Any

from ingest.calls.aliases import FieldName, Reading, as_text, parsed_json
from ingest.calls.fingerprints import json_text
from ingest.records import Json

NUMBERS: tuple[FieldName, ...] = ("max_tokens", "temperature", "top_p", "seed", "n_choices")
STRUCTURES: tuple[FieldName, ...] = ("stop", "response_format")
MAX_CHOICES = 2**31 - 1
"""What the ledger's column holds."""


def request(views: Sequence[Reading]) -> dict[str, Any]:
    """Column to value, from the innermost view that says it."""
    columns: dict[str, Any] = {field: nearest(views, field) for field in (*NUMBERS, "stream")}
    if not 0 < (columns["n_choices"] or 1) <= MAX_CHOICES:
        columns["n_choices"] = None
    for field in STRUCTURES:
        columns[field] = structure_text(nearest(views, field))
    return columns


def nearest(views: Sequence[Reading], field: FieldName) -> Any:
    """The value of `field` by the innermost view that has one."""
    return next((value for view in views if (value := view.first(field)) is not None), None)


def structure_text(raw: Json) -> str | None:
    """A scalar as it is, a list or object as JSON with ordered keys."""
    given = parsed_json(raw)
    if given is None or isinstance(given, str | int | float):
        return as_text(given)
    return json_text(given)

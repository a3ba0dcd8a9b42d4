"""`[[plans]]`: flat prices by the month, and what two entries may not say at once.

Owns the shape of a plan. Refuses one that covers everything, one that ends before it begins, and
two entries of one name from the same instant.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from ingest.config_scope import SCOPE_COLUMNS
from ingest.errors import ConfigurationError

PLAN_COLUMNS = tuple(column for column in SCOPE_COLUMNS if column not in {"user_id", "pool"})
"""What the calls of a plan may be told by: one on a pool is paid with its GPUs."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A flat price for the calls that match `scope` and, where given, ask for one of `models`.

    It holds from `effective_from` until `effective_until`, or until a later entry of its name.
    """

    name: str
    scope: dict[str, str] = {}
    models: tuple[str, ...] | None = None
    price_per_month: Decimal
    currency: str | None = None
    effective_from: datetime | None = msgspec.field(name="from", default=None)
    effective_until: datetime | None = msgspec.field(name="until", default=None)


def refuse_wrong_plans(
    plans: Sequence[Plan], path: str, instant_of: Callable[[datetime | None], int | None]
) -> None:
    """Raise `ConfigurationError` for the first entry that covers all calls, or no time."""
    seen: set[tuple[str, int]] = set()
    for number, plan in enumerate(plans):
        since, until = instant_of(plan.effective_from) or 0, instant_of(plan.effective_until)
        if not plan.scope and plan.models is None:
            raise ConfigurationError(
                f"{path}: plans[{number}] covers no calls; give it a scope, such as "
                '{ service = "coder" }, or models'
            )
        if until is not None and until <= since:
            raise ConfigurationError(f"{path}: plans[{number}] ends before it begins")
        if (plan.name, since) in seen:
            raise ConfigurationError(
                f"{path}: plan {plan.name!r} has two entries from the same instant; remove one"
            )
        seen.add((plan.name, since))

"""Which pool serves a model, and since when: eras, each with one pool or none.

Owns the order of precedence among the pools that list a model. Refuses to look at a call: an era
is a stretch of time, and a call is in the one that holds its first instant.

The entries of `[[pools]]` list models, each from its instant on; an entry without the key `models`
leaves the list of its pool as it was. A model is in the pool that lists it. Where several do, it
is in the one whose list is of the latest date. A pool's first entry also tells what it served
before, so a model that is first listed there has been in that pool since ever.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from ingest.charging.rates import BEGINNING
from ingest.config import Pool, effective_from_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEra:
    """`model` is in `pool` from `since` on and before `until`, in nanoseconds since 1970.

    `pool` is None where no pool serves the model, `until` where the era has no end.
    """

    model: str
    pool: str | None
    since: int
    until: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """What one entry of a pool lists, until the pool's next list."""

    pool: str
    models: frozenset[str]
    since: int
    until: int | None
    is_first_entry: bool


def model_eras(pools: Sequence[Pool]) -> list[ModelEra]:
    """The eras of every model that an entry of `pools` lists, by model and time.

    Those of one model cover all time from `BEGINNING` on, and neighbours differ in the pool. Of two
    lists of the same date, which `load_configuration` refuses, the first pool of the file wins.
    """
    names = list(dict.fromkeys(pool.name for pool in pools))
    listings = [listing for name in names for listing in _listings(name, pools)]
    models = sorted({model for listing in listings for model in listing.models})
    return [
        era
        for model in models
        for era in _eras(model, [listing for listing in listings if model in listing.models])
    ]


def _listings(name: str, pools: Sequence[Pool]) -> Iterator[_Listing]:
    entries = sorted((pool for pool in pools if pool.name == name), key=effective_from_ns)
    lists = [entry for entry in entries if entry.models is not None]
    for entry, following in pairwise([*lists, None]):
        if entry is not None:
            yield _Listing(
                pool=name,
                models=frozenset(entry.models or ()),
                since=effective_from_ns(entry),
                until=None if following is None else effective_from_ns(following),
                is_first_entry=entry is entries[0],
            )


def _eras(model: str, listings: Sequence[_Listing]) -> Iterator[ModelEra]:
    """The eras of `model`, which all of `listings` name."""
    first = min(listings, key=lambda listing: listing.since)
    owners = {BEGINNING: first.pool if first.is_first_entry else None}
    given_up = (listing.until for listing in listings if listing.until is not None)
    for at in sorted({*(listing.since for listing in listings), *given_up}):
        owners[at] = _owner(listings, at)
    begins = [next(group) for _, group in groupby(owners.items(), key=itemgetter(1))]
    ends = [at for at, _ in begins[1:]]
    for (since, pool), until in zip(begins, [*ends, None], strict=True):
        yield ModelEra(model=model, pool=pool, since=since, until=until)


def _owner(listings: Sequence[_Listing], at: int) -> str | None:
    """The pool of the latest of `listings` in force at `at`; the first of several of one date."""
    in_force = [
        listing
        for listing in listings
        if listing.since <= at and (listing.until is None or at < listing.until)
    ]
    return max(in_force, key=lambda listing: listing.since).pool if in_force else None

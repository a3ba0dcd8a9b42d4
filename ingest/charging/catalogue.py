"""Public list prices, from the catalogue that the package `genai-prices` carries.

Owns how a model's name is found in the catalogue. Refuses the network, a provider that the
catalogue does not know, and a name that is merely the beginning of another: `gpt-4` is no
`gpt-4.1`. What was stripped from a name before it matched is said in the rule.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from genai_prices import __version__ as catalogue_version
from genai_prices.data_snapshot import DataSnapshot, find_provider_by_id, get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseStartsWith,
    ConditionalPrice,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from ingest.charging.kernel import NS_PER_S
from ingest.charging.price_windows import DAY_END, NO_TOKENS, PriceWindow, UnitPrices
from ingest.config import instant_ns

SOURCE = f"genai-prices {catalogue_version}"
CURRENCY = "USD"

PROVIDER_NAMES = {
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "az.ai.openai": "azure",
    "az.ai.inference": "azure",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
    "xai": "x-ai",
}
"""Names of the GenAI conventions that the catalogue spells otherwise; it knows the others."""

STRIPPED = (
    ("context size", re.compile(r"\[[^\]]*\]$")),
    ("version", re.compile(r"(-v\d+)?:\d+$")),
    ("date", re.compile(r"[-@](19|20)\d\d-?(0[1-9]|1[0-2])-?([0-2]\d|3[01])$")),
    ("region", re.compile(r"^(us|us-gov|eu|ap|apac|au|ca|in|jp|sa|global)\.")),
    ("vendor", re.compile(r"^(anthropic|meta|mistral|amazon|cohere|ai21|deepseek|openai|qwen)\.")),
)
"""What may be taken off a name: none of it says another model. The order is that of the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """The model of the catalogue that a name means, and the rule by which it was found."""

    provider: Provider
    model: ModelInfo
    rule: str


def is_azure(provider_name: str | None) -> bool:
    """Whether models are sold there under names that the buyer gives them."""
    name = (provider_name or "").lower()
    return name.startswith("azure") or PROVIDER_NAMES.get(name) == "azure"


def find_entry(provider_name: str | None, model_name: str) -> CatalogueEntry | None:
    """The entry for `model_name` as `provider_name` sells it; None where the catalogue has none.

    The name as it is comes first, then without the route before it, then what is left of both as
    other parts are stripped.
    """
    catalogue = get_snapshot()
    name = model_name.strip().lower()
    provider, routeless = _provider(catalogue, provider_name, name)
    if provider is None:
        return None
    sellers = [provider, *_lenders(catalogue, provider)]
    for spelling, stripped in _spellings(name, routeless):
        for seller in sellers:
            model = _named(seller, spelling)
            if model is not None:
                how = f"{' and '.join(stripped)} stripped" if stripped else "exact name"
                return CatalogueEntry(
                    provider=seller, model=model, rule=f"{seller.id}/{model.id}: {how}"
                )
    return None


def sellers_of(model_name: str) -> list[CatalogueEntry]:
    """Every entry of the catalogue that is the model of this name, whoever sells it, for money.

    Names are compared without their routes, and by what is left of both as other parts are
    stripped; what else stands in a name, such as `turbo` or `fp8`, makes it another model.
    """
    wanted = _bare_spellings(model_name)
    return [
        CatalogueEntry(provider=provider, model=model, rule=f"{provider.id}/{model.id}")
        for provider in get_snapshot().providers
        for model in provider.models
        if wanted & _bare_spellings(model.id)
    ]


def _bare_spellings(name: str) -> set[str]:
    """The spellings of a name without its route."""
    return {spelling for spelling, _ in _spellings(name.strip().lower().rpartition("/")[2])}


def _provider(
    catalogue: DataSnapshot, provider_name: str | None, model_name: str
) -> tuple[Provider | None, str]:
    """Who sells, and the name without the route that says so, where there is one."""
    route, _, rest = model_name.partition("/")
    by_route = _known_provider(catalogue, route) if rest else None
    if provider_name is not None:
        seller = _known_provider(catalogue, provider_name)
        is_route = seller is not None and by_route is not None and by_route.id == seller.id
        return seller, rest if is_route else model_name
    if rest:
        return by_route, rest
    for provider in catalogue.providers:
        if provider.model_match is not None and provider.model_match.is_match(model_name):
            return provider, model_name
    return None, model_name


def _known_provider(catalogue: DataSnapshot, name: str) -> Provider | None:
    return find_provider_by_id(catalogue.providers, PROVIDER_NAMES.get(name.lower(), name))


def _lenders(catalogue: DataSnapshot, provider: Provider) -> list[Provider]:
    """Providers whose prices hold for what `provider` resells, in its order."""
    names = provider.fallback_model_providers or []
    by_id = {candidate.id: candidate for candidate in catalogue.providers}
    return [by_id[name] for name in names if name in by_id]


def _spellings(*names: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`names`, then what is left of them: least stripped first, of those the longest."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for count in range(1, len(STRIPPED) + 1):
        for name, parts in itertools.product(names, itertools.combinations(STRIPPED, count)):
            spelling = name
            for _, pattern in parts:
                spelling = pattern.sub("", spelling)
            found.setdefault(spelling, tuple(label for label, _ in parts))
    yield from sorted(found.items(), key=lambda item: (len(item[1]), -len(item[0]), item[0]))


def _named(provider: Provider, spelling: str) -> ModelInfo | None:
    """The model of `provider` that has `spelling` as its id, else as one of its other names."""
    for model in provider.models:
        if model.id.lower() == spelling:
            return model
    for model in provider.models:
        if model.is_match(spelling) and spelling in set(_names(model.match)):
            return model
    return None


def _names(logic: MatchLogic) -> Iterator[str]:
    """Every name in a matching rule, as a whole name: the catalogue would match its beginnings."""
    match logic:
        case ClauseEquals(equals=name):
            yield name.lower()
        case ClauseStartsWith(starts_with=name):
            yield name.lower()
        case ClauseContains(contains=name):
            yield name.lower()
        case ClauseEndsWith(ends_with=name):
            yield name.lower()
        case ClauseOr(or_=parts) | ClauseAnd(and_=parts):
            for part in parts:
                yield from _names(part)
        case _:
            return


def entry_windows(entry: CatalogueEntry) -> list[PriceWindow]:
    """The prices of `entry`, one window for each date, time of day and tier of input tokens."""
    dates, times = _cuts(entry.model)
    return [
        PriceWindow(
            since=since,
            until=until,
            day_from=day_from,
            day_until=day_until,
            tokens_over=tokens_over,
            tokens_upto=tokens_upto,
            prices=_unit_prices(price, tokens_over + 1),
            currency=CURRENCY,
            source=SOURCE,
            rule=entry.rule,
        )
        for since, until in itertools.pairwise([*dates, None])
        if since is not None
        for day_from, day_until in itertools.pairwise([*times, DAY_END])
        for price in [entry.model.get_prices(_moment(since, day_from))]
        for tokens_over, tokens_upto in itertools.pairwise([*_tiers(price), None])
        if tokens_over is not None
    ]


def _cuts(model: ModelInfo) -> tuple[list[int], list[int]]:
    """Instants at which a price begins, and nanoseconds of the day at which it may change."""
    dates, times = {0}, {0}
    conditions: Sequence[ConditionalPrice] = (
        [] if isinstance(model.prices, ModelPrice) else model.prices
    )
    for condition in conditions:
        match condition.constraint:
            case StartDateConstraint(start_date=date):
                begin = instant_ns(datetime.combine(date, time(), UTC))
                dates.add(max(begin or 0, 0))
            case TimeOfDateConstraint(start_time=begin_time, end_time=end_time):
                times |= {_since_midnight(begin_time), _since_midnight(end_time)}
            case None:
                continue
    return sorted(dates), sorted(times)


def _since_midnight(at: time) -> int:
    """Nanoseconds from UTC midnight to `at`; a naive time is UTC."""
    moment = datetime.combine(datetime(2000, 1, 2, tzinfo=UTC), at, at.tzinfo or UTC)
    passed = moment.astimezone(UTC) - datetime(2000, 1, 1, tzinfo=UTC)
    return round(passed.total_seconds()) * NS_PER_S % DAY_END


def _moment(since: int, day_from: int) -> datetime:
    """An instant at which the price of the window that begins there is in force."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=(since + day_from) // NS_PER_S)


def _tiers(price: ModelPrice) -> list[int]:
    """Numbers of input tokens above which a price of `price` is another."""
    values = price.__dict__.values()
    starts = {
        tier.start for value in values if isinstance(value, TieredPrices) for tier in value.tiers
    }
    return [NO_TOKENS, *sorted(starts)]


def _unit_prices(price: ModelPrice, input_tokens: int) -> UnitPrices:
    """The prices of a call with `input_tokens` of input."""
    per_1000_requests = _at(price, "requests_kcount", input_tokens)
    return UnitPrices(
        input_per_mtok=_at(price, "input_mtok", input_tokens),
        output_per_mtok=_at(price, "output_mtok", input_tokens),
        cache_read_per_mtok=_at(price, "cache_read_mtok", input_tokens),
        cache_write_per_mtok=_at(price, "cache_write_mtok", input_tokens),
        reasoning_per_mtok=_at(price, "output_reasoning_mtok", input_tokens),
        per_request=None if per_1000_requests is None else per_1000_requests / 1000,
    )


def _at(price: ModelPrice, key: str, input_tokens: int) -> Decimal | None:
    value = price.__dict__.get(key)
    if not isinstance(value, TieredPrices):
        return value if isinstance(value, Decimal) else None
    reached = [tier.price for tier in value.tiers if input_tokens > tier.start]
    return reached[-1] if reached else value.base

"""One call from several records of it: a stream repeats its usage as it grows.

Owns the rule that the later usage replaces the earlier. Refuses to hold the calls of a whole
source: so many wait, and those that come after it meet in the ledger.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from ingest.records import Call, Reject

MAX_OPEN_CALLS = 4_096


def latest(
    items: Iterable[Call | Reject], max_open: int = MAX_OPEN_CALLS
) -> Iterator[Call | Reject]:
    """Each call once, as its last record with any usage tells it; `max_open` calls wait."""
    waiting: OrderedDict[str, Call] = OrderedDict()
    for item in items:
        if isinstance(item, Reject):
            yield item
            continue
        if item.identity not in waiting or item.tokens_source != "unknown":
            waiting[item.identity] = item
        if len(waiting) > max_open:
            yield waiting.popitem(last=False)[1]
    yield from waiting.values()

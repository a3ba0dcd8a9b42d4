"""What was found of a text, once: it comes again with other calls.

Owns the memory, which is bounded, and what it forgets. Refuses to remember a text: its digest
stands for it.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """Findings by digest of text, at most `most`; safe to ask from several threads.

    Beyond, what was not asked for longest is forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[bytes, Found] = OrderedDict()
        self._lock = Lock()

    def found(self, key: bytes, find: Callable[[], Found]) -> Found:
        """What is known by `key`, else what `find` returns."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = find()
        with self._lock:
            self._known[key] = made
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return made

"""A ledger whose charges are those of the configuration at hand, open for reading.

Owns the question whether a ledger is up to date, and bringing it there. Refuses to open for
writing what is already current, so that several readers can be at work.
"""

from pathlib import Path

from ingest.charging import charge, is_charging_current
from ingest.config import Configuration
from ingest.deliver import derive_again, is_mapped
from ingest.ledger import Ledger, open_for_reading, open_for_writing
from ingest.turn import Patience, turn_at


def open_current(path: Path, configuration: Configuration) -> Ledger:
    """The ledger at `path` for reading, mapped and charged as `configuration` says.

    Where it is not, it is derived and charged again first, which takes the ledger for writing. No
    writer gets in until it is open for reading, so what is read is what was charged. Raises what
    `open_for_reading` and `open_for_writing` raise.
    """
    with turn_at(path, Patience(path)):
        ledger = open_for_reading(path, memory_limit=configuration.memory_limit)
        if is_current(ledger, configuration):
            return ledger
        ledger.close()
        with open_for_writing(path, memory_limit=configuration.memory_limit) as writer:
            make_current(writer, configuration)
        return open_for_reading(path, memory_limit=configuration.memory_limit)


def is_current(ledger: Ledger, configuration: Configuration) -> bool:
    """Whether calls and charges are as `configuration` makes them."""
    return is_mapped(ledger, configuration) and is_charging_current(ledger, configuration)


def make_current(ledger: Ledger, configuration: Configuration) -> None:
    """Derive calls again where `[map]` changed, and charge what is stale."""
    if not is_mapped(ledger, configuration):
        derive_again(ledger, configuration)
    charge(ledger, configuration)

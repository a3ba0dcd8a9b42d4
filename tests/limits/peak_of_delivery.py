"""Run by itself: brings one body into a new ledger and writes the most memory that this took.

python peak_of_delivery.py files|receiver FORMAT BODY_FILE LEDGER
"""

import json
import re
import sys
from pathlib import Path

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_reading, open_for_writing
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import BadRequestError, Intake
from ingest.receiver.settle import Settler
from ingest.receiver.signals import TRACES

RECEIVED_AT = 1_790_000_000 * 10**9


def peak_mib() -> float:
    """The most memory that was resident in this process so far, MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def by_file(body: Path, path: Path) -> str | None:
    with open_for_writing(path) as ledger:
        (result,) = deliver_paths(ledger, [str(body)], Configuration(), clock=lambda: RECEIVED_AT)
    return result.error


def by_receiver(body: Path, encoding: str, path: Path) -> str | None:
    with Inbox(path.with_suffix(".inbox"), max_bytes=2**30) as inbox:
        try:
            intake = Intake(Configuration(), lambda: RECEIVED_AT)
            taken = intake.take(TRACES, body.read_bytes(), encoding, "a door")
        except BadRequestError as error:
            return str(error)
        inbox.put(taken.arrival).result()
        del taken
        Settler(path, inbox, Configuration()).settle()
    return None


def main() -> None:
    way, encoding, body, path = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    before = peak_mib()
    error = by_file(body, path) if way == "files" else by_receiver(body, encoding, path)
    grown = peak_mib() - before
    with open_for_reading(path) as ledger:
        [counts] = ledger.connection.execute(
            "select (select count(*) from spans), (select count(*) from calls)"
        ).fetchall()
        rejects = ledger.connection.execute("select position, reason from rejects").fetchall()
    told = {"grown_mib": grown, "counts": counts, "rejects": rejects, "error": error}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()

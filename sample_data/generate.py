"""`python -m sample_data.generate --out FOLDER`: the files and the manifest, from the seed.

Owns the order of the work. The same seed gives the same lines; compressed bytes depend on the
zlib at hand, so the manifest pins the bytes before compression.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sample_data import company, totals, waste
from sample_data.control import control_visits
from sample_data.deliveries import Delivered, deliveries, plain_deliveries
from sample_data.demand import all_visits
from sample_data.exchanges import exchanges
from sample_data.findings import findings
from sample_data.shapes import CHANGES, SHAPES
from sample_data.traffic import serve

FOLDER = "telemetry"
MANIFEST = "manifest.json"


def generate(out: Path) -> None:
    """Write every file of the sample and its manifest below `out`."""
    served = exchanges(serve(all_visits()))
    files = deliveries(served)
    found = list(findings(served))
    charged = totals.all_pieces(found)
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        file.write(folder)
    manifest = {
        "seed": company.SEED,
        "zone": company.ZONE,
        "currency": company.CURRENCY,
        "files": [_described(file) for file in files],
        "shapes": SHAPES,
        "changes": CHANGES,
        "step_laws": {
            pool.name: {name: getattr(pool.law, name) for name in pool.law.__dataclass_fields__}
            for pool in company.POOLS
        },
        "deliveries": _delivered(files),
        "totals": totals.overall(found, served),
        "waste": waste.write(out, waste.waste(served, charged)),
        "volatile_prefixes": waste.volatile_prefixes(),
        "hit_rate_case": waste.hit_rate_case(served, found, charged),
        "months": totals.by_month(found, charged),
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def generate_control(out: Path) -> None:
    """Write the files of the control set below `out`, with a manifest that plants nothing."""
    served = exchanges(serve(control_visits()), flawed=())
    files = plain_deliveries(served)
    found = list(findings(served))
    charged = totals.all_pieces(found)
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        file.write(folder)
    planted = waste.waste(served, charged)
    manifest = {
        "seed": company.SEED,
        "zone": company.ZONE,
        "files": [_described(file) for file in files],
        "deliveries": _delivered(files),
        "totals": totals.overall(found, served),
        "waste": {kind: sets for kind, sets in planted.items() if kind != "tails"},
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _described(file: Delivered) -> dict[str, Any]:
    return {
        "name": file.name,
        "lines": len(file.lines),
        "records": file.read_count,
        "rejected": file.rejected_count,
        "sha256_before_compression": file.checksum,
    }


def _delivered(files: Sequence[Delivered]) -> dict[str, int]:
    read = sum(file.read_count for file in files)
    rejected = sum(file.rejected_count for file in files)
    duplicate = sum(file.duplicate_count for file in files)
    return {
        "read": read,
        "new": read - rejected - duplicate,
        "duplicate": duplicate,
        "rejected": rejected,
        "conflict": 0,
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--control", action="store_true", help="two weeks without any waste")
    arguments = parser.parse_args()
    (generate_control if arguments.control else generate)(arguments.out)


if __name__ == "__main__":
    main()

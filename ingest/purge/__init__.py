"""What leaves the ledger, and how: by age, by trace, by user.

Owns the removal and the rewriting of the file afterwards. Refuses to change a figure: a call keeps
its times, tokens and charges when everything that says whose it was is gone.
"""

from ingest.purge.ages import TABLES, cutoffs
from ingest.purge.purging import Purge, Purged, purge
from ingest.purge.removal import Removed

__all__ = ["TABLES", "Purge", "Purged", "Removed", "cutoffs", "purge"]

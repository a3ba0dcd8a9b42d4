"""What may not be stored, found in texts and replaced by a mark that says what it was.

Owns the masks, the names under which any value is a secret, and the count of what was masked.
Refuses to store anything, and to let one text that cannot be masked hold up the others.
"""

from ingest.masking.masks import Masks, masks_of

__all__ = ["Masks", "masks_of"]

"""Standard input or a pipe as a file: it can be read once, a source must be read several times.

Owns the temporary file. Refuses to keep it longer than anything refers to it.
"""

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import BinaryIO


class Spool:
    """The bytes of a stream in a temporary file, which goes when this object goes."""

    def __init__(self, stream: BinaryIO) -> None:
        with tempfile.NamedTemporaryFile(prefix="gpuledger-", delete=False) as file:
            self.path = Path(file.name)
            self._finalizer = weakref.finalize(self, self.path.unlink, missing_ok=True)
            shutil.copyfileobj(stream, file)

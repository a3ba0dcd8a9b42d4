"""All detections, by number of the lever.

Owns which lever has none: of it is said what it needs.
"""

from collections.abc import Mapping

from analysis.detections import (
    capacity,
    lengths,
    outputs,
    prefixes,
    prompts,
    repeats,
    serving,
    structure,
)
from analysis.detections.detected import Detection

DETECTIONS: Mapping[int, Detection] = {
    **repeats.DETECTIONS,
    **capacity.DETECTIONS,
    **lengths.DETECTIONS,
    **outputs.DETECTIONS,
    **prefixes.DETECTIONS,
    **prompts.DETECTIONS,
    **serving.DETECTIONS,
    **structure.DETECTIONS,
}
"""By number; a lever that is not here cannot be judged from a ledger yet."""

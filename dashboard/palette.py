"""Colours of series, the same in every picture and readable on light and dark ground.

Owns which colour a line has. The eight hues keep apart under the common kinds of colour
blindness (Paul Tol, "bright" and "vibrant"); grey belongs to what no call is charged for.
"""

from collections.abc import Sequence

HUES = (
    "#4477aa",
    "#ee7733",
    "#228833",
    "#aa3377",
    "#66ccee",
    "#ccbb44",
    "#ee6677",
    "#44bb99",
)
GREY = "#8a8f98"
PALE_GREY = "#b8bcc4"

QUEUE = "#ccbb44"
PREFILL = "#ee7733"
DECODE = "#4477aa"
UNSPLIT = "#66ccee"
TOOL = "#44bb99"


def colours_of(labels: Sequence[str], without_hue: Sequence[str] = ()) -> dict[str, str]:
    """A colour for each label in the order given; those in `without_hue` are grey."""
    hued = [label for label in labels if label not in without_hue]
    colours = {label: HUES[index % len(HUES)] for index, label in enumerate(hued)}
    return colours | dict.fromkeys(without_hue, GREY)

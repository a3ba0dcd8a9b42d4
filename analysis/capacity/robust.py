"""A line through many points of which some are far off, with an interval that clusters widen.

Owns Huber's weights (P. J. Huber, Robust estimation of a location parameter, 1964) and the sandwich
of clusters (K.-Y. Liang and S. L. Zeger, 1986). Refuses an interval out of fewer clusters than
`LEAST_CLUSTERS`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]

HUBER = 1.345
"""Residuals beyond so many standard deviations pull with a constant force; 95 % efficient."""
ROUNDS = 25
LEAST_CLUSTERS = 5
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Coefficients of the columns, and their covariance; None where clusters are too few."""

    coefficients: Floats
    covariance: Floats | None
    clusters: int

    def half_width(self, column: int) -> float | None:
        """Half of the interval of one coefficient, by Student's t over the clusters."""
        if self.covariance is None:
            return None
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, self.clusters - 1)
        return float(quantile * np.sqrt(max(self.covariance[column, column], 0)))


def robust_line(
    columns: Floats, values: Floats, *, weights: Floats, clusters: npt.NDArray[np.int64]
) -> Line:
    """The line `values = columns @ coefficients`, points weighted by `weights` and by Huber.

    Points of one of `clusters` may depend on each other. Where a column adds nothing to the others
    its coefficient is the least that fits.
    """
    scale = np.abs(columns).max(axis=0, initial=0)
    scale = np.where(scale > 0, scale, 1.0)
    found = _scaled_line(columns / scale, values, weights=weights, clusters=clusters)
    covariance = found.covariance
    return Line(
        coefficients=found.coefficients / scale,
        covariance=None if covariance is None else covariance / np.outer(scale, scale),
        clusters=found.clusters,
    )


def _scaled_line(
    columns: Floats, values: Floats, *, weights: Floats, clusters: npt.NDArray[np.int64]
) -> Line:
    """As `robust_line`, of columns of one size."""
    trust = weights.copy()
    for _ in range(ROUNDS):
        root = np.sqrt(trust)[:, None]
        found: Floats = np.linalg.lstsq(columns * root, values * root[:, 0], rcond=None)[0].astype(
            np.float64
        )
        residuals = values - columns @ found
        spread = _spread(residuals, weights)
        if spread <= 1e-12 * float(np.abs(values).max(initial=0)):
            break
        far = np.abs(residuals) / (HUBER * spread)
        renewed = weights / np.maximum(far, 1)
        if np.allclose(renewed, trust, rtol=1e-6, atol=0):
            break
        trust = renewed
    numbers, cluster = np.unique(clusters, return_inverse=True)
    if len(numbers) < LEAST_CLUSTERS:
        return Line(coefficients=found, covariance=None, clusters=len(numbers))
    scores = columns * (trust * residuals)[:, None]
    sums = np.stack(
        [np.bincount(cluster, weights=score, minlength=len(numbers)) for score in scores.T], axis=1
    )
    bread = np.linalg.pinv(columns.T @ (columns * trust[:, None]))
    small = len(numbers) / (len(numbers) - 1)
    return Line(
        coefficients=found,
        covariance=small * bread @ (sums.T @ sums) @ bread,
        clusters=len(numbers),
    )


def _spread(residuals: Floats, weights: Floats) -> float:
    """The standard deviation that the weighted median of the residuals' size tells."""
    size = np.abs(residuals)
    order = np.argsort(size)
    reached = np.cumsum(weights[order])
    middle = int(np.searchsorted(reached, reached[-1] / 2))
    return float(size[order[middle]]) / 0.6745

"""Row subsampling of bags and forests: `bootstrap`, `max_samples`, groups."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.advice import warn
from weald.data import mass_of
from weald.resampling import OrderedRows, RowSamples

Floats = NDArray[np.float64]

# Upper limit of the number of draws.
_MOST_DRAWS = 2**36


def row_samples(
    ordered: OrderedRows,
    weight: Floats | None,
    unit: float,
    place: NDArray[np.intp],
    *,
    bootstrap: bool,
    max_samples: Any,
    leaves_some_out: bool,
    seed: int,
) -> RowSamples:
    """Row samples of all base estimators.

    Parameters
    ----------
    weight
        Weight of each row, in units of `unit`; None: 1 each.
    place
        Position of each row passed to fit among the ordered ones.
    leaves_some_out
        Whether a sample without replacement must leave out some rows.
    """
    n, groups = ordered.n, ordered.groups
    n_units = n if groups is None else groups.n
    by_weight = bootstrap and groups is None
    total = float(n) if weight is None else math.fsum(weight)
    n_draws = n_draws_of(max_samples, n_units, total * unit if by_weight else float(n_units))
    group_of = None if groups is None else groups.of_row
    if bootstrap:
        mass = mass_of(weight[ordered.index]) if by_weight and weight is not None else None
        return RowSamples(seed, n_draws, place, n, mass=mass, group_of=group_of)
    what = "rows" if groups is None else "groups"
    if n_draws > n_units or (n_draws == n_units and leaves_some_out):
        raise ValueError(
            f"max_samples={max_samples!r} must be <= n_samples={n_units} to be able to sample "
            f"without replacement: it asks for {n_draws} of {n_units} {what}"
            f"{', which leaves none out of bag' if n_draws == n_units else ''}. Ask for fewer, "
            "or set bootstrap=True."
        )
    keys = ordered.keys if groups is None else groups.keys
    return RowSamples(seed, n_draws, place, n, keys=keys, group_of=group_of)


def n_draws_of(max_samples: Any, n_units: int, total: float) -> int:
    """Convert `max_samples` to a number of draws: a count, a share of `total`, None: `n_units`.

    >>> n_draws_of(None, 10, 350.0), n_draws_of(4, 10, 350.0), n_draws_of(0.2, 10, 350.0)
    (10, 4, 70)
    """
    if max_samples is None:
        return n_units
    if isinstance(max_samples, (int, np.integer)):
        return int(max_samples)
    wanted = float(max_samples) * total
    if not wanted < _MOST_DRAWS:
        raise ValueError(
            f"max_samples={max_samples!r} is a share of the sum of all sample weights, {total:g}, "
            f"and asks for {wanted:g} draws. Give the number of draws as an int, or None for as "
            "many as there are rows."
        )
    n_draws = max(1, round(wanted))
    if total != n_units and n_draws < max(10.0, n_units ** (1 / 3)):
        warn(
            f"max_samples={max_samples!r} is a share of the sum of all sample weights, {total:g}: "
            f"each base estimator draws {n_draws} of {n_units} rows. Give the number of draws as "
            "an int, or None for as many as there are rows."
        )
    return n_draws

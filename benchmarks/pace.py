"""How many trees a system may grow in a row, so that one slow system does not take all its time."""

from __future__ import annotations

from collections.abc import Callable

SLOW = 100.0  # seconds: a system that would need more is run once, with fewer trees
AIM = 50.0  # seconds that those fewer trees should take


def affordable(seconds_of: Callable[[int], float], trees: int) -> int:
    """All trees, or, if short trials say that all would take over SLOW, as many as take AIM.

    The time of a fit is taken to be a constant (reading and binning the table) and the same for
    every tree.
    """
    few = max(1, trees // 20)
    first = seconds_of(few)
    if first * trees / few <= SLOW:
        return trees
    # The lesser of two, lest another process makes the system look slow.
    first = min(first, seconds_of(few))
    second = min(seconds_of(2 * few), seconds_of(2 * few))
    a_tree = max((second - first) / few, 1e-9)
    before = max(first - few * a_tree, 0.0)
    if before + trees * a_tree <= SLOW:
        return trees
    return min(trees, max(few, int((AIM - before) / a_tree)))

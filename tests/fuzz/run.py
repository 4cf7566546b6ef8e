"""Random pairs of parameters until the time is up: `make fuzz-api TIME=600 SEED=7`."""

import argparse
import sys
import time
import traceback
from collections import Counter
from itertools import combinations, count

from contract.subjects import EVERY_ESTIMATOR
from fuzz.cases import Case
from fuzz.invariants import INVARIANTS

MOST_FAILURES = 20


def broken(case: Case, invariant: str) -> bool:
    """Whether the invariant does not hold, or the case ends in an error that is no refusal."""
    try:
        if case.is_refused:
            return False
        INVARIANTS[invariant](case)
    except Exception:
        return True
    return False


def narrowed(case: Case, invariant: str) -> Case:
    """The same case with as few of its parameters as still break the invariant."""
    for size in range(len(case.parameters)):
        for only in combinations(case.parameters, size):
            smaller = case.narrowed(only)
            if broken(smaller, invariant):
                return smaller
    return case


def checked(case: Case, seen: Counter[str]) -> list[str]:
    """Programs that show what the case breaks."""
    failures = []
    for name, invariant in INVARIANTS.items():
        try:
            if case.is_refused:
                seen["refused"] += 1
                return []
            seen[name] += invariant(case)
        except Exception:
            report = traceback.format_exc(limit=-3)
            failures.append(f"{report}\n{narrowed(case, name).code(name)}\n")
            if not isinstance(sys.exc_info()[1], AssertionError) and "first" not in vars(case):
                return failures  # it cannot be fitted at all
    return failures


def run(seconds: float, seed: int, names: list[str]) -> int:
    """Go through the estimators in turn; the number of failures."""
    seen: Counter[str] = Counter()
    end, n_failures = time.monotonic() + seconds, 0
    for number in count(seed * 1_000_000):
        for name in names:
            if time.monotonic() > end or n_failures >= MOST_FAILURES:
                print(f"{seen.pop('cases', 0)} cases, {n_failures} failures; {dict(seen)}")
                return n_failures
            seen["cases"] += 1
            for failure in checked(Case(name, number), seen):
                n_failures += 1
                print(failure, flush=True)
    return n_failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    every = [estimator.__name__ for estimator in EVERY_ESTIMATOR]
    parser.add_argument("--estimator", action="append", choices=every, help="only these")
    given = parser.parse_args()
    sys.exit(min(1, run(given.seconds, given.seed, given.estimator or every)))


if __name__ == "__main__":
    main()

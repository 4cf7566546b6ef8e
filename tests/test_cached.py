"""A cached property is computed once, and no other object waits for it."""

import threading
from dataclasses import dataclass
from typing import Any

from weald.cached import cached_property
from weald.data.columns import Number
from weald.data.plan import ColumnPlan


@dataclass(frozen=True)
class Counted:
    calls: list[int]

    @cached_property
    def number(self) -> int:
        """Its text."""
        self.calls.append(1)
        return len(self.calls)


def test_it_is_computed_once() -> None:
    counted = Counted([])
    assert (counted.number, counted.number, counted.calls) == (1, 1, [1])
    assert vars(counted)["number"] == 1
    assert Counted.number.__doc__ == "Its text."


class Waiting(Number):
    """A column whose parts are available once an event is set."""

    asked, go_on = threading.Event(), threading.Event()

    @property
    def parts(self) -> Any:
        self.asked.set()
        assert self.go_on.wait(60)
        return ("",)


def test_one_object_does_not_wait_for_another() -> None:
    """A child that is forked meanwhile would wait for ever."""
    slow = threading.Thread(target=lambda: ColumnPlan((Waiting(),)).owner)
    slow.start()
    assert Waiting.asked.wait(60)
    got: list[int] = []
    other = threading.Thread(target=lambda: got.append(ColumnPlan.of_numbers(3).n_columns))
    other.start()
    other.join(timeout=10)
    Waiting.go_on.set()
    slow.join(timeout=60)
    other.join(timeout=60)
    assert got == [3] and not slow.is_alive()

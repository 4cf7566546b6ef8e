"""The rows of a worker of a Dask cluster, and how its question reaches the other workers."""

import asyncio
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any
from weakref import proxy

from distributed import KilledWorker, get_worker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.row_part import RowPart
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec

# An actor asks up to so many others, and these theirs, so that none receives more answers.
CHILDREN = 8

# Seconds that an answer of live workers may take, so that no wait lasts for ever; and between looks
# whether the client has given up.
PATIENCE, _LOOKS = 3600.0, 5.0

# What tells that a worker does not answer; errors of a part itself come as answers.
LOST = (
    OSError,
    CommClosedError,
    TimeoutError,
    KilledWorker,
    FutureCancelledError,
    RuntimeError,
)


class PartActor:
    """The rows of one worker, and the actors to which it passes questions on.

    The first of all actors leads: what asks the questions runs there, so that they need not pass
    through client and scheduler. Questions and answers travel pickled, as one piece each.
    """

    def __init__(self, tables: Sequence[Any], targets: Sequence[Any], spec: PartSpec) -> None:
        n_threads = spec.n_threads or get_worker().state.nthreads
        self._part = RowPart.read(tables, targets, spec, n_threads)
        self._children: Sequence[Any] = ()
        self._is_given_up = False

    def adopt(self, children: Sequence[Any]) -> None:
        """Pass questions on to these actors."""
        self._children = children

    async def pass_on(self, asked: bytes) -> bytes:
        """The merged answer of this part and those below it, or the error of one of them, pickled.

        Asynchronous: a wait for other workers must not occupy the only thread of a worker's actors,
        or two fits could wait for each other.
        """
        loop = asyncio.get_running_loop()
        others = [_within(child.pass_on(asked)) for child in self._children]
        own = loop.run_in_executor(None, self._pickled_answer, asked)
        answers: list[bytes] = await asyncio.gather(own, *others)
        if not others:
            return answers[0]
        return await loop.run_in_executor(None, _pickled_and_joined, answers)

    def _pickled_answer(self, asked: bytes) -> bytes:
        return pickle.dumps(self._answer(*pickle.loads(asked)), pickle.HIGHEST_PROTOCOL)

    def _answer(self, question: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        try:
            return getattr(self._part, question)(*arguments), None
        except Exception as error:
            return None, error

    # ---- the actor that leads ----

    def appoint(self, asker: Callable[["PartActor"], Any]) -> None:
        """Lead the others: make what asks all of them."""
        self._asker = asker(proxy(self))  # in a circle, the rows would stay in memory for long
        # A thread of its own: if it waited in one of those that answer, two fits on the same
        # workers could wait for each other.
        self._thread = ThreadPoolExecutor(1)

    async def lead(self, verb: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """Call a method of what asks the others; returns its result, or the error of a part."""
        loop, context = asyncio.get_running_loop(), copy_context()  # by which actors find Dask
        return await loop.run_in_executor(self._thread, context.run, self._led, verb, arguments)

    def _led(self, verb: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        try:
            return getattr(self._asker, verb)(*arguments), None
        except _NoAnswer:
            raise
        except Exception as error:
            return None, error

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer of all parts, in the thread that leads."""
        asked = pickle.dumps((question, arguments), pickle.HIGHEST_PROTOCOL)
        others = [child.pass_on(asked) for child in self._children]
        own = self._answer(question, arguments)
        answer, error = _joined([own, *(pickle.loads(self._waited(one)) for one in others)])
        if error is not None:
            raise error
        return answer  # type: ignore[no-any-return]

    def _waited(self, answer: Any) -> Any:
        """The answer of another actor; raises `_NoAnswer` if there is none."""
        begin = time.monotonic()
        while time.monotonic() - begin < PATIENCE and not self._is_given_up:
            try:
                return answer.result(timeout=_LOOKS)
            except TimeoutError as late:
                if answer.done():
                    raise _NoAnswer(str(late)) from late
            except LOST as lost:
                raise _NoAnswer(str(lost)) from lost
        raise _NoAnswer("another worker does not answer")

    async def give_up(self) -> None:
        """Wait no longer for others: the client has lost some of them."""
        self._is_given_up = True


class _NoAnswer(RuntimeError):
    """Another worker does not answer."""


def _joined(answers: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The merged answer, or the error of one part."""
    for _, error in answers:
        if error is not None:
            return None, error
    return merged([answer for answer, _ in answers]), None


def _pickled_and_joined(answers: Sequence[bytes]) -> bytes:
    return pickle.dumps(_joined([pickle.loads(one) for one in answers]), pickle.HIGHEST_PROTOCOL)


async def _within(answer: Any) -> Any:
    """The answer of another actor, or TimeoutError."""

    async def awaited() -> Any:
        return await answer

    return await asyncio.wait_for(awaited(), PATIENCE)

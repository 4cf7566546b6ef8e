"""The bounded queue of large requests, which run in threads so that small ones need not wait."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from weald.service.refusals import busy

Result = TypeVar("Result")
Receive = Callable[[], Any]


class Gone(Exception):
    """The client has closed the connection."""


class Place:
    """A place in the queue: it is taken from before the body is read until the thread ends."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.job: Future[Any] | None = None

    async def run(self, receive: Receive, task: Callable[..., Result], *arguments: Any) -> Result:
        """Run a task in a thread; give up if the client closes the connection meanwhile."""
        self.job = self._pool.submit(task, *arguments)
        done = asyncio.wrap_future(self.job)
        gone = asyncio.ensure_future(receive())  # the body was read: nothing else can come
        try:
            await asyncio.wait({done, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not done.done():
            done.cancel()
            raise Gone
        result: Result = done.result()
        return result


class Queue:
    """Runs at most so many large requests at a time; there is no place for more.

    Parameters
    ----------
    limit : int
        Requests that are read, wait or run.
    threads : int
        Threads that they run in.
    """

    def __init__(self, limit: int, threads: int) -> None:
        self.limit = limit
        self.taken = 0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="weald-service")

    @property
    def is_full(self) -> bool:
        return self.taken >= self.limit

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Take a place; the request is refused if there is none."""
        if self.is_full:
            raise busy(f"{self.taken} large requests are being answered; try again later")
        self.taken += 1
        place, loop = Place(self._pool), asyncio.get_running_loop()
        try:
            yield place
        finally:
            job = place.job
            if job is None or job.done() or job.cancel():
                self._give_back()
            else:  # the client is gone, but the thread cannot be stopped
                job.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back))

    def _give_back(self) -> None:
        self.taken -= 1

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

"""Workers of a Dask cluster that no longer answer although their connection is open."""

import time
from dataclasses import dataclass

from distributed import Client

# A worker counts as lost if the scheduler has not heard from it for so many seconds, and at so many
# looks: a client that was itself stopped has not looked. Dask's workers report every second, about,
# also while they compute; Dask itself gives up after `distributed.scheduler.worker-ttl`, 5 minutes.
_SILENCE, _LOOKS = 40.0, 10


@dataclass
class _Heard:
    """When the scheduler heard from a worker, by its clock; since when here, and how many looks."""

    reported: float
    since: float
    n_looks: int = 0


class Heartbeats:
    """Removes workers from the cluster that have stopped to report, as Dask does after minutes.

    Parameters
    ----------
    client : Client
        The client of the cluster.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._heard: dict[str, _Heard] = {}

    def look(self) -> set[str]:
        """The addresses of the workers that are there and report."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        now = time.monotonic()
        for address, facts in workers.items():
            heard = self._heard.get(address)
            if heard is None or heard.reported != facts["last_seen"]:
                self._heard[address] = _Heard(facts["last_seen"], now)
            else:
                heard.n_looks += 1
        silent = {one for one in workers if self._is_silent(self._heard[one], now)}
        for address in silent:
            self._remove(address)
        return set(workers) - silent

    @staticmethod
    def _is_silent(heard: _Heard, now: float) -> bool:
        return now - heard.since > _SILENCE and heard.n_looks >= _LOOKS

    def _remove(self, address: str) -> None:
        """Tell the scheduler that a worker is lost: its tasks are computed elsewhere."""
        del self._heard[address]
        self._client.sync(
            self._client.scheduler.unregister,
            address=address,
            stimulus_id=f"weald-silent-worker-{time.time()}",
        )

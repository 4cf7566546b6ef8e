"""Numbers about the service in the text format of Prometheus."""

import bisect
import time
from collections import Counter

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one process; only the thread of the event loop changes them.

    >>> metrics = Metrics()
    >>> metrics.observe("/predict", 200, 0.002, 3)
    >>> print(metrics.text("BoostedTreesClassifier", "1f3a", 0), end="")  # doctest: +ELLIPSIS
    # HELP weald_requests_total Answered requests.
    # TYPE weald_requests_total counter
    weald_requests_total{path="/predict",status="200"} 1
    ...
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within = {"/predict": [0] * (len(_SECONDS) + 1)}
        self._seconds = {"/predict": 0.0}
        self._rows = 0
        self._loads: Counter[str] = Counter()
        self._begun = time.time()

    def observe(self, path: str, status: int, seconds: float, rows: int) -> None:
        """Count a request; `path` must be one of few."""
        self._requests[path, status] += 1
        self._rows += rows
        if path in self._within:
            self._within[path][bisect.bisect_left(_SECONDS, seconds)] += 1
            self._seconds[path] += seconds

    def loaded(self, *, failed: bool) -> None:
        """Count a model that was loaded while the service ran."""
        self._loads["failed" if failed else "loaded"] += 1

    def text(self, kind: str, fingerprint: str, waiting: int) -> str:
        """All numbers, and which model answers."""
        lines = _metric("weald_requests_total", "counter", "Answered requests.")
        for (path, status), count in sorted(self._requests.items()):
            lines.append(f'weald_requests_total{{path="{path}",status="{status}"}} {count}')
        lines += _metric("weald_request_seconds", "histogram", "From head to response.")
        for path, counts in self._within.items():
            total = 0
            for limit, count in zip([*_SECONDS, "+Inf"], counts, strict=True):
                total += count
                lines.append(f'weald_request_seconds_bucket{{path="{path}",le="{limit}"}} {total}')
            lines.append(f'weald_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            lines.append(f'weald_request_seconds_count{{path="{path}"}} {total}')
        lines += _metric("weald_predicted_rows_total", "counter", "Rows predicted.")
        lines.append(f"weald_predicted_rows_total {self._rows}")
        lines += _metric("weald_queue_requests", "gauge", "Large requests read, waiting or run.")
        lines.append(f"weald_queue_requests {waiting}")
        lines += _metric("weald_model_loads_total", "counter", "Models loaded on SIGHUP.")
        for result in ("loaded", "failed"):
            lines.append(f'weald_model_loads_total{{result="{result}"}} {self._loads[result]}')
        lines += _metric("weald_model_info", "gauge", "The model that answers.")
        lines.append(f'weald_model_info{{class="{kind}",fingerprint="{fingerprint}"}} 1')
        lines += _metric("process_start_time_seconds", "gauge", "Start, since 1970.")
        lines.append(f"process_start_time_seconds {self._begun:.2f}")
        return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]

"""The log of a service: one JSON object a line, so that no value can break a line."""

import json
import logging
import sys
import time
from functools import lru_cache
from typing import Any

ACCESS = logging.getLogger("weald.service.access")

# The loggers of the service, its server and its event loop.
_LOGGERS = ("weald.service", "uvicorn.error", "asyncio")


class JsonLines(logging.Formatter):
    """Formats a record, and the facts in its attribute `facts`, as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _ENCODER.encode(line)


_ENCODER = json.JSONEncoder(default=str)


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def log_request(facts: dict[str, Any]) -> None:
    """Log a request; cheaper than `Logger.info`, which looks for its caller."""
    if ACCESS.isEnabledFor(logging.INFO):
        record = logging.LogRecord(ACCESS.name, logging.INFO, "", 0, "request", None, None)
        record.facts = facts
        ACCESS.handle(record)


def configure(*, access: bool) -> None:
    """Write the log to stderr, without what costs time and is not written."""
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "weald.service" else logging.WARNING)
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)

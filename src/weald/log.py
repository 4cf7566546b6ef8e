"""The logger "weald" for `verbose` output, on stdout unless logging is configured."""

import logging
import sys

LOGGER = logging.getLogger("weald")
LOGGER.addHandler(logging.NullHandler())


class _Stdout(logging.Handler):
    """Handler that writes to the current sys.stdout, like print."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(f"{self.format(record)}\n")
            sys.stdout.flush()
        except Exception:  # as in logging.StreamHandler: a closed stream must not abort a fit
            self.handleError(record)

    def filter(self, record: logging.LogRecord) -> bool:
        """Reject records once the program has configured logging."""
        return not _is_configured() and bool(super().filter(record))


_DEFAULT = _Stdout()


def report(message: str) -> None:
    """Log a message at level INFO."""
    if LOGGER.level == logging.NOTSET:
        LOGGER.setLevel(logging.INFO)  # verbose was set, whatever the level of the root logger
    if not _is_configured() and _DEFAULT not in LOGGER.handlers:
        LOGGER.addHandler(_DEFAULT)
    LOGGER.info(message)


def _is_configured() -> bool:
    """Whether the program has configured a handler for this logger or the root logger."""
    own = [one for one in LOGGER.handlers if one is not _DEFAULT]
    own = [one for one in own if not isinstance(one, logging.NullHandler)]
    return bool(own) or (LOGGER.propagate and bool(logging.getLogger().handlers))

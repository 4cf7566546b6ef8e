"""The logger "weald": what `verbose` has to say, on stdout unless logging is configured."""

import logging
import sys

LOGGER = logging.getLogger("weald")
LOGGER.addHandler(logging.NullHandler())


class _Stdout(logging.Handler):
    """Writes to what sys.stdout is at the time, as print does."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(f"{self.format(record)}\n")
            sys.stdout.flush()
        except Exception:  # as all handlers do: a stream that is gone must not end a fit
            self.handleError(record)

    def filter(self, record: logging.LogRecord) -> bool:
        """Be silent from when on the program configures logging."""
        return not _is_configured() and bool(super().filter(record))


_DEFAULT = _Stdout()


def report(message: str) -> None:
    """Log a line that `verbose` asked for, at the level INFO."""
    if LOGGER.level == logging.NOTSET:
        LOGGER.setLevel(logging.INFO)  # asked for by verbose: what the root logger keeps is another
    if not _is_configured() and _DEFAULT not in LOGGER.handlers:
        LOGGER.addHandler(_DEFAULT)
    LOGGER.info(message)


def _is_configured() -> bool:
    """Whether the program has a handler of its own for these lines."""
    own = [one for one in LOGGER.handlers if one is not _DEFAULT]
    own = [one for one in own if not isinstance(one, logging.NullHandler)]
    return bool(own) or (LOGGER.propagate and bool(logging.getLogger().handlers))

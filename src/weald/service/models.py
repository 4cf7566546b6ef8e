"""The model that answers, and its replacement while the service runs."""

import asyncio
import logging
from pathlib import Path

from weald.errors import ModelFormatError
from weald.service.documents import Documents
from weald.service.metrics import Metrics
from weald.service.serving import ServedModel, load_served

LOGGER = logging.getLogger("weald.service")


class Models:
    """Holds the model; requests take it once, so that no answer mixes two.

    Parameters
    ----------
    path : Path
        File of the model, which is read again by `reload`.
    max_rows : int
        Rows of a request, for the OpenAPI document.
    needs_token : bool
        Whether requests must bring a token, likewise.
    """

    def __init__(self, path: Path, max_rows: int, *, needs_token: bool) -> None:
        self._path, self._max_rows, self._needs_token = path, max_rows, needs_token
        self._reloading = asyncio.Lock()
        self.current, self.documents = self._load()

    def _load(self) -> tuple[ServedModel, Documents]:
        model = load_served(self._path)
        return model, Documents(model, self._max_rows, needs_token=self._needs_token)

    async def reload(self, metrics: Metrics) -> None:
        """Read the file again; a file that cannot be used leaves the model as it is."""
        async with self._reloading:
            before = self.current
            try:
                self.current, self.documents = await asyncio.to_thread(self._load)
            except Exception as error:
                metrics.loaded(failed=True)
                is_file = isinstance(error, (OSError, ModelFormatError))
                LOGGER.error(
                    "the model stays %s: the new file cannot be used: %s",
                    before.fingerprint[:12],
                    error,
                    exc_info=not is_file,
                )
                return
        metrics.loaded(failed=False)
        if self.current.columns != before.columns:
            LOGGER.warning("the new model has other columns than the one before")
        LOGGER.info("model %s replaced %s", self.current.fingerprint[:12], before.fingerprint[:12])

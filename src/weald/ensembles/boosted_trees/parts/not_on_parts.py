"""The error for what fits on the parts of a table do not support."""


class NotOnPartsError(ValueError):
    """A parameter or a column is not supported on parts; small tables are fitted in memory.

    Parameters
    ----------
    what
        The parameter or column.
    advice
        What to do about it.

    Examples
    --------
    >>> error = NotOnPartsError("exact=True", "Set exact=False")
    >>> str(error.on("Dask collections", "fit on one table"))
    'exact=True is not supported on Dask collections. Set exact=False, or fit on one table.'
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what} is not supported on the parts of a table. {advice}.")
        self._what, self._advice = what, advice

    def on(self, kind: str, instead: str) -> ValueError:
        """The error for a kind of table, with what to do instead."""
        return ValueError(f"{self._what} is not supported on {kind}. {self._advice}, or {instead}.")

"""The error for what fits on the parts of a table do not support."""


class NotOnPartsError(ValueError):
    """A parameter or a column is not supported on partitions; small tables are fitted in memory.

    >>> str(NotOnPartsError("exact=True", "Set exact=False"))
    'exact=True is not supported on Dask collections. Set exact=False, or fit on one table.'
    """

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(
            f"{what} is not supported on Dask collections. {instead}, or fit on one table."
        )

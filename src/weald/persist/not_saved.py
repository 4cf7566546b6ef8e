"""Stand-in for records of the training rows that a model file does not hold."""

from typing import Any


class NotSaved:
    """Any use raises an error that says how to save the records."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy, pickle and NumPy
            raise AttributeError(name)
        raise AttributeError(
            "This model was loaded from a file without the records of its training rows, which "
            "out-of-bag estimates and intervals need. Save it with model.save(path, oob=True)."
        )


def has_record(model: Any) -> bool:
    """Whether a model holds the record of its training rows; a loaded one may not.

    >>> from types import SimpleNamespace
    >>> has_record(SimpleNamespace(_record=NotSaved())), has_record(SimpleNamespace(_record=[]))
    (False, True)
    """
    record = getattr(model, "_record", None)
    return record is not None and not isinstance(record, NotSaved)

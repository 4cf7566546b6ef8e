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

"""The warning and error classes, and helpers to format error messages."""

from collections.abc import Iterable


class WealdWarning(UserWarning):
    """Warning about a fit or prediction that works, but probably not as intended.

    All warnings of weald have this class: ``warnings.simplefilter("ignore", WealdWarning)``.
    """


class ModelFormatError(ValueError):
    """A file is not a model file of weald, is damaged, or was written by a newer version.

    Raised by `weald.load`. A model that cannot be saved without pickle raises it in `save`.
    """


def listing(names: Iterable[object], most: int = 10) -> str:
    """Join names for a message: the first `most` of them, then the number of others.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


def wrong_parameter(owner: object, name: str, expected: str, got: object) -> str:
    """Format the error message for an invalid constructor parameter, as in scikit-learn."""
    return (
        f"The {name!r} parameter of {type(owner).__name__} must be {expected}. "
        f"Got {shown(got)} instead."
    )


def shown(value: object) -> str:
    """Return repr(value), or a description if that raises, as for 10**5000.

    >>> shown(0.5), shown(10**5000)
    ('0.5', 'an object of the type int')
    """
    try:
        return repr(value)
    except Exception:
        return f"an object of the type {type(value).__name__}"

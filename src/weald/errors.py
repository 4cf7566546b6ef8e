"""How weald speaks when something is wrong: the wording of its errors."""

from collections.abc import Iterable


class WealdWarning(UserWarning):
    """A fit or a prediction that works, but probably not as it is meant; the text says what to do.

    All warnings of weald are of this class: ``warnings.simplefilter("ignore", WealdWarning)``.
    """


def listing(names: Iterable[object], most: int = 10) -> str:
    """Join names for a message: at most `most` of them, then how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


def wrong_parameter(owner: object, name: str, expected: str, got: object) -> str:
    """Word the error for a constructor parameter, as scikit-learn words its own."""
    return (
        f"The {name!r} parameter of {type(owner).__name__} must be {expected}. "
        f"Got {shown(got)} instead."
    )


def shown(value: object) -> str:
    """A value as Python writes it; of one that cannot be written, such as 10**5000, its type.

    >>> shown(0.5), shown(10**5000)
    ('0.5', 'an object of the type int')
    """
    try:
        return repr(value)
    except Exception:
        return f"an object of the type {type(value).__name__}"

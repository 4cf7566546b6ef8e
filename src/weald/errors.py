"""How weald speaks when something is wrong: the wording of its errors."""

from collections.abc import Iterable


def listing(names: Iterable[object], most: int = 10) -> str:
    """Join names for a message: at most `most` of them, then how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


def unknown_parameter(owner: object, name: str, known: Iterable[str]) -> str:
    """Word the error for a constructor parameter that is not there, as Python words its own.

    >>> unknown_parameter(3, "max_leaves", ["max_depth", "max_leaf_nodes"])
    "int() got an unexpected keyword argument 'max_leaves'. Did you mean 'max_leaf_nodes'?"
    """
    from difflib import get_close_matches

    known = list(known)
    near = get_close_matches(name, known, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"It has {listing(known, most=40)}."
    return f"{type(owner).__name__}() got an unexpected keyword argument {name!r}. {advice}"


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

"""Error of base estimators that failed, with those that did not."""

import traceback
from collections.abc import Mapping
from typing import Any

from weald.errors import listing


class MemberError(RuntimeError):
    """One or more base estimators of an ensemble failed to fit or to predict.

    The other base estimators are fitted all the same and kept in this error, for instance for
    ``VotingClassifier(list(error.fitted.items()), prefit=True)``.

    If the base estimator raised a ValueError or a TypeError, this error is one too.

    Attributes
    ----------
    failed : dict of str to exception
        Exceptions of the failed base estimators, by name.
    fitted : dict of str to estimator
        Base estimators fitted on all rows (in bagging: on their samples), by name.
    """

    def __init__(
        self,
        message: str,
        failed: Mapping[str, BaseException] | None = None,
        fitted: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.failed = dict(failed or {})
        self.fitted = dict(fitted or {})


class MemberValueError(MemberError, ValueError):
    """A base estimator raised a ValueError."""


class MemberTypeError(MemberError, TypeError):
    """A base estimator raised a TypeError."""


def member_error(
    owner: object,
    failed: Mapping[str, tuple[str, BaseException]],
    fitted: Mapping[str, Any],
    *,
    kept_as: str = "fitted on all rows",
) -> MemberError:
    """Make the error for base estimators that failed.

    `failed` gives, by name, where each failed ("in fold 2 of 5") and its exception; `kept_as` says
    how the `fitted` ones were fitted.
    """
    name, (where, first) = next(iter(failed.items()))
    others = [other for other in failed if other != name]
    message = (
        f"Estimator {name!r} of {type(owner).__name__} failed {where}: "
        f"{type(first).__name__}: {first}"
    )
    if others:
        message += f"\nAlso failed: {listing(others)}; see the `failed` attribute of this error."
    if fitted:
        message += (
            f"\nThe `fitted` attribute of this error holds those {kept_as}: {listing(fitted)}."
        )
    kind = MemberError
    if isinstance(first, ValueError):
        kind = MemberValueError
    elif isinstance(first, TypeError):
        kind = MemberTypeError
    error = kind(message, {name: raised for name, (_, raised) in failed.items()}, fitted)
    error.__cause__ = first
    return error


def portable(error: Exception) -> Exception:
    """The error itself if it can be pickled, else a RuntimeError with its text.

    An exception that cannot be unpickled would break the process pool that returns it.
    """
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        text = "".join(traceback.format_exception_only(error)).strip()
        return RuntimeError(text)
    return error

"""When a member fails: an error that names it, and the work of the others kept."""

import traceback
from collections.abc import Mapping
from typing import Any

from weald.errors import listing


class MemberError(RuntimeError):
    """One or more members of an ensemble failed while it was fitted.

    The members that did not fail were fitted all the same and are kept here. A vote can be made
    of them at once: ``VotingClassifier(list(error.fitted.items()), prefit=True)``.

    Where the member raised a ValueError or a TypeError, this error is one too.

    Attributes
    ----------
    failed : dict of str to exception
        What each failed member raised, by name.
    fitted : dict of str to estimator
        The members fitted on all rows, by name; empty if no member was to be.
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
    """A member raised a ValueError."""


class MemberTypeError(MemberError, TypeError):
    """A member raised a TypeError."""


def member_error(
    owner: object,
    failed: Mapping[str, tuple[str, BaseException]],
    fitted: Mapping[str, Any],
    *,
    kept_as: str = "fitted on all rows",
) -> MemberError:
    """The error for members that failed: where each did, and what it raised."""
    name, (where, first) = next(iter(failed.items()))
    others = [other for other in failed if other != name]
    message = (
        f"Member {name!r} of {type(owner).__name__} failed {where}: {type(first).__name__}: {first}"
    )
    if others:
        message += f"\nSo did {listing(others)}; see the `failed` attribute of this error."
    if fitted:
        message += f"\nKept, {kept_as}: {listing(fitted)} (the `fitted` attribute of this error)."
    kind = MemberError
    if isinstance(first, ValueError):
        kind = MemberValueError
    elif isinstance(first, TypeError):
        kind = MemberTypeError
    error = kind(message, {name: raised for name, (_, raised) in failed.items()}, fitted)
    error.__cause__ = first
    return error


def portable(error: Exception) -> Exception:
    """The error itself if it survives the way from another process, else its text.

    Exceptions whose constructors ask for more than a message break the pool that returns them.
    """
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        text = "".join(traceback.format_exception_only(error)).strip()
        return RuntimeError(text)
    return error

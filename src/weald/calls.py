"""Error messages for wrong calls of constructors and methods, with suggestions."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from sklearn.base import BaseEstimator, ClassifierMixin

from weald.errors import listing, shown

# The tables of peers' names are imported by the first wrong call.
if TYPE_CHECKING:
    from weald.peer_names import Group

# Minimum similarity (difflib) of names for a "Did you mean" suggestion.
_TYPING_ERROR = 0.8

# Parameters to suggest for a positional value: the first of these that accepts it.
_MEANT = ("n_estimators", "estimator", "estimators", "max_depth", "loss", "criterion")

# Mixins of scikit-learn whose methods get the same error messages as weald's own.
_MIXINS = ("ClassifierMixin", "RegressorMixin", "TransformerMixin")


def naming_unknown(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that unknown parameters raise an error with a suggestion."""
    parameters = list(inspect.signature(init).parameters.values())[1:]  # not self
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return init
    known = [one.name for one in parameters]
    n_places = sum(one.kind is not inspect.Parameter.KEYWORD_ONLY for one in parameters)

    @functools.wraps(init)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                raise TypeError(unknown_parameter(type(self), name, known))
        if len(args) > n_places:
            raise TypeError(_unnamed_value(self, args[n_places], known[:n_places]))
        init(self, *args, **kwargs)

    return checked


def unknown_parameter(owner: type, name: str, known: Iterable[str]) -> str:
    """Format the TypeError message for an unknown constructor parameter.

    >>> unknown_parameter(int, "max_leaves", ["max_depth", "max_leaf_nodes"])
    "int() got an unexpected keyword argument 'max_leaves'. Use max_leaf_nodes."
    >>> unknown_parameter(int, "max_deph", ["max_depth", "max_leaf_nodes"])
    "int() got an unexpected keyword argument 'max_deph'. Did you mean 'max_depth'?"
    """
    known = list(known)
    advice = parameter_advice(owner, name, known) or f"It has {listing(known, most=40)}."
    return f"{owner.__name__}() got an unexpected keyword argument {name!r}. {advice}"


def wrong_setting(owner: Any, name: str) -> str:
    """Format the error message of set_params for an unknown parameter, as in scikit-learn."""
    known = list(owner.get_params(deep=False))
    advice = parameter_advice(type(owner), name, known)
    return (
        f"Invalid parameter {name!r} for estimator {type(owner).__name__}. "
        f"{f'{advice} ' if advice else ''}Valid parameters are: {known!r}."
    )


def parameter_advice(owner: type, name: str, known: Collection[str]) -> str:
    """Return a suggestion for an unknown constructor parameter, or an empty string."""
    from weald.peer_names import PARAMETERS

    return _advice(owner, PARAMETERS, name, known)


def argument_advice(owner: type, method: str, name: str) -> str:
    """Return a suggestion for an unknown argument of a method, or an empty string."""
    from weald.peer_arguments import ARGUMENTS

    return _advice(owner, ARGUMENTS, name, _arguments(getattr(owner, method)), _settings(owner))


def _advice(
    owner: type,
    groups: "Collection[Group]",
    name: str,
    known: Collection[str],
    more: Collection[str] = (),
) -> str:
    """Suggest one of the `known` names; `more` are other names that suggestions may refer to."""
    from difflib import get_close_matches

    from weald.peer_names import find_way, is_peer_name

    way = find_way(groups, name, {*known, *more, *_offers(owner)})
    if way is not None:
        return way.advice.format(kind=_kind(owner))
    if is_peer_name(groups, name):
        return ""
    near = get_close_matches(name, known, 1, _TYPING_ERROR)
    return f"Did you mean {near[0]!r}?" if near else ""


def _kind(owner: type) -> str:
    return "Classifier" if issubclass(owner, ClassifierMixin) else "Regressor"


def _settings(owner: type) -> list[str]:
    return list(inspect.signature(owner).parameters)


def _offers(owner: type) -> set[str]:
    """Return public attributes of a class, and arguments of its methods as "method(argument)"."""
    named = {name for name in dir(owner) if not name.startswith("_")}
    for method in ("fit", "predict", "predict_proba"):
        if hasattr(owner, method):
            named |= {f"{method}({one})" for one in _arguments(getattr(owner, method))}
    return named


def _arguments(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def _unnamed_value(owner: Any, value: object, by_place: list[str]) -> str:
    """Format the error message for a surplus positional argument."""
    limits = getattr(owner, "_limits", {})
    meant = (name for name in _MEANT if name in limits and limits[name].admits(value))
    name = next((name for name in meant if name not in by_place), None)
    after = f" after {', '.join(by_place)}" if by_place else ""
    use = "write the name of the parameter" if name is None else f"use {name}={shown(value)}"
    return f"{type(owner).__name__}() takes its parameters by name{after}: {use}."


def explain_calls(owner: type) -> None:
    """Wrap the public methods of a class, own and inherited, to improve errors of wrong calls.

    Python's own message would name the class that defines the method, possibly an internal one.
    """
    found = set()
    for base in owner.__mro__:
        if not (base.__module__.startswith("weald.") or base.__name__ in _MIXINS):
            continue
        for name, function in list(vars(base).items()):
            if name.startswith("_") or name in found:
                continue
            found.add(name)
            if isinstance(function, FunctionType) and not hasattr(function, "explains"):
                setattr(owner, name, _explaining(function))


def available_where(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """Make a method available only if `check(model)` holds, like scikit-learn's available_if.

    An AttributeError raised by `check` says why the method is not available.
    """
    return lambda function: _Offered(_explaining(function), check)


class _Offered:
    def __init__(self, function: Callable[..., Any], check: Callable[[Any], bool]) -> None:
        self._function, self._check = function, check
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self._function
        missing = f"This {type(model).__name__!r} has no attribute {self._name!r}"
        try:
            is_available = self._check(model)
        except AttributeError as error:
            raise AttributeError(f"{str(error).rstrip('.')}. {missing}") from error
        if not is_available:
            raise AttributeError(missing)
        return MethodType(self._function, model)


def _explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def explaining(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # No further frame: raised by the call itself, not within the function.
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:
                _explain(function, args, kwargs, str(error))
            raise

    explaining.explains = True  # type: ignore[attr-defined]
    return explaining


def _explain(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], text: str
) -> NoReturn:
    name = function.__name__
    if not args or not isinstance(args[0], BaseEstimator):
        raise TypeError(
            f"{name}() was called on a class. Create a model first, such as "
            f"model = RandomForestClassifier(), and call model.{name}(…)."
        ) from None
    user_class = type(args[0])
    call = f"{user_class.__name__}.{name}()"
    takes = f"It takes {', '.join(_arguments(function))}."
    for keyword in kwargs:
        if keyword not in inspect.signature(function).parameters:
            advice = argument_advice(user_class, name, keyword) or takes
            raise TypeError(
                f"{call} got an unexpected keyword argument {keyword!r}. {advice}"
            ) from None
    what = text.partition("() ")[2] or text
    if what.startswith("takes"):  # Python's message counts self
        what = f"got {len(args) - 1} positional arguments, which are too many"
    raise TypeError(f"{call} {what}. {takes}") from None

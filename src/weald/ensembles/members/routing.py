"""Routing of sample weights, groups and other metadata of fit to base estimators."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sklearn import get_config

from weald.calls import argument_advice
from weald.ensembles.members.members import Named, is_dropped
from weald.ensembles.members.samples import Sample


@dataclass(frozen=True)
class Routed:
    """Keyword arguments of the base estimators' fits, of the final fit and of the splitter."""

    estimators: Mapping[str, Mapping[str, Any]]
    final: Mapping[str, Any] = field(default_factory=dict)
    splitter: Mapping[str, Any] = field(default_factory=dict)


def routing_is_enabled() -> bool:
    """Whether scikit-learn's metadata routing is enabled."""
    return bool(get_config().get("enable_metadata_routing"))


def routed_params(
    owner: Any,
    estimators: Sequence[Named],
    sample: Sample,
    others: Mapping[str, Any],
    *,
    final: Any = None,
) -> Routed:
    """Route the sample weights, groups and further arguments of fit.

    With scikit-learn's metadata routing enabled, all of them are routed by request. Otherwise,
    sample weights are passed to every base estimator and to the final estimator (in a pipeline: to
    its last step), and groups to the splitter.
    """
    sample_weight, groups = sample.weight, sample.groups
    if routing_is_enabled():
        others = {name: sample.cut(value) for name, value in others.items()}
        return _by_request(owner, estimators, sample_weight=sample_weight, groups=groups, **others)
    if others:
        refuse_unrouted(owner, others)
    splitter = {} if groups is None else {"groups": groups}
    if sample_weight is None:
        return Routed({name: {} for name, _ in estimators}, {}, splitter)
    weighted = {
        name: {weight_keyword(estimator, f"estimator {name!r}"): sample_weight}
        for name, estimator in estimators
    }
    keyword = None if final is None else weight_keyword(final, "the final estimator")
    return Routed(weighted, {} if keyword is None else {keyword: sample_weight}, splitter)


def refuse_unrouted(owner: object, others: Iterable[str], method: str = "fit") -> NoReturn:
    """Raise a TypeError for arguments of fit, or another method, that require metadata routing."""
    advice = (argument_advice(type(owner), method, name) for name in others)
    raise TypeError(
        f"{type(owner).__name__}.{method}() got {', '.join(map(repr, others))}, which requires "
        "metadata routing: "
        f"sklearn.set_config(enable_metadata_routing=True). {' '.join(advice)}".strip()
    )


def routed_prediction(
    owner: Any, caller: str, params: Mapping[str, Any], callee: str
) -> Mapping[str, Any]:
    """Arguments of `caller`, a method of `owner`, for `callee` of its base estimators."""
    if not routing_is_enabled():
        refuse_unrouted(owner, params, caller)
    from sklearn.utils.metadata_routing import process_routing

    routed: Mapping[str, Any] = process_routing(owner, caller, **params)["estimator"][callee]
    return routed


def _by_request(owner: Any, estimators: Sequence[Named], **given: Any) -> Routed:
    from sklearn.utils.metadata_routing import process_routing

    passed = {name: value for name, value in given.items() if value is not None}
    if not passed:
        return Routed({name: {} for name, _ in estimators})
    routed = process_routing(owner, "fit", **passed)
    return Routed(
        {name: routed[name]["fit"] for name, _ in estimators},
        routed["final_estimator"]["fit"] if "final_estimator" in routed else {},
        routed["splitter"]["split"] if "splitter" in routed else {},
    )


def weight_keyword(estimator: Any, who: str) -> str:
    """Name of the sample-weight argument of fit; for a pipeline, that of its last step.

    Raises
    ------
    TypeError
        If the estimator does not support sample weights.
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps and hasattr(estimator, "named_steps"):
        name, last = steps[-1]
        return f"{name}__{weight_keyword(last, who)}"
    taken = inspect.signature(estimator.fit).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    if "sample_weight" not in taken and not takes_any:
        raise TypeError(
            f"Underlying estimator {type(estimator).__name__} does not support sample weights: "
            f"fit of {who} has no argument sample_weight. Drop it, fit without weights, or enable "
            "scikit-learn's metadata routing and request weights only for estimators that support "
            "them."
        )
    return "sample_weight"


def router(
    owner: Any,
    estimators: Sequence[Named],
    *,
    final: Any = None,
    splitter: Any = None,
    callers: Mapping[str, str] | None = None,
) -> Any:
    """Metadata router of an ensemble, its base estimators, final estimator and splitter.

    `callers` maps prediction methods of the ensemble to those of its base estimators.
    """
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

    routing = MetadataRouter(owner=owner).add_self_request(owner)
    fit = MethodMapping().add(caller="fit", callee="fit")
    for caller, callee in (callers or {}).items():
        fit.add(caller=caller, callee=callee)
    for name, estimator in estimators:
        if not is_dropped(estimator):
            routing.add(method_mapping=fit, **{name: estimator})
    if final is not None:
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="predict", callee="predict")
        routing.add(method_mapping=mapping, final_estimator=final)
    if hasattr(splitter, "get_metadata_routing"):
        split = MethodMapping().add(caller="fit", callee="split")
        routing.add(method_mapping=split, splitter=splitter)
    return routing

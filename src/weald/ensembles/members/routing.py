"""Which member gets which metadata: sample weights and whatever else is passed to fit."""

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
    """Keyword arguments of the members' fits by name, of the final fit, of the splitter's split."""

    members: Mapping[str, Mapping[str, Any]]
    final: Mapping[str, Any] = field(default_factory=dict)
    splitter: Mapping[str, Any] = field(default_factory=dict)


def routing_is_enabled() -> bool:
    """Tell whether scikit-learn's metadata routing is switched on."""
    return bool(get_config().get("enable_metadata_routing"))


def routed_params(
    owner: Any,
    members: Sequence[Named],
    sample: Sample,
    others: Mapping[str, Any],
    *,
    final: Any = None,
) -> Routed:
    """Share out the weights and groups of the rows and whatever else was passed to fit.

    With scikit-learn's metadata routing enabled everything goes where it was requested. Without it
    sample weights go to every member and to the final model, through pipelines to their last step,
    and groups to the splitter.
    """
    sample_weight, groups = sample.weight, sample.groups
    if routing_is_enabled():
        others = {name: sample.cut(value) for name, value in others.items()}
        return _by_request(owner, members, sample_weight=sample_weight, groups=groups, **others)
    if others:
        refuse_unrouted(owner, others)
    splitter = {} if groups is None else {"groups": groups}
    if sample_weight is None:
        return Routed({name: {} for name, _ in members}, {}, splitter)
    weighed = {
        name: {weight_keyword(estimator, f"Member {name!r}"): sample_weight}
        for name, estimator in members
    }
    keyword = None if final is None else weight_keyword(final, "The final estimator")
    return Routed(weighed, {} if keyword is None else {keyword: sample_weight}, splitter)


def refuse_unrouted(owner: object, others: Iterable[str]) -> NoReturn:
    """Raise a TypeError for arguments of fit that only metadata routing could pass on."""
    advice = (argument_advice(type(owner), "fit", name) for name in others)
    raise TypeError(
        f"{type(owner).__name__}.fit() got {', '.join(map(repr, others))}, which it can pass on "
        "only with metadata routing: "
        f"sklearn.set_config(enable_metadata_routing=True). {' '.join(advice)}".strip()
    )


def _by_request(owner: Any, members: Sequence[Named], **given: Any) -> Routed:
    from sklearn.utils.metadata_routing import process_routing

    passed = {name: value for name, value in given.items() if value is not None}
    if not passed:
        return Routed({name: {} for name, _ in members})
    routed = process_routing(owner, "fit", **passed)
    return Routed(
        {name: routed[name]["fit"] for name, _ in members},
        routed["final_estimator"]["fit"] if "final_estimator" in routed else {},
        routed["splitter"]["split"] if "splitter" in routed else {},
    )


def weight_keyword(estimator: Any, who: str) -> str:
    """The keyword that an estimator's fit takes sample weights by: that of a pipeline's last step.

    Raises
    ------
    TypeError
        If it takes none.
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps and hasattr(estimator, "named_steps"):
        name, last = steps[-1]
        return f"{name}__{weight_keyword(last, who)}"
    taken = inspect.signature(estimator.fit).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    if "sample_weight" not in taken and not takes_any:
        raise TypeError(
            f"{who} ({type(estimator).__name__}) takes no sample_weight. Leave it out, fit without "
            "weights, or enable scikit-learn's metadata routing and request weights only where "
            "they are understood."
        )
    return "sample_weight"


def router(owner: Any, members: Sequence[Named], *, final: Any = None, splitter: Any = None) -> Any:
    """The metadata routing of an ensemble: its own wishes and those of all it passes data to."""
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

    made = MetadataRouter(owner=owner).add_self_request(owner)
    fit = MethodMapping().add(caller="fit", callee="fit")
    for name, estimator in members:
        if not is_dropped(estimator):
            made.add(method_mapping=fit, **{name: estimator})
    if final is not None:
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="predict", callee="predict")
        made.add(method_mapping=mapping, final_estimator=final)
    if hasattr(splitter, "get_metadata_routing"):
        split = MethodMapping().add(caller="fit", callee="split")
        made.add(method_mapping=split, splitter=splitter)
    return made

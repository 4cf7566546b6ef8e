"""scikit-learn tags of trees whose parameters restrict the target."""

from typing import Any


class TreeTags:
    """Tags that depend on `criterion` and `monotonic_cst`; precedes scikit-learn's mixins."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        criterion = getattr(self, "criterion", None)
        is_held = getattr(self, "monotonic_cst", None) is not None
        if criterion == "absolute_error":
            tags.input_tags.categorical = False
        if criterion == "poisson":
            tags.target_tags.positive_only = True
        if is_held or criterion in ("absolute_error", "poisson"):  # one output only
            tags.target_tags.multi_output = False
        if tags.classifier_tags is not None and is_held:
            tags.classifier_tags.multi_class = tags.classifier_tags.multi_label = False
        return tags

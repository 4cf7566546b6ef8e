"""What scikit-learn is told of trees whose settings admit fewer targets."""

from typing import Any


class TreeTags:
    """Tags that depend on `criterion` and `monotonic_cst`; stands before scikit-learn's mixins."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if getattr(self, "criterion", None) == "poisson":
            tags.target_tags.positive_only = True
        if tags.classifier_tags is not None and getattr(self, "monotonic_cst", None) is not None:
            tags.classifier_tags.multi_class = False
        return tags

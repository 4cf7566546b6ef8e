"""Explanations of fitted models: Shapley values, importances and effects of columns."""

from typing import TYPE_CHECKING

from weald.lazy import attach

if TYPE_CHECKING:
    from weald.explain.accumulated import AccumulatedEffects, accumulated_effects
    from weald.explain.dependence import PartialDependence, partial_dependence
    from weald.explain.explanation import Explanation
    from weald.explain.permutation import PermutationImportance, permutation_importance
    from weald.explain.shapley import shap

__all__ = [
    "AccumulatedEffects",
    "Explanation",
    "PartialDependence",
    "PermutationImportance",
    "accumulated_effects",
    "partial_dependence",
    "permutation_importance",
    "shap",
]

if not TYPE_CHECKING:
    _MODULES = {
        "accumulated": ("AccumulatedEffects", "accumulated_effects"),
        "dependence": ("PartialDependence", "partial_dependence"),
        "explanation": ("Explanation",),
        "permutation": ("PermutationImportance", "permutation_importance"),
        "shapley": ("shap",),
    }
    __getattr__, __dir__ = attach(
        "weald.explain",
        {name: f"weald.explain.{module}" for module, names in _MODULES.items() for name in names},
    )

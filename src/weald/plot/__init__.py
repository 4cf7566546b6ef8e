"""Pictures of models, their errors and their predictions; needs matplotlib (`weald[plot]`).

Every function takes `ax`, axes to draw on, and returns the axes; without it, a figure is made.
Colours are told apart with any colour vision. `graphviz` returns text and needs no library.
"""

from weald.plot.attributions import shap_dependence, shap_summary
from weald.plot.boundaries import decision_boundary
from weald.plot.curves import learning_curve, training_curve
from weald.plot.decomposed_errors import bias_variance, errors
from weald.plot.dependences import partial_dependence
from weald.plot.displays import calibration, confusion_matrix
from weald.plot.dot import graphviz
from weald.plot.importances import importance
from weald.plot.survival import survival_curves
from weald.plot.tree_pictures import tree
from weald.plot.uncertainties import uncertainty
from weald.plot.waterfalls import shap_waterfall

__all__ = [
    "bias_variance",
    "calibration",
    "confusion_matrix",
    "decision_boundary",
    "errors",
    "graphviz",
    "importance",
    "learning_curve",
    "partial_dependence",
    "shap_dependence",
    "shap_summary",
    "shap_waterfall",
    "survival_curves",
    "training_curve",
    "tree",
    "uncertainty",
]

"""From numbers to findings: what is claimed when, and what to change."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.calibration_error import CalibrationError
from weald.diagnostics.copies import Copies
from weald.diagnostics.doubtful_rows import DoubtfulRows
from weald.diagnostics.findings import Estimate, Finding, percent, plain_number
from weald.diagnostics.leaks import ColumnFacts
from weald.diagnostics.reference import Reference
from weald.diagnostics.trials import LearningCurve, Rounds
from weald.theory.correlation import ErrorCorrelation
from weald.theory.decomposed import Decomposition

# Standard errors that a difference must exceed to be claimed.
_SURE = 3.0
# Share of the error that must be variance, or be gained by a more flexible model.
_VARIANCE_SHARE, _BIAS_SHARE = 0.3, 0.1
# Relative gain of twice as many base estimators that is worth their cost.
_GAIN = 0.02
# The gain as a share of the squared error of a constant prediction: less is of no use.
_WORTH = 0.002
# Correlation of errors above which base estimators are the same for all purposes.
_SAME = 0.97
# Too sure by this much, on average.
_OVERCONFIDENT = 0.05
# Share of rows with doubtful labels that calls for a look, and the error of the surest rows as a
# share of that of all rows.
_LABELS_WRONG, _SURELY_WRONG = 0.03, 0.5
# Share of a constant's errors that a model may make to judge labels.
_KNOWS_CLASSES = 0.5
_COPIES = 0.05
_LEAK = 0.98
# Edge over chance of the last third of the weak learners.
_NO_EDGE = 0.01
_LISTED = 5


def judge_errors(
    errors: dict[str, Estimate], source: str, reference: Reference | None
) -> list[Finding]:
    """Compare the errors of unseen rows, test rows and a constant prediction."""
    unseen, constant = errors[source], errors["constant"]
    found = []
    if constant.value > 0 and unseen.value > constant.value - 2 * unseen.standard_error:
        found.append(
            Finding(
                "no better than a constant",
                "critical",
                unseen.value / constant.value,
                f"The {source} error is {plain_number(unseen.value)}; always predicting the same "
                f"has {plain_number(constant.value)}.",
                _advice_for_useless(constant, reference),
            )
        )
    test = errors.get("test")
    if test is not None:
        doubt = float(np.hypot(test.standard_error, unseen.standard_error))
        gap = test.value - unseen.value
        if gap > _SURE * doubt and gap > 0.1 * unseen.value:
            found.append(
                Finding(
                    "test rows differ",
                    "warning",
                    gap,
                    f"The error of the test rows, {plain_number(test.value)}, is "
                    f"{plain_number(gap)} above the {source} error, "
                    f"{plain_number(unseen.value)} (standard error {plain_number(doubt)}).",
                    "The test rows come from elsewhere or later, or the training rows are not "
                    "independent: pass groups= to fit and to diagnose, or validate on rows like "
                    "the test rows.",
                )
            )
    return found


def _advice_for_useless(constant: Estimate, reference: Reference | None) -> str:
    if reference is not None:
        forest = reference.reference
        if forest.value < constant.value - 2 * forest.standard_error:
            return (
                "The columns do say something about y: a default random forest has an error of "
                f"{plain_number(forest.value)}. Change the model."
            )
    return (
        "Check that rows of X and y belong together; otherwise find columns that say something "
        "about y."
    )


def judge_parts(
    errors: dict[str, Estimate],
    parts: Decomposition | None,
    reference: Reference | None,
    kind: str,
) -> list[Finding]:
    """Say whether variance or bias dominates the error; `kind` is that of the model."""
    # For 0/1 loss variance helps on biased rows: what counts is the net effect.
    variance = 0.0 if parts is None else parts.error - (parts.bias_and_noise or 0.0)
    is_worse = reference is not None and _is_worse(reference)
    if parts is not None and parts.error > 0:
        share, doubt = variance / parts.error, parts.standard_errors["variance"]
        if share >= _VARIANCE_SHARE and variance > _SURE * doubt:
            return [_variance_finding(parts, variance, kind, is_worse)]
    if reference is None or not is_worse:
        return []
    own, forest, gap = reference.model.value, reference.reference.value, reference.gap
    numbers = (
        f"a default random forest has an error of {plain_number(forest)} on rows it has not seen, "
        f"this model {plain_number(own)}"
    )
    training = errors.get("training")
    if training is None:
        text = f"A better model is possible: {numbers}."
        advice = "Try other models; refit=True tells bias from variance."
        return [Finding("worse than a forest", "warning", gap.value, text, advice)]
    numbers += f" (training rows: {plain_number(training.value)})"
    if training.value < 0.5 * forest:
        text = f"The model fits its training rows too closely: {numbers}."
        advice = _advice_for_variance(kind, "averaging lowers variance")
        return [Finding("variance", "warning", gap.value, text, advice)]
    bias = gap.value - max(variance, 0.0)
    if bias <= _SURE * gap.standard_error or bias <= _BIAS_SHARE * own:
        return []
    text = (
        f"The model is too rigid: {numbers}. At least {plain_number(bias)} of its error is bias, "
        f"{plain_number(max(variance, 0.0))} is variance."
    )
    return [Finding("bias", "warning", bias, text, _advice_for_bias(kind))]


def _is_worse(reference: Reference) -> bool:
    """Whether a default forest is better than the model, beyond doubt and by enough."""
    gap = reference.gap
    sure = gap.value > _SURE * gap.standard_error
    return sure and gap.value > _BIAS_SHARE * reference.model.value


def _variance_finding(parts: Decomposition, variance: float, kind: str, is_worse: bool) -> Finding:
    share, rest = variance / parts.error, plain_number(parts.error - variance)
    text = (
        f"{percent(share)} of the error is variance: {plain_number(variance)} of "
        f"{plain_number(parts.error)} depends on which rows were drawn for training."
    )
    if kind == "ensemble" and not is_worse:
        advice = "It is averaged already: more rows lower it, or a larger min_samples_leaf."
        return Finding("variance", "info", share, text, advice)
    advice = _advice_for_variance(kind, f"averaging many such models leaves about {rest}")
    return Finding("variance", "warning", share, text, advice)


def _advice_for_variance(kind: str, average: str) -> str:
    if kind == "booster":
        return (
            "Regularise: fewer rounds (early stopping), a smaller learning_rate, larger "
            f"min_samples_leaf, l2_regularization; or set n_bags: {average}."
        )
    if kind == "ensemble":
        return (
            "Use more base estimators, or make them less correlated (smaller max_features or "
            f"max_samples) and larger min_samples_leaf: {average}."
        )
    return (
        f"Bag it (Bagging*, RandomForest*): {average}; or regularise (larger min_samples_leaf, "
        "smaller max_depth, ccp_alpha)."
    )


def _advice_for_bias(kind: str) -> str:
    if kind == "booster":
        return "Boost longer (more rounds, early stopping) with deeper trees (max_leaf_nodes)."
    if kind == "ensemble":
        return (
            "Use deeper base estimators (smaller min_samples_leaf, no max_depth), or boost them "
            "(BoostedTrees*, AdaBoost*): averaging does not lower bias."
        )
    return (
        "Use a more flexible model: deeper (max_depth, max_leaf_nodes), boosted (BoostedTrees*, "
        "AdaBoost*) or a forest."
    )


def judge_correlation(
    found: ErrorCorrelation | None, constant: float, can_grow: bool
) -> list[Finding]:
    """Say what more, or less correlated, base estimators would bring.

    `constant` is the squared error of a constant prediction, `can_grow` whether the ensemble has
    a parameter for the number of its base estimators.
    """
    if found is None or not found.v > 0:
        return []
    k = found.n_members
    now, twice, limit = found.error(k), found.error(2 * k), max(found.c, 0.0)
    numbers = (
        f"v = {plain_number(found.v)} for one base estimator, c = {plain_number(found.c)} for "
        f"pairs, rho = c / v = {found.rho:.2f}"
    )
    if found.rho >= _SAME:
        return [
            Finding(
                "equal base estimators",
                "warning",
                found.rho,
                f"The {k} base estimators make the same errors ({numbers}): their mean is hardly "
                "better than one of them.",
                "More of them will not help. Make them differ: draw rows (bootstrap=True, smaller "
                "max_samples) and columns (smaller max_features), use deeper trees or different "
                "algorithms; or keep one.",
            )
        ]
    gain = (now - twice) / now if now > 0 else 0.0
    if gain >= _GAIN and now - twice >= _WORTH * constant:
        return [
            Finding(
                "few base estimators",
                "warning",
                gain,
                f"{2 * k} base estimators instead of {k} would lower the squared error by "
                f"{percent(gain)}, from {plain_number(now)} to {plain_number(twice)}; arbitrarily "
                f"many to {plain_number(limit)} ({numbers}).",
                f"Set n_estimators to {max(100, 2 * k)}." if can_grow else "Add some.",
            )
        ]
    text = (
        f"More base estimators than {k} would lower the squared error by at most "
        f"{percent((now - limit) / now if now > 0 else 0.0)} ({numbers})."
    )
    advice = "Only less correlated or better base estimators can lower it further."
    return [Finding("correlation", "info", found.rho, text, advice)]


def judge_edges(edge: NDArray[np.float64] | None) -> list[Finding]:
    """Say whether the last of AdaBoost's weak learners are better than chance."""
    if edge is None or len(edge) < 6:
        return []
    last = edge[len(edge) * 2 // 3 :]
    mean = float(last.mean())
    if mean >= _NO_EDGE:
        return []
    return [
        Finding(
            "weak learners without an edge",
            "warning",
            mean,
            f"The last {len(last)} weak learners are only {plain_number(mean)} better than chance "
            f"on their weighted rows (the first {len(edge) - len(last)}: "
            f"{plain_number(float(edge[: len(edge) - len(last)].mean()))}).",
            "Use a stronger base estimator (a deeper tree), or fewer of them: rows that no weak "
            "learner gets right may be mislabelled.",
        )
    ]


def judge_rounds(rounds: Rounds | None, stops_early: bool) -> list[Finding]:
    """Say whether a booster has too many or too few rounds."""
    if rounds is None or len(rounds.values) < 5:
        return []
    n, values, loss = len(rounds.values), rounds.values, rounds.loss.replace("_", " ")
    least, last = float(values.min()), float(values[-1])
    if _is_sure(rounds.excess) and last > 1.05 * least and rounds.best < 0.9 * n:
        return [
            Finding(
                "too many rounds",
                "warning",
                rounds.best,
                f"The {loss} of rows held out is least after {rounds.best} rounds, "
                f"{plain_number(least)}, and {plain_number(last)} after all {n}.",
                "Stop early (early_stopping=True), or lower n_estimators or learning_rate.",
            )
        ]
    slope = rounds.slope.value / (last + rounds.slope.value) if last > 0 else 0.0
    if not stops_early and _is_sure(rounds.slope) and slope > 0.03 and rounds.best > 0.9 * n:
        return [
            Finding(
                "too few rounds",
                "warning",
                slope,
                f"The {loss} of rows held out still falls: by {percent(slope)} over the last "
                f"fifth of {n} rounds, to {plain_number(last)}.",
                "Boost longer (larger n_estimators), or raise learning_rate.",
            )
        ]
    return []


def _is_sure(difference: Estimate) -> bool:
    return difference.value > 2 * difference.standard_error


def judge_calibration(found: CalibrationError | None) -> list[Finding]:
    """Say whether probabilities can be taken as such."""
    if found is None or found.error <= found.limit:
        return []
    numbers = (
        f"mean probability of the predicted class {found.confidence:.3f}, right in "
        f"{found.accuracy:.3f} of the rows; calibration error {found.error:.3f}, by chance at most "
        f"{found.limit:.3f}"
    )
    calibrate = "Calibrate them (sklearn.calibration.CalibratedClassifierCV) where they are used."
    if found.gap > _OVERCONFIDENT:
        return [
            Finding(
                "overconfident", "warning", found.gap, f"Probabilities are too extreme: {numbers}.",
                f"{calibrate} Averaging or regularising the model helps, too.",
            )
        ]  # fmt: skip
    word = "too cautious" if found.gap < 0 else "not quite right"
    text = f"Probabilities are {word}: {numbers}."
    return [Finding("calibration", "info", found.error, text, calibrate)]


def judge_rows(
    doubtful: DoubtfulRows, copies: Copies, classes: Any, errors: dict[str, Estimate], source: str
) -> list[Finding]:
    """Report rows that look mislabelled, copies, and copies in the test rows."""
    found = _judge_doubtful(doubtful, classes, errors["constant"].value)
    unseen_error = errors[source].value
    if len(copies.rows) >= max(1.0, _COPIES * copies.n):
        share = len(copies.rows) / copies.n
        found.append(
            Finding(
                "copies",
                "warning" if len(copies.conflicting) < len(copies.rows) else "info",
                share,
                f"{len(copies.rows)} of {copies.n} rows ({percent(share)}) repeat another row in "
                "all columns: out-of-bag and cross-validated errors see them on both sides.",
                "Drop copies, or pass groups= so that equal rows stay together.",
            )
        )
    if copies.least_error > 0.2 * unseen_error and len(copies.conflicting):
        found.append(
            Finding(
                "conflicting copies",
                "info",
                copies.least_error,
                f"{len(copies.conflicting)} rows are equal to a row with another target: no model "
                f"of these columns can have an error below {plain_number(copies.least_error)}.",
                "Add columns that tell them apart, or correct their targets.",
            )
        )
    if len(copies.in_test) > 0.01 * copies.n_test and copies.n_test:
        share = len(copies.in_test) / copies.n_test
        found.append(
            Finding(
                "test rows in the training rows",
                "critical" if share > 0.1 else "warning",
                share,
                f"{len(copies.in_test)} of {copies.n_test} test rows ({percent(share)}) are also "
                "among the training rows: the test error is too low.",
                "Remove them from X_test.",
            )
        )
    return found


def _judge_doubtful(doubtful: DoubtfulRows, classes: Any, constant: float) -> list[Finding]:
    if not len(doubtful):
        return []
    share = len(doubtful) / doubtful.n
    shown = ", ".join(str(row) for row in doubtful.rows[:_LISTED].tolist())
    counted = f"{len(doubtful)} of {doubtful.n} rows ({percent(share)})"
    if classes is None:
        text = (
            f"{counted} have a target far from what similar rows have; the farthest are rows "
            f"{shown}."
        )
        advice = "Look at them (.doubtful): correct or drop what is wrong."
        return [Finding("targets in doubt", "info", share, text, advice)]
    if doubtful.error > _KNOWS_CLASSES * constant:
        return []  # a model that does not know the classes cannot doubt labels
    text = (
        f"{counted} look mislabelled: a model that has not seen them is sure of another class; "
        f"the most doubtful are rows {shown}."
    )
    # Where classes overlap, errors are rare among the rows that the model is surest of.
    is_random = doubtful.least_error >= _SURELY_WRONG * doubtful.error
    if share < _LABELS_WRONG or not is_random:
        advice = "Look at them (.doubtful); where classes overlap, they may be right."
        return [Finding("labels in doubt", "info", share, text, advice)]
    text += (
        f" Of the quarter of the rows that it is surest of, {percent(doubtful.least_error)} have "
        "another label: about that many may be wrong everywhere."
    )
    advice = "Look at them (.doubtful), and correct or drop what is wrong."
    return [Finding("labels in doubt", "warning", share, text, advice)]


def judge_columns(columns: Sequence[ColumnFacts], importances: Any) -> list[Finding]:
    """Name columns that look like leaks, and identifiers that the model uses."""
    leaks = sorted((one for one in columns if one.skill >= _LEAK), key=lambda one: -one.skill)
    found = [
        Finding(
            "leak",
            "critical",
            one.skill,
            f"Column {one.name!r} alone predicts the target almost perfectly (skill "
            f"{one.skill:.3f} of 1 on rows it was not learnt from).",
            "Check that it is known before the target is; if it is derived from the target, drop "
            "it.",
        )
        for one in leaks[:_LISTED]
    ]
    if len(leaks) > _LISTED:
        found.append(
            Finding(
                "leak", "critical", len(leaks), f"{len(leaks)} columns alone predict the target "
                f"almost perfectly; the first {_LISTED} are listed.",
            )
        )  # fmt: skip
    for one in [one for one in columns if one.is_identifier][:_LISTED]:
        used = None if importances is None else float(importances[one.column])
        text = f"Column {one.name!r} looks like an identifier: {percent(one.distinct)} of its "
        text += "values are different" + ("." if used is None else f"; importance {used:.3f}.")
        is_used = used is not None and used > 0.5 / len(columns)
        found.append(
            Finding(
                "identifier",
                "warning" if is_used else "info",
                one.distinct,
                text,
                "Drop it: what is learnt from it does not hold for new rows.",
            )
        )
    return found


def judge_learning_curve(curve: LearningCurve | None) -> list[Finding]:
    """Say whether more rows would help."""
    if curve is None:
        return []
    half, whole = curve.errors[1].value, curve.errors[2].value
    gain = curve.gain
    numbers = (
        f"the error is {plain_number(half)} with {curve.n_rows[1]} training rows and "
        f"{plain_number(whole)} with {curve.n_rows[2]}"
    )
    if half > 0 and gain.value > 2 * gain.standard_error and gain.value > 0.05 * half:
        text = f"More rows would help: {numbers}."
        return [Finding("more rows", "info", gain.value / half, text, "Collect more rows.")]
    text = f"More rows alone would not help much: {numbers}."
    return [Finding("more rows", "info", gain.value, text)]

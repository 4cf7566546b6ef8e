"""Any algorithms together: a density, an SVM, neighbours, a linear model and trees, in one vote."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import weald
from weald.datasets import load_optdigits
from weald.ensembles import DensityClassifier


def main() -> None:
    """Print the accuracy of every member and of every way to combine them."""
    train, test = (load_optdigits(part=part, as_frame=False) for part in ("train", "test"))
    X, y = train.data[::8], train.target[::8]
    X_test, y_test = test.data, test.target

    members = [
        ("gmm", DensityClassifier(GaussianMixture(2, reg_covar=1.0, random_state=0))),
        ("svm", CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), ensemble=False)),
        ("knn", KNeighborsClassifier(5)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))),
        ("trees", weald.BoostedTreesClassifier(quality="fast", n_estimators=40)),
    ]
    ensembles = {
        "hard vote": weald.VotingClassifier(members),
        "soft vote": weald.VotingClassifier(members, voting="soft"),
        "learnt weights": weald.VotingClassifier(members, voting="soft", weights="oof"),
        "product": weald.VotingClassifier(members, voting="soft", rule="product"),
        "blending": weald.BlendingClassifier(members, "nonnegative", random_state=0),
        "stacking": weald.StackingClassifier(members, "nonnegative", cv=3),
        "greedy": weald.StackingClassifier(members, "greedy", cv=3),
    }

    print(f"optdigits: {len(y)} rows to train on, {len(y_test)} to test on\n")
    for name, model in [*members, *ensembles.items()]:
        accuracy = model.fit(X, y).score(X_test, y_test)
        print(f"{name:15s} accuracy={100 * accuracy:.2f}%")

    stack = ensembles["stacking"]
    print("\nWeights that stacking found (out of fold):")
    for (name, _), weight in zip(members, stack.final_estimator_.weights_, strict=True):
        print(f"  {name:8s} {weight:.2f}")
    _, std = ensembles["soft vote"].predict_proba(X_test, return_std=True)
    least, most = std.max(axis=1).argmin(), std.max(axis=1).argmax()
    print(f"\nThe members agree most on test row {least} and least on test row {most}.")


if __name__ == "__main__":
    main()

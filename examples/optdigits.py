"""Handwritten digits: train on one part, test on the other, look at what was learnt."""

import time

import weald
from weald.datasets import load_optdigits


def main() -> None:
    """Print the errors, the time, the most important pixels and a small tree that imitates all."""
    train, test = load_optdigits(part="train"), load_optdigits(part="test")
    print(f"optdigits: {len(train.target)} rows to train on, {len(test.target)} to test on;")
    print(f"           {len(train.feature_names)} pixels, 10 classes\n")

    model = weald.BoostedTreesClassifier(quality="fast", n_estimators=100)
    begin = time.perf_counter()
    model.fit(train.data, train.target)
    fitted = time.perf_counter()
    predicted = model.predict(test.data)
    done = time.perf_counter()

    errors = int((predicted != test.target).sum())
    print(f"errors={errors} of {len(test.target)}")
    print(f"accuracy={100 * (1 - errors / len(test.target)):.2f}%")
    print(f"fit {fitted - begin:.2f} s ({model.forest_}), predict {1000 * (done - fitted):.0f} ms")
    print(f"fingerprint {model.fingerprint()[:16]}… (the same for any number of threads)\n")

    print("The 15 most important features, by share of the gain:")
    shares = sorted(zip(model.feature_importances_, train.feature_names, strict=True))[:-16:-1]
    for share, name in shares:
        print(f"  {name:10s} {100 * share:5.1f} %  {'█' * round(200 * share)}")

    small = weald.distill(model, train.data, max_leaf_nodes=10, n_samples=0)
    agrees = f"{100 * float(small.fidelity):.0f} %"
    print(f"\nOne tree of 10 leaves agrees with it on {agrees} of new rows:")
    print(small.text())

    print(
        "\nWhat to do next:\n"
        "  your own table:  X, y = weald.read('table.csv', target='column')\n"
        "                   weald.BoostedTreesClassifier().fit(X, y)\n"
        "  the tests:       make test\n"
        "  how it is built: ARCHITECTURE.md"
    )


if __name__ == "__main__":
    main()

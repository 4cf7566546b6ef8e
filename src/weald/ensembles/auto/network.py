"""A small neural network as arrays, trained by scikit-learn."""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

Floats = NDArray[np.float64]

# A validation set of less than this many rows would stop training at random.
_FEWEST_VALIDATION_ROWS = 20


class _Network(BaseEstimator):
    """Two hidden layers, trained by Adam with early stopping.

    Only the weights of the layers are kept of scikit-learn's model, so that a model file can hold
    them.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(64, 32)
        Number of units of each hidden layer.
    random_state : int, default=0
        Seed of the initial weights, of the order of the rows and of the validation set.
    """

    coefs_: list[Floats]
    intercepts_: list[Floats]

    def __init__(
        self, hidden_layer_sizes: tuple[int, ...] = (64, 32), random_state: int = 0
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.random_state = random_state

    def _train(self, kind: Any, X: Floats, y: Any, sample_weight: Any) -> Any:
        # About forty batches per epoch.
        batch = int(np.clip(2 ** round(np.log2(max(2, len(X) / 40))), 16, 256))
        stops: Mapping[str, Any] = {"max_iter": 60}
        if 0.1 * len(X) >= _FEWEST_VALIDATION_ROWS:
            stops = {"max_iter": 200, "early_stopping": True, "n_iter_no_change": 10}
        network = kind(
            hidden_layer_sizes=self.hidden_layer_sizes,
            alpha=1e-3,
            learning_rate_init=2e-3,
            batch_size=min(batch, len(X)),
            random_state=self.random_state,
            **stops,
        )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        with warnings.catch_warnings():  # so many epochs are meant to be enough
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(X, y, **weights)
        self.coefs_, self.intercepts_ = list(network.coefs_), list(network.intercepts_)
        self.n_features_in_ = int(X.shape[1])
        return network

    def _outputs(self, X: Floats) -> Floats:
        """Values of the output layer before its activation."""
        values = X
        for number, (coefs, intercepts) in enumerate(
            zip(self.coefs_, self.intercepts_, strict=True)
        ):
            values = (np.maximum(values, 0.0) if number else values) @ coefs + intercepts
        return values


class NetworkClassifier(ClassifierMixin, _Network):
    """A small neural network for classification.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 100)[:, np.newaxis]
    >>> model = NetworkClassifier().fit(X, (X[:, 0] > 0).astype(int))
    >>> model.predict(np.array([[-0.9], [0.9]])).tolist()
    [0, 1]
    """

    def fit(self, X: Floats, y: Any, sample_weight: Any = None) -> Self:
        """Train the network."""
        self.classes_ = self._train(MLPClassifier, X, y, sample_weight).classes_
        return self

    def predict_proba(self, X: Floats) -> Floats:
        scores = self._outputs(X)
        if scores.shape[1] == 1:  # the log-odds of the second of two classes
            scores = np.hstack([np.zeros_like(scores), scores])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class NetworkRegressor(RegressorMixin, _Network):
    """A small neural network for regression.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 300)[:, np.newaxis]
    >>> model = NetworkRegressor().fit(X, X[:, 0])
    >>> bool(abs(model.predict(np.array([[0.5]]))[0] - 0.5) < 0.1)
    True
    """

    def fit(self, X: Floats, y: Any, sample_weight: Any = None) -> Self:
        """Train the network."""
        self._train(MLPRegressor, X, y, sample_weight)
        return self

    def predict(self, X: Floats) -> Floats:
        return self._outputs(X)[:, 0]

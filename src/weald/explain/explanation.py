"""The result of `weald.explain.shap`."""

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.explain.printing import Printed, Table
from weald.lazy import picture

Floats = NDArray[np.float64]

# Number of columns of the table that are printed.
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Printed):
    """Shapley values: what each column contributes to the prediction of each row.

    The values of a row and the base value add up to its prediction, on the scale `scale`.

    Attributes
    ----------
    values : array, shape (rows, columns) or (rows, columns, outputs)
        Shapley values; the last axis if the model has several outputs, such as classes.
    base_values : float or array, shape (outputs,)
        Mean prediction, to which the values are added.
    data : table
        The explained rows, as they were passed.
    feature_names : list of str
        Names of the columns.
    output_names : list of str
        Names of the outputs, such as classes; empty for a regression with one output.
    scale : str
        What is explained: "prediction", "probability", "log odds" or another raw score.
    is_exact : bool
        Whether the values are exact, or sampled.
    method : str
        How the values were computed.
    standard_error : array with the shape of `values`, or None
        Standard errors of sampled values.
    interaction_values : array, shape (rows, columns, columns) or (rows, columns, columns, outputs)
        With `interactions=True`: the value of a column divided among the other columns it interacts
        with (each pair has two equal halves) and itself, on the diagonal. None otherwise.
    """

    values: Floats
    base_values: Any
    data: Any = field(repr=False)
    feature_names: list[str]
    output_names: list[str]
    scale: str
    is_exact: bool
    method: str
    standard_error: Floats | None = None
    interaction_values: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.values, self.standard_error, self.interaction_values):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def predictions(self) -> Floats:
        """Predictions of the rows on the scale `scale`, shape (rows,) or (rows, outputs)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    @property
    def mean_abs(self) -> Floats:
        """Mean absolute value of each column, shape (columns,) or (columns, outputs)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def _table(self) -> Table:
        sizes = self.mean_abs.reshape(len(self.feature_names), -1)
        order = np.argsort(-sizes.sum(axis=1), kind="stable")
        several = sizes.shape[1] > 1
        head = ["column", *([f"of {name}" for name in self.output_names] if several else ["mean"])]
        title = (
            f"Shapley values of {self.values.shape[0]} rows and {self.values.shape[1]} columns\n"
            f"scale: {self.scale}"
            + (f" of {self.output_names[0]!r}" if len(self.output_names) == 1 else "")
            + f"\nmethod: {self.method}\nmean |value| of each column:"
        )
        rows = [[self.feature_names[i], *sizes[i]] for i in order[:_SHOWN]]
        return Table(title, head, rows, len(order) - len(rows))

    def to_pandas(self) -> Any:
        """The values as a pandas data frame.

        Returns
        -------
        DataFrame
            One row per explained row and one column per feature, with the index of `data` if it is
            a pandas frame. For several outputs, one row per explained row and output, with these in
            the first two columns.
        """
        frame = super().to_pandas()
        if self.values.ndim == 2 and hasattr(self.data, "iloc"):
            frame.index = self.data.index
        return frame

    def plot(self, *, row: int | None = None, feature: Any = None, **kwargs: Any) -> Any:
        """Draw the values of all rows, of one row, or of one column.

        Parameters
        ----------
        row : int or None, default=None
            Position of a row, which is drawn by `weald.plot.shap_waterfall`.
        feature : str, int or None, default=None
            A column, which is drawn by `weald.plot.shap_dependence`. None, without a row: all of
            them, by `weald.plot.shap_summary`.
        **kwargs
            Further parameters of these functions, such as `ax` or `output`.

        Returns
        -------
        axes
            The axes of the picture.
        """
        if row is not None and feature is not None:
            raise ValueError("Explanation.plot draws a row or a feature; got both.")
        if row is not None:
            return picture("shap_waterfall")(self, row, **kwargs)
        if feature is not None:
            return picture("shap_dependence")(self, feature, **kwargs)
        return picture("shap_summary")(self, **kwargs)

    def _columns(self) -> dict[str, Any]:
        if self.values.ndim == 2:
            return dict(zip(self.feature_names, self.values.T.copy(), strict=True))
        n_rows, n_columns, n_outputs = self.values.shape
        flat = self.values.transpose(0, 2, 1).reshape(n_rows * n_outputs, n_columns)
        return {
            "row": np.repeat(np.arange(n_rows), n_outputs),
            "output": np.tile(np.array(self.output_names, dtype=object), n_rows).tolist(),
            **dict(zip(self.feature_names, flat.T.copy(), strict=True)),
        }

    def to_shap(self) -> Any:
        """The values as a `shap.Explanation`, for the plots of the shap package.

        Requires the package shap.
        """
        try:
            package = importlib.import_module("shap")
        except ImportError as error:
            raise ImportError(
                "to_shap requires the package shap, which is not installed: pip install shap."
            ) from error
        base = np.broadcast_to(self.base_values, (len(self), *np.shape(self.base_values)))
        data = self.data.toarray() if hasattr(self.data, "toarray") else np.asarray(self.data)
        return package.Explanation(
            values=self.values.copy(),
            base_values=base.copy(),
            data=data,
            feature_names=self.feature_names,
            output_names=self.output_names if self.values.ndim == 3 else None,
        )

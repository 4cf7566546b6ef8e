"""Noise that depends on the content of a row, not on its position."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.exact_means import exact_means
from weald.resampling import Purpose, hash_any_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ContentNoise:
    """Noise of one base estimator: approximately normal, keyed by content and copy number."""

    seed: int
    number: int
    scale: float
    target: float

    def added(self, X: Any, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """The table (a frame if X is one) and the target, with noise added."""
        table = np.array(X.toarray() if hasattr(X, "toarray") else X)
        if table.dtype.kind not in "biuf" or table.ndim != 2:
            raise TypeError(
                f"Noise requires a numeric 2-D table; got dtype {table.dtype} and shape "
                f"{table.shape}. Encode other columns as numbers first."
            )
        table = table.astype(np.float64)
        keys = _keys(table, np.asarray(y, dtype=np.float64))
        if self.scale:
            for column in range(table.shape[1]):
                table[:, column] += self._noise(keys, column, table[:, column], self.scale)
        if self.target:
            outputs = enumerate(y.reshape(len(y), -1).T, start=table.shape[1])
            noise = [self._noise(keys, column, own, self.target) for column, own in outputs]
            y = y + np.stack(noise, axis=1).reshape(y.shape)
        return _in_frame_like(X, table), y

    def _noise(self, keys: NDArray[np.uint64], column: int, values: Floats, scale: float) -> Floats:
        """Sums of twelve uniform numbers of 16 bits, minus their mean of 6: of variance 1."""
        sums = np.zeros(len(keys), dtype=np.uint64)
        for part in range(3):
            keyed = keys ^ np.uint64(3 * column + part + 1)
            words = _native.draw(keyed, self.seed, self.number, Purpose.NOISE)
            for shift in (0, 16, 32, 48):
                sums += (words >> np.uint64(shift)) & np.uint64(0xFFFF)
        normal = np.ldexp(sums.astype(np.float64) + 6.0, -16) - 6.0
        known = values[np.isfinite(values)]
        if len(known) < 2:
            return np.zeros(len(values))
        middle = float(exact_means(known, None))
        return normal * (scale * float(np.sqrt(exact_means((known - middle) ** 2, None))))


def _keys(table: Floats, y: Floats) -> NDArray[np.uint64]:
    """A key for each row: equal rows differ in their number."""
    order, keys = _native.numbered_rows(hash_any_rows(table, y, n_threads=1), None)
    of_row = np.empty_like(keys)
    of_row[order] = keys
    return of_row


def _in_frame_like(X: Any, table: Floats) -> Any:
    """The numbers as a frame if X is one, so that fit and predict get the same type."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return table
    if hasattr(X, "iloc"):  # names of a pandas frame need not be text
        pandas = nw.get_native_namespace(frame)
        return pandas.DataFrame(table, index=X.index, columns=X.columns)
    columns = dict(zip(frame.columns, np.asfortranarray(table).T, strict=True))
    return nw.from_dict(columns, native_namespace=nw.get_native_namespace(frame)).to_native()

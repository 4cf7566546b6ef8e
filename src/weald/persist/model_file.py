"""Model files: `save_model` and `load`."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from weald.errors import ModelFormatError, shown
from weald.persist.archive import archive_bytes, parse_archive, read_archive, write_archive
from weald.persist.codec import Decoder, Encoder
from weald.version import __version__

# Raised by one when a reader of the earlier format could misread a file.
FORMAT = 1

# How the text of every format begins, so that newer ones are recognised before they are decoded.
_NEWER = re.compile(r'\{"format":(\d{1,9}),"weald":"([^"]{0,99})",')


def save_model(model: Any, path: str | os.PathLike[str], *, oob: bool = False) -> None:
    """Write a fitted model to a file, atomically; see `weald.load`."""
    header, arrays = _encoded(model, oob=oob)
    write_archive(_path(path), header, arrays)


def model_bytes(model: Any, *, oob: bool = False) -> bytes:
    """The content of a model's file."""
    return archive_bytes(*_encoded(model, oob=oob))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved by its method `save`.

    A model file is data: loading it runs no code from it. Anything but a whole and sound model file
    raises an error; memory and time are bounded by the size of the file.

    Parameters
    ----------
    path : str or path
        A file written by `model.save`, by this or an earlier version of weald.

    Returns
    -------
    estimator
        With the same parameters, predictions and fingerprint.

    Raises
    ------
    ModelFormatError
        If the file is not a model file, is damaged, or was written by a newer version. Pickles are
        read by pickle or joblib, not by this function.
    OSError
        If there is no such file.

    Examples
    --------
    >>> import tempfile, weald
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [10.0, 10.0, 20.0, 20.0]
    >>> model = weald.RandomForestRegressor(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/forest.weald")
    ...     same = weald.load(f"{folder}/forest.weald")
    >>> same.fingerprint() == model.fingerprint()
    True
    """
    file = _path(path)
    header, _ = read_archive(file, _decoding)
    try:
        return _model_of(header)
    except ModelFormatError as error:
        raise ModelFormatError(f"{str(file)!r} cannot be loaded: {error}") from error


def model_of_bytes(content: bytes) -> Any:
    """Load a model from the content of its file."""
    header, _ = parse_archive(content, _decoding)
    return _model_of(header)


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a str or a path; got {type(path).__name__}.")
    return Path(path)


def _encoded(model: Any, *, oob: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    encoder = Encoder(row_records=oob)
    encoded = encoder.encode(model, type(model).__name__)
    return {"format": FORMAT, "weald": __version__, "model": encoded}, encoder.arrays


def _decoding(text: str, arrays: Mapping[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """Decodes the JSON while it is parsed, unless it is of a newer format."""
    found = _NEWER.match(text)
    if found is not None:
        _check_format(int(found[1]), found[2])
    return Decoder(arrays, len(text) + sum(one.nbytes for one in arrays.values())).decode


def _model_of(header: dict[str, Any]) -> Any:
    number = header.get("format")
    if type(number) is not int or number < 1:
        raise ModelFormatError(f"it names no format; got {shown(number)}.")
    _check_format(number, header.get("weald"))
    model = header.get("model")
    if not hasattr(model, "save"):
        raise ModelFormatError(f"it holds no model, but {shown(type(model).__name__)}.")
    try:
        check_is_fitted(model)
    except MemoryError:
        raise
    except Exception as error:  # parameters that are no estimators, besides NotFittedError
        raise ModelFormatError(f"its {type(model).__name__} is not fitted: {error}") from error
    return model


def _check_format(number: int, version: object) -> None:
    if number > FORMAT:
        raise ModelFormatError(
            f"it has format {number}, written by weald {version}; weald "
            f"{__version__} reads formats up to {FORMAT}. Upgrade weald."
        )

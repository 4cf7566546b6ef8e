"""The body of a request: strict JSON, and what it asks for."""

import json
from dataclasses import dataclass
from typing import Any

from weald.service.refusals import Refused

_OPTIONS = ("rows", "probabilities", "interval", "attributions")


@dataclass(frozen=True)
class Asked:
    """What a request asks for; rows are JSON values that were not looked at yet."""

    rows: list[Any]
    probabilities: bool
    interval: float | None
    attributions: bool

    @property
    def is_light(self) -> bool:
        """Whether neither intervals nor attributions are requested."""
        return self.interval is None and not self.attributions


def parse(body: bytes) -> Asked:
    """Read the body of a request for predictions."""
    return asked_of(parse_json(body))


def parse_json(body: bytes) -> Any:
    """Parse strict JSON: UTF-8, no NaN, no number too large for a float, no name twice."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Refused(
            400, f"the body is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise Refused(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # of the functions below, and of integers with too many digits
        raise Refused(400, f"the body is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object names {twice[:60]!r} twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON; null is a missing value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)


def asked_of(body: Any) -> Asked:
    """Check the members of the body, other than the values of rows."""
    if not isinstance(body, dict):
        raise Refused(422, 'expected an object such as {"rows": [...]}')
    if not isinstance(body.get("rows"), list):
        raise Refused(422, "'rows' must be an array of rows")
    for name in body:
        if name not in _OPTIONS:
            raise Refused(422, f"there is no option {name[:60]!r}; there are {', '.join(_OPTIONS)}")
    for name in ("probabilities", "attributions"):
        if not isinstance(body.get(name, False), bool):
            raise Refused(422, f"{name!r} must be true or false")
    interval = body.get("interval")
    if "interval" in body and not (type(interval) is float and 0.0 < interval < 1.0):
        raise Refused(422, "'interval' must be a number between 0 and 1, such as 0.9")
    return Asked(
        body["rows"], body.get("probabilities", False), interval, body.get("attributions", False)
    )

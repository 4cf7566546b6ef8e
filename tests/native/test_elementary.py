"""Our elementary functions against mpmath: error, special values, order, and the same bits."""

import hashlib

import mpmath
import numpy as np
import pytest

from weald import _native

FUNCTIONS = ["exp", "log", "log2", "log1p", "sigmoid"]
TINY = 5e-324
NORMAL = 2.0**-1022
HUGE = np.finfo(np.float64).max
LN2 = 0.6931471805599453


def reference(name: str, x: float) -> mpmath.mpf:
    x = mpmath.mpf(x)
    if name == "sigmoid":
        return 1 / (1 + mpmath.exp(-x))
    if name == "log2":
        return mpmath.log(x, 2)
    return getattr(mpmath, name)(x)


def near(points, rng, count: int) -> np.ndarray:
    """Values around each point, from neighbouring doubles to 2^-4 of it."""
    points = np.asarray(points, dtype=np.float64)
    relative = np.ldexp(rng.uniform(-1, 1, (count, len(points))), -rng.integers(4, 54, (count, 1)))
    return np.concatenate([points, (points * (1 + relative)).ravel()])


def arguments(name: str, n: int, seed: int = 0) -> np.ndarray:
    """About n finite arguments with a finite, nonzero exact result: all magnitudes, then the places
    where a reduction step, a rounding or a range ends."""
    rng = np.random.default_rng(seed)
    m = n // 4
    magnitudes = np.ldexp(rng.uniform(1, 2, m), rng.integers(-1074, 1024, m))
    small = np.ldexp(rng.uniform(-1, 1, m), -rng.integers(0, 64, m))
    roots = np.ldexp(np.sqrt(2), np.arange(-60, 60, 7))
    if name in ("exp", "sigmoid"):
        low, high = (-745.1, 709.78) if name == "exp" else (-745.1, 800.0)
        steps = np.arange(-1074, 1024, 61) * (LN2 / 2)
        edges = [-745.13, -709.0, -708.4, -37.0, 36.8, low, high]
        values = [
            rng.uniform(low, high, m),
            rng.uniform(-2, 2, m),
            small,
            near(steps, rng, m // 70),
        ]
        values += [near(edges, rng, m // 14), rng.uniform(-745.1, -708, m // 4)]
    elif name == "log1p":
        values = [magnitudes, small, -rng.uniform(0, 1, m), rng.uniform(0, 4, m), roots - 1]
        values += [near(roots, rng, m // 36) - 1, np.ldexp(small, -960)]
    else:
        values = [magnitudes, rng.uniform(0, 2, m), 1 + small, near(roots, rng, m // 36)]
        values += [np.ldexp(rng.uniform(0, 1, m // 4), -1022), [TINY, NORMAL, HUGE]]
    x = np.concatenate(values)
    low, high = {"exp": (-745.13, 709.78), "sigmoid": (-745.13, np.inf)}.get(
        name, (-np.inf, np.inf)
    )
    zero = {"log": 1.0, "log2": 1.0}.get(name, 0.0)
    domain = {"log": x > 0, "log2": x > 0, "log1p": x > -1}.get(name, True)
    return x[(x > low) & (x < high) & (x != zero) & domain]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_below_one_ulp(name):
    x = arguments(name, 3000)
    result = getattr(_native, name)(x)
    error = np.empty(len(x))
    with mpmath.workprec(160):
        for i, (argument, value) in enumerate(zip(x.tolist(), result.tolist(), strict=True)):
            exact = reference(name, argument)
            ulp = mpmath.ldexp(1, max(mpmath.frexp(exact)[1] - 53, -1074))
            error[i] = abs(value - exact) / ulp
    worst = int(np.argmax(error))
    assert error[worst] < 1, (x[worst].hex(), result[worst].hex(), error[worst])


SPECIAL = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (-TINY, 1.0), (np.inf, np.inf), (-np.inf, 0.0)]
    + [(709.782712893384, 1.7976931348622732e308), (709.7827128933841, np.inf), (HUGE, np.inf)]
    + [(-745.1332191019411, TINY), (-745.1332191019412, 0.0), (-HUGE, 0.0)],
    "log": [(1.0, 0.0), (0.0, -np.inf), (-0.0, -np.inf), (np.inf, np.inf), (-np.inf, np.nan)]
    + [(-TINY, np.nan), (-1.0, np.nan), (-HUGE, np.nan)],
    "log2": [(2.0**k, float(k)) for k in range(-1074, 1024)]
    + [(0.0, -np.inf), (-0.0, -np.inf), (np.inf, np.inf), (-np.inf, np.nan)]
    + [(-TINY, np.nan), (-1.0, np.nan), (-HUGE, np.nan)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-TINY, -TINY), (NORMAL, NORMAL)]
    + [(-1.0, -np.inf), (np.nextafter(-1, -2), np.nan), (-2.0, np.nan), (-HUGE, np.nan)]
    + [(np.inf, np.inf), (-np.inf, np.nan)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (TINY, 0.5), (-TINY, 0.5), (np.inf, 1.0), (-np.inf, 0.0)]
    + [(40.0, 1.0), (HUGE, 1.0), (-745.1332191019411, TINY), (-745.2, 0.0), (-HUGE, 0.0)],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    x, expected = np.array([*SPECIAL[name], (np.nan, np.nan), (-np.nan, np.nan)]).T.copy()
    result = getattr(_native, name)(x)
    np.testing.assert_array_equal(result, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_neighbours_are_in_order(name):
    x = arguments(name, 100_000, seed=1)
    x = x[x < HUGE]
    function = getattr(_native, name)
    lower = function(x)
    for _ in range(3):
        x = np.nextafter(x, np.inf)
        upper = function(x)
        assert np.all(lower <= upper)
        lower = upper


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_by_one_equals_all_at_once(name):
    special = [0.0, -0.0, 1.0, -1.0, -2.0, np.inf, -np.inf, TINY, -TINY, HUGE, -HUGE, 710.0, -746.0]
    x = np.concatenate([special, arguments(name, 1000, seed=2)])
    function = getattr(_native, name)
    single = np.concatenate([function(x[i : i + 1]) for i in range(len(x))])
    for start in range(17):
        whole = function(x[start:])
        np.testing.assert_array_equal(whole, single[start:])
        number = ~np.isnan(whole)
        assert whole[number].tobytes() == single[start:][number].tobytes()


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("exp", "5cb9605efc24ee0e31f5227d3620f701a69777900ad9d7006168a7df1ceef8df"),
        ("log", "aebf2bed09753acc639a85890c3a94c83c080eee921c27d0e850d4926066ffe6"),
        ("log2", "495676575428ad2460eb49e023c7e556a286db90c5e082e671b74263e991b9bc"),
        ("log1p", "353c9691cea0a0a247d20b0275fd7de06aa26d46a4f96b0823261f5ed5273aa8"),
        ("sigmoid", "023fecc58b678f129b9275be59d6c6e5da7153c01603ead54c6c544df75fd31f"),
    ],
)
def test_bits_are_those_of_every_machine(name, digest):
    """The digest was taken once; a change means that every fitted model may change."""
    bits = np.arange(1, 100_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    spread = (bits >> np.uint64(1)).view(np.float64)  # positive, all magnitudes
    unit = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if name in ("exp", "sigmoid"):
        x = np.concatenate([(unit - 0.5) * 1500, (unit - 0.5) * 4])
    else:
        x = np.concatenate([spread[np.isfinite(spread)], unit * 4])
    result = getattr(_native, name)(x)
    assert hashlib.sha256(result.astype("<f8").tobytes()).hexdigest() == digest

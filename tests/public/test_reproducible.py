"""Identical bits for other instruction sets, threads, hash seeds and earlier versions."""

import json
import os
import platform
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weald import _native

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
WHY = (
    "The model that this fit gives has changed. If that is meant, run `python "
    "tests/golden/remake.py` and say in CHANGELOG.md why: users compare fingerprints."
)


def numpy_features() -> str:
    """CPU features that NumPy would use beyond its baseline."""
    try:
        from numpy._core import _multiarray_umath as umath
    except ImportError:
        from numpy.core import _multiarray_umath as umath
    return " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name])


def printed(**environment: str) -> dict[str, str]:
    """Fingerprints printed by another process."""
    run = subprocess.run(
        [sys.executable, str(GOLDEN / "fits.py")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    return json.loads((GOLDEN / "fingerprints.json").read_text(encoding="utf-8"))


def compare(got: dict[str, str], golden: dict[str, str]) -> None:
    changed = sorted(name for name in {*got, *golden} if got.get(name) != golden.get(name))
    assert not changed, f"{changed}: {WHY}"


on_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 features"
)
PLAINEST = {
    "NPY_DISABLE_CPU_FEATURES": numpy_features(),
    # Names of glibc 2.33 and later, and earlier names.
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable",
    "OPENBLAS_CORETYPE": "PRESCOTT",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "1",
}


def test_here_as_in_the_golden_file(golden: dict[str, str]) -> None:
    compare(printed(PYTHONHASHSEED="0"), golden)


@on_x86
def test_with_the_plainest_code_of_numpy_glibc_and_openblas(golden: dict[str, str]) -> None:
    compare(printed(**PLAINEST), golden)


# Each set with one of the numbers of threads: a difference of either kind shows in the pair.
@pytest.mark.parametrize(
    ("instructions", "jobs"), list(zip(_native.runnable_instructions(), cycle(["5", "1"])))
)
def test_with_every_instruction_set_and_other_numbers_of_threads(
    instructions: str, jobs: str, golden: dict[str, str]
) -> None:
    environment = {"WEALD_INSTRUCTIONS": instructions, "GOLDEN_JOBS": jobs}
    compare(printed(**environment, OMP_NUM_THREADS="3"), golden)


def test_the_instruction_set_can_be_chosen() -> None:
    plainest = _native.runnable_instructions()[0]
    code = "from weald import _native; print(_native.instructions())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WEALD_INSTRUCTIONS": plainest},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.strip() == plainest


# CPU features in use: NumPy's targets beyond its baseline, those its functions are bound to (in
# NumPy 2), AVX2 and FMA of glibc (2.33 and later), and OpenBLAS's kernels.
SEEN = """
import ctypes, json
import numpy as np
from threadpoolctl import threadpool_info
try:
    from numpy._core import _multiarray_umath as umath
except ImportError:
    from numpy.core import _multiarray_umath as umath
# AVX2 is part of an x86-64 level in NumPy 2.4 and later, a feature before.
avx2 = "X86_V3" if "X86_V3" in umath.__cpu_dispatch__ else "AVX2"
seen = {
    "avx2": avx2 if umath.__cpu_features__["AVX2"] else None,
    "numpy": [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]],
    "functions": [], "glibc": None, "openblas": [],
}
if hasattr(np.lib, "introspect"):
    info = np.lib.introspect.opt_func_info()
    bound = {kind["current"] for kinds in info.values() for kind in kinds.values()}
    seen["functions"] = sorted(name for name in bound if not name.startswith("baseline"))
try:
    leaf = ctypes.CDLL(None)["__x86_get_cpuid_feature_leaf"]
except (AttributeError, OSError, TypeError):
    pass
else:
    leaf.restype = ctypes.POINTER(ctypes.c_uint * 8)  # cpuid of eax to edx, then active bits
    one, seven = leaf(0).contents, leaf(1).contents
    bits = {"FMA": one[6] >> 12, "AVX2": seven[5] >> 5, "AVX512F": seven[5] >> 16}
    seen["glibc"] = [name for name, value in bits.items() if value & 1]
for library in threadpool_info():
    if library["internal_api"] == "openblas":
        seen["openblas"].append([library.get("architecture"), library["num_threads"]])
print(json.dumps(seen))
"""
AVX2_KERNELS = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids", "SapphireRapids"}


def seen_by_a_process(**environment: str) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-c", SEEN],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def usual() -> dict[str, Any]:
    return seen_by_a_process()


@pytest.fixture(scope="module")
def plainest() -> dict[str, Any]:
    return seen_by_a_process(**PLAINEST)


@on_x86
def test_numpy_obeys(usual: dict[str, Any], plainest: dict[str, Any]) -> None:
    """The environment of the baseline code disables all CPU features of NumPy."""
    if not usual["numpy"]:
        pytest.skip("this machine has nothing beyond NumPy's baseline")
    if usual["avx2"]:
        assert usual["avx2"] in usual["numpy"]
        assert usual["functions"] or not hasattr(np.lib, "introspect")
    assert plainest["numpy"] == []
    assert plainest["functions"] == []


@on_x86
def test_glibc_obeys(usual: dict[str, Any], plainest: dict[str, Any]) -> None:
    if not usual["glibc"]:
        pytest.skip("glibc does not report its features, or none can be disabled")
    assert plainest["glibc"] == []


@on_x86
def test_openblas_obeys(usual: dict[str, Any], plainest: dict[str, Any]) -> None:
    if not {name for name, _ in usual["openblas"]} & AVX2_KERNELS:
        pytest.skip("NumPy has no OpenBLAS here, or one of plain kernels only")
    for name, n_threads in plainest["openblas"]:
        assert name not in AVX2_KERNELS
        assert n_threads == 1

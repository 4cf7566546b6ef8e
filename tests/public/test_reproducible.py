"""The same bits everywhere: other instruction sets, threads and hash seeds, and yesterday."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from weald import _native

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
WHY = (
    "The model that this fit gives has changed. If that is meant, run `python "
    "tests/golden/remake.py` and say in CHANGELOG.md why: users compare fingerprints."
)


def numpy_features() -> str:
    """What NumPy would use beyond its baseline, in its own names."""
    try:
        from numpy._core import _multiarray_umath as umath
    except ImportError:
        from numpy.core import _multiarray_umath as umath
    return " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name])


def printed(**environment: str) -> dict[str, str]:
    """The fingerprints that another process prints."""
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


PLAINEST = {
    "NPY_DISABLE_CPU_FEATURES": numpy_features(),
    # Names of glibc 2.33 and later, and those before.
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable",
    "OPENBLAS_CORETYPE": "PRESCOTT",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "1",
}


def test_here_as_in_the_golden_file(golden: dict[str, str]) -> None:
    compare(printed(PYTHONHASHSEED="0"), golden)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 features")
def test_with_the_plainest_code_of_numpy_glibc_and_openblas(golden: dict[str, str]) -> None:
    compare(printed(**PLAINEST), golden)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_with_every_instruction_set(instructions: str, golden: dict[str, str]) -> None:
    compare(printed(WEALD_INSTRUCTIONS=instructions), golden)


@pytest.mark.parametrize("jobs", ["1", "5"])
def test_with_other_numbers_of_threads(jobs: str, golden: dict[str, str]) -> None:
    compare(printed(GOLDEN_JOBS=jobs, OMP_NUM_THREADS="3"), golden)


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


def test_numpy_obeys() -> None:
    """The plainest code is really another one: the sine of a few numbers may differ, exp does."""
    code = (
        "import numpy as np, hashlib\n"
        "x = np.arange(1, 200000) / 1234\n"
        "print(hashlib.sha256(np.exp(x).tobytes() + np.sin(x).tobytes()).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for environment in ({}, PLAINEST)
    }
    if len(hashes) == 1:
        pytest.skip(f"NumPy {np.__version__} computes the same here with and without SIMD")

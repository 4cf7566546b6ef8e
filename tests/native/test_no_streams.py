"""The core uses neither streams nor locales of the C++ library.

A process may hold this library twice, one of them linked into an extension. Objects that both share
(the locale, and through it every stream) then belong to one and are used by the other.
"""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import weald
from weald import _native

CORE = Path(__file__).parents[2] / "cpp"
STREAMS = re.compile(
    r"#\s*include\s*<(fstream|iomanip|ios|iostream|istream|locale|ostream|regex|sstream|streambuf)>"
)


def test_no_source_includes_streams() -> None:
    sources = sorted(CORE.rglob("*.[ch]pp"))
    assert len(sources) > 100
    assert [str(one) for one in sources if STREAMS.search(one.read_text(encoding="utf-8"))] == []


@pytest.mark.skipif(os.name != "posix", reason="looks for names as ELF and Mach-O have them")
def test_the_compiled_module_refers_to_no_stream() -> None:
    names = re.findall(
        rb"_Z\w*(?:stream|locale|ios_base|streambuf)\w*", Path(_native.__file__).read_bytes()
    )
    assert names == []


LOOP = """
#include <atomic>

#include "base/cores.hpp"
#include "base/parallel.hpp"

extern "C" long sum_in_parallel(long n, int n_threads) {
  std::atomic<long> sum{0};
  weald::parallel_for(n, n_threads, [&](std::int64_t i, int) { sum += i; });
  return weald::usable_cores() >= 1 ? sum.load() : -1;
}
"""


def test_a_loop_runs_beside_another_copy_of_the_library(tmp_path: Path) -> None:
    """The copy is linked into the loop, and weald's own has been in use before."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None or os.name != "posix":
        pytest.skip("needs g++")
    (tmp_path / "loop.cpp").write_text(LOOP)
    library = tmp_path / "loop.so"
    static = ["-static-libstdc++", "-static-libgcc"]
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", *static, f"-I{CORE}"]
    sources = [tmp_path / "loop.cpp", CORE / "base/parallel.cpp", CORE / "base/cores.cpp"]
    built = subprocess.run([*command, *sources, "-o", library], capture_output=True, check=False)
    if built.returncode != 0 and b"static-lib" in built.stderr:
        pytest.skip("the compiler has no static library")
    assert built.returncode == 0, built.stderr.decode()
    weald.BoostedTreesRegressor(quality="fast", n_estimators=1, n_jobs=2).fit(
        [[0.0], [1.0]] * 50, [0, 1] * 50
    )
    assert ctypes.CDLL(str(library)).sum_in_parallel(1000, 3) == 499500

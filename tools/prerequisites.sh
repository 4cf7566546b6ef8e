# Says what is missing to build weald, or nothing.   sh prerequisites.sh PYTHON CXX
python=$1
cxx=$2

missing() {
  echo "weald cannot be built here: $1." >&2
  echo "On Debian or Ubuntu: apt install python3 python3-venv python3-dev make g++" >&2
  exit 1
}

command -v "$python" >/dev/null || missing "there is no $python (set PYTHON=... for another one)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  missing "$("$python" --version) is too old, Python 3.11 or newer is needed (set PYTHON=...)"
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing "$python has no venv module"
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing "$python has no header files (Python.h)"
for compiler in "$cxx" c++ clang++; do
  command -v "$compiler" >/dev/null && exit 0
done
missing "there is no C++ compiler"

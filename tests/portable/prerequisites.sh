# Says which Debian packages `make portable` misses, or nothing.
missing=
need() { # $1 a command, $2 the package that has it
  command -v "$1" >/dev/null || missing="$missing $2"
}

need clang++ clang
need x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
for machine in x86_64 aarch64; do
  if test "$machine" = "$(uname -m)"; then
    need "$machine-linux-gnu-g++" g++
  else
    need "$machine-linux-gnu-g++" "g++-$(echo $machine | tr _ -)-linux-gnu"
    need "qemu-$machine" qemu-user
  fi
done
test -z "$missing" && exit 0
echo "make portable needs more compilers, or a machine to run them for. On Debian: apt install$missing" >&2
exit 1

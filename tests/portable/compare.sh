# Runs the driver of every build with every instruction set that can run here, under qemu where the
# build is for another machine, and compares what they print.   sh compare.sh FOLDER BUILD...
folder=$1
shift
first=

for build in "$@"; do
  machine=${build#*-}
  runner=
  test "$machine" = "$(uname -m)" || runner=qemu-$machine
  driver=$folder/$build/driver.exe
  sets=$($runner "$driver" --instructions) && test -n "$sets" || exit 1
  for instructions in $sets; do
    echo "$build: $instructions"
    printed=$folder/$build/$instructions.txt
    WEALD_INSTRUCTIONS=$instructions $runner "$driver" >"$printed" || exit 1
    first=${first:-$printed}
    if ! diff "$first" "$printed"; then
      echo "portable: $printed differs from $first" >&2
      exit 1
    fi
  done
done
echo "portable: $# builds agree on $(wc -l <"$first") hashes, the Windows build compiles and links"

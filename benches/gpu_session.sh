#!/usr/bin/env bash
# Builds and measures on a machine with an NVIDIA GPU, its Vulkan driver, CMake, ninja, pybind11,
# scikit-build-core, NumPy and PyTorch; no network needed.
#
#   benches/gpu_session.sh WGPU_DIR [STEP...]
#
# WGPU_DIR holds webgpu.h, wgpu.h and the library of wgpu-native. Steps, in order (default: build,
# cpp, peers): build, cpp (the C++ harness), variants (all matmul kernels), peers (other libraries),
# tests. Results go to $OUT (default: build/gpu/out): text, and JSON for benches/results.
# BUILD: the build folder. PYTHON: the interpreter. PYTEST_ARGS: for the tests. SLOWER: factor on
# the time limits.
set -uo pipefail
cd "$(dirname "$0")/.."

[[ $# -ge 1 && -d $1 ]] || { sed -n '2,/^set/{/^#/p}' "benches/$(basename "$0")" >&2; exit 2; }
WGTENSOR_WGPU_DIR=$(realpath "$1")
export WGTENSOR_WGPU_DIR
shift
steps=("$@")
[[ ${#steps[@]} -gt 0 ]] || steps=(build cpp peers)

python=${PYTHON:-python3}
build=$(realpath -m "${BUILD:-build/gpu}")
package=$build/package
out=$(realpath -m "${OUT:-$build/out}")
jobs=$(nproc)
mkdir -p "$build" "$out"
export PYTHONPATH=$package PYTHONUNBUFFERED=1 RUST_BACKTRACE=0 NODEVICE_SELECT=1
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
summary=()
failed=0

# limited NAME SECONDS COMMAND...: output to the screen and to $OUT/NAME.txt
limited() {
  local name=$1 limit=$(($2 * ${SLOWER:-1})) begin=$SECONDS status
  shift 2
  echo "=== $name"
  timeout -k 5 "$limit" "$@" 2>&1 | tee "$out/$name.txt"
  status=${PIPESTATUS[0]}
  [[ $status -eq 0 ]] || failed=1
  [[ $status -ne 124 ]] || echo "stopped after $limit s"
  summary+=("$(printf '%4d s  %-10s status %d' $((SECONDS - begin)) "$name" "$status")")
  return "$status"
}

card() {
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv
  "$python" -c 'import platform; print("Python", platform.python_version())'
  "$python" tools/check_device.py '' || true
}

build_package() {
  rm -rf "$package"
  "$python" -m pip --disable-pip-version-check install -q --no-build-isolation --no-deps \
    --no-index --config-settings=build-dir="$build/cmake" --target "$package" . &&
    cmake -S . -B "$build/cmake" -DWGTENSOR_BUILD_BENCH=ON >/dev/null &&
    cmake --build "$build/cmake" --target benches -- -j "$jobs" | tail -n 1
}

build_cpp_tests() {
  cmake -S . -B "$build/cmake" -DWGTENSOR_BUILD_TESTS=ON >/dev/null &&
    cmake --build "$build/cmake" --target wgt_tests -- -j "$jobs" | tail -n 1
}

# One process per four cores: the tests share the card.
python_tests() {
  # shellcheck disable=SC2086 # PYTEST_ARGS is a list of words
  "$python" -m pytest -q -n $((jobs / 4 > 1 ? jobs / 4 : 1)) -p no:cacheprovider ${PYTEST_ARGS:-}
}

export -f build_package build_cpp_tests card python_tests
export python build package jobs

for step in "${steps[@]}"; do
  case $step in
    build)
      limited build 180 bash -c build_package || break
      limited card 30 bash -c card
      ;;
    cpp) limited cpp 90 "$build/cmake/benches/harness" --json "$out/cpp.json" ;;
    variants)
      limited variants 120 "$build/cmake/benches/harness" --rows matmul_ --matmul-variants \
        --json "$out/variants.json"
      ;;
    peers) limited peers 180 "$python" benches/compare_peers.py --json "$out/peers.json" ;;
    tests)
      limited build_tests 120 bash -c build_cpp_tests &&
        limited cpp_tests 120 "$build/cmake/tests/cpp/wgt_tests"
      limited python_tests "${TESTS_LIMIT:-300}" bash -c python_tests
      ;;
    *) echo "no such step: $step" >&2 && failed=1 ;;
  esac
done

printf '\n=== summary\n'
printf '%s\n' "${summary[@]}" | tee "$out/summary.txt"
exit "$failed"

#!/usr/bin/env bash
# Make .venv, build wgtensor and install it there, with what the demo and the tests need.
#   tools/setup_dev.sh [demo] [test] [matrix] [dev]     what to prepare; demo is the least
# Missing system packages are installed when this runs as root on Debian, else named. Running it
# again does nothing until a source changes. CMAKE_ARGS reaches CMake; VENV and BUILD_DIR name
# other folders.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
build=${BUILD_DIR:-build/dev}
wants() { [[ " $wanted " == *" $1 "* ]]; }
wanted="demo $*"
say() { printf '[setup] %s\n' "$*"; }

find_python() {
  local name
  for name in ${PYTHON:-} python3 python3.11 python3.12 python3.13 /usr/bin/python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

# Debian packages that are missing, one a line.
missing_packages() {
  local python=$1
  if [[ -z $python ]]; then
    printf '%s\n' python3.11 python3.11-venv python3.11-dev
  else
    local version
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    "$python" -c 'import venv, ensurepip' 2>/dev/null || echo "$version-venv"
    "$python" - <<'PY' || echo "$version-dev"
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PY
    # A loader without a driver is as good as none: ask for a device.
    local found=0
    "$python" tools/vulkan_check.py >/dev/null 2>&1 || found=$?
    [[ $found -eq 0 ]] || echo mesa-vulkan-drivers
    [[ $found -ne 1 ]] || echo libvulkan1
  fi
  echo 'int main() {}' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null || echo g++
  if wants test; then # the fault injection layer's headers
    echo '#include <vulkan/vk_layer.h>' | "${CC:-cc}" -fsyntax-only -x c - 2>/dev/null ||
      printf '%s\n' gcc libvulkan-dev
  fi
  if wants matrix; then
    [[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]] ||
      echo vulkan-validationlayers
    [[ -e /usr/lib/chromium/libvk_swiftshader.so ]] || echo chromium-common
    ldconfig -p | grep -q libEGL_mesa.so || printf '%s\n' libegl1 libegl-mesa0 libgl1-mesa-dri
  fi
}

install_packages() {
  if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
    say "missing: $*"
    say "install them, on Debian with: sudo apt-get install --no-install-recommends $*"
    exit 3
  fi
  say "installing from Debian: $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null
  apt-get install -q -y --no-install-recommends "$@" >/dev/null
}

python=$(find_python)
if [[ $(uname -s) == Linux ]]; then
  mapfile -t packages < <(missing_packages "$python")
  if [[ ${#packages[@]} -gt 0 ]]; then
    install_packages "${packages[@]}"
    python=$(find_python)
    mapfile -t packages < <(missing_packages "$python")
    if [[ ${#packages[@]} -gt 0 ]]; then
      say "still missing after the installation: ${packages[*]}"
      exit 3
    fi
  fi
fi
[[ -n $python ]] || { say "no Python 3.11 or later found; PYTHON names one"; exit 3; }

if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
  say "virtual environment in $venv"
  "$python" -m venv --clear "$venv"
fi
py="$venv/bin/python"
pip() { "$py" -m pip --disable-pip-version-check -q "$@"; }

# Python packages: again when pyproject.toml or what is wanted changes.
extras=demo
wants test && extras+=,test
wants dev && extras+=,dev
mkdir -p "$venv/stamps"
requirements="$venv/stamps/requirements.txt"
"$py" - "$extras" >"$requirements" <<'PY'
import sys, tomllib
data = tomllib.load(open("pyproject.toml", "rb"))
found = data["project"]["dependencies"] + [r for r in data["build-system"]["requires"] if "wgpu" not in r]
for extra in sys.argv[1].split(","):
    found += data["project"]["optional-dependencies"][extra]
print("\n".join(sorted(set(found))))
PY
wgpu=$("$py" -c 'import tomllib; print(*[r for r in tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"] if "wgpu" in r])')
version_ok='import re, subprocess, sys
out = subprocess.run(sys.argv[1:], capture_output=True, text=True).stdout
sys.exit(tuple(map(int, re.search(r"(\d+)\.(\d+)", out).groups())) < (3, 25))'
"$py" -c "$version_ok" cmake --version 2>/dev/null || echo cmake >>"$requirements"
command -v ninja >/dev/null || echo ninja >>"$requirements"
if ! cmp -s "$requirements" "$venv/stamps/$extras.done"; then
  say "Python packages ($extras)"
  pip install -r "$requirements"
  pip install --no-deps "$wgpu" # library and headers for the build; at run time it is not needed
  cp "$requirements" "$venv/stamps/$extras.done"
fi

# wgtensor itself: again when a source or an option changes.
sources=$(find csrc shaders python cmake tools third_party licenses CMakeLists.txt pyproject.toml \
  -type f -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum |
  { cat; echo "${CMAKE_ARGS:-} ${WGTENSOR_WGPU_DIR:-}"; } | sha256sum)
if [[ $(cat "$venv/stamps/sources" 2>/dev/null) != "$sources" ]]; then
  say "building and installing wgtensor"
  rm -f "$venv/stamps/sources"
  # Without isolation, so that the build folder keeps its objects from one build to the next.
  PATH="$PWD/$venv/bin:$PATH" pip install --no-build-isolation --no-deps --force-reinstall \
    --config-settings=build-dir="$build" .
  echo "$sources" >"$venv/stamps/sources"
fi
say "ready: $py"

#!/usr/bin/env bash
# An elementwise operation is one row of one table. Copies the tree, inserts a row, builds the copy, and looks for
# all that must have come of it: function, method, stub entry, row of the documentation, parametrised test.
#   tests/one_row.sh            PYTHON names an interpreter with the build's and the tests' requirements
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-$root/.venv/bin/python}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '[one row] %s\n' "$*"; }

mkdir "$work/tree"
tar -C "$root" --exclude=./build --exclude=./.venv --exclude=./.git --exclude=./dist --exclude='./.*cache' \
  --exclude=__pycache__ -cf - . | tar -C "$work/tree" -xf -
cd "$work/tree"

cat >>csrc/graph/elementwise.def <<'ROW'
ROW(softsign2, "x", unary_float, "@div_f($0, $F(1.0) + abs($0))", "", "", "", "x / (1 + np.abs(x))", "unit", "",
    "x / (1 + |x|).")
ROW
say "inserted softsign2; building the copy"

# Unoptimised: it is built for one look.
PATH="$(dirname "$python"):$PATH" cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DPython_EXECUTABLE="$python" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
PATH="$(dirname "$python"):$PATH" cmake --build "$work/build" --target wgt_python >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; exit 1; }
package="$work/site/wgtensor"
mkdir -p "$work/site"
cp -r python/wgtensor "$work/site/"
cp "$work"/build/wgtensor/* "$work"/build/generated/_generated.py "$work"/build/generated/_core.pyi "$package/"
export PYTHONPATH="$work/site"

"$python" - <<'PY'
import inspect
import numpy as np, wgtensor as wt
assert "/site/" in wt.__file__, wt.__file__
x = np.linspace(-3, 3, 7, dtype="float32")
np.testing.assert_allclose(wt.softsign2(x).numpy(), x / (1 + np.abs(x)), rtol=1e-6)
np.testing.assert_allclose(wt.asarray(x).softsign2().numpy(), x / (1 + np.abs(x)), rtol=1e-6)
assert list(inspect.signature(wt.softsign2).parameters) == ["x", "out"]
assert "x / (1 + |x|)" in wt.softsign2.__doc__
print("[one row] function", wt.softsign2(x).tolist())
print("[one row] method", wt.asarray(x).softsign2().tolist())
PY
grep -q "def softsign2(self)" "$package/_core.pyi"
say "stub: $(grep 'def softsign2' "$package/_core.pyi" | xargs)"
"$python" docs/build.py
grep -q softsign2 docs/operations.md
say "docs row: $(grep softsign2 docs/operations.md)"
unset PYTEST_XDIST_WORKER PYTEST_XDIST_WORKER_COUNT # of the test that may be running this
"$python" -m pytest -q -p no:cacheprovider -o addopts= tests/test_elementwise.py -k softsign2 | tee "$work/test.log" | tail -n 3
grep -Eq '[1-9][0-9]* passed' "$work/test.log"
say "function, method, stub, docs row and parametrised test are there"

"""Shaders for WebGPU's default limits are WGSL to Chromium's compiler too, not to naga alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tint
from children import run_script

# A program that plans each kind of kernel in each form; to explain one compiles nothing.
PROGRAM = """
import itertools, os
import numpy as np
import wgtensor as wt
from wgtensor._generated import TABLE

rng = np.random.default_rng(0)

def tensor(dtype, *shape):
    a = rng.integers(0, 5, shape)
    return wt.asarray((a + rng.random(shape) if dtype == "float32" else a).astype(dtype))

DTYPES = ("float32", "int32", "uint32", "bool")

def attempt(function, *args, **kwargs):
    try:
        wt.explain(function(*args, **kwargs))
    except (wt.DTypeError, wt.UnsupportedError):
        pass

# Elementwise: vectors, scalars, rows, broadcasts, strides, offsets.
forms = [
    lambda d: tensor(d, 64), lambda d: tensor(d, 7), lambda d: tensor(d, 6, 10).T,
    lambda d: tensor(d, 9, 12)[1:, 1:8:2], lambda d: tensor(d, 1, 5, 1).broadcast_to((3, 5, 4)),
    lambda d: tensor(d, 21)[::-1],
]
for (name, *_), d, form in itertools.product(TABLE, DTYPES, forms):
    function, x = getattr(wt, name), form(d)
    for args in ((x,), (x, form(d)), (x, 2), (form("bool"), x, form(d))):
        try:
            attempt(function, *args)
        except TypeError:
            pass  # another number of operands
for a, b in itertools.product(DTYPES, DTYPES):
    for form in forms:
        attempt(form(a).astype, b)

# Reductions: one stage and two, either axis, prologue and epilogue.
shapes = [(3, 5), (64, 64), (300, 1), (1, 300), (4, 6, 8), (70_000,), (40_000, 4), (3, 50_000)]
reductions = ("sum", "prod", "max", "mean", "any", "argmax", "argmin", "var", "logsumexp")
for op, d, shape in itertools.product(reductions, DTYPES, shapes):
    x = tensor(d, *shape)
    single = op.startswith("arg")
    for axis in (None, 0, -1, *(() if single else ((0, -1),))) if len(shape) > 1 else (None,):
        attempt(lambda: getattr(wt, op)(x, axis=axis))
        attempt(lambda: getattr(wt, op)(x * 2, axis=axis, keepdims=True) + 1)
        attempt(lambda: getattr(wt, op)(x[..., ::-1], axis=axis) > 1)

for shape in [(64,), (7,), (6, 10)]:
    for d in ("float32", "float16"):
        attempt(wt.random.normal, shape, 1.0, 2.0, dtype=d)
        attempt(wt.random.uniform, shape, dtype=d)
    attempt(lambda: wt.random.randint(0, 9, shape).T + 1)
    attempt(lambda: wt.random.exponential(shape).sum(axis=0))

for shape in [(3, 5), (4, 64), (2, 300), (2, 5000), (2, 9001), (1, 20_000)]:
    for centred in (True, False):
        t = wt.ones(shape).requires_grad_()
        y = wt._core.normalize(t, centred, 1e-5)
        attempt(lambda: y * 2 + 1)
        y.backward(wt.ones(shape))
        wt.explain(t.grad)

for shape in [(5,), (8, 33), (2, 3, 4), (3, 5000), (1000, 3), (2, 70_000)]:
    for axis in range(-len(shape), 0):
        attempt(wt.softmax, tensor("float32", *shape), axis=axis)
        attempt(lambda: wt.softmax(tensor("float32", *shape) * 2, axis=axis) - 1)
        attempt(wt.log_softmax, tensor("float32", *shape), axis=axis)

# Scans: rows, columns, chunks, a first place.
scans = ("cumulative_sum", "cumulative_prod", "cumulative_max")
long = [(5,), (8, 33), (3, 400), (3, 9000), (700, 40), (300_000,), (100_000, 20), (2, 300_000)]
for op, d, shape in itertools.product(scans, DTYPES, long):
    for axis in range(-len(shape), 0):
        attempt(getattr(wt, op), tensor(d, *shape), axis=axis)
        attempt(lambda: getattr(wt, op)(tensor(d, *shape) * 2, axis=axis) + 1)
        attempt(wt.cumulative_sum, tensor(d, *shape), axis=axis, include_initial=True)

# Sorts by counting, in tiles, by passes; masks counted and placed, values with them; searches.
def orders(device):
    for d in DTYPES:
        for shape in [(9,), (5, 300), (3, 2000), (20_000,)]:
            x = wt.asarray(tensor(d, *shape), device=device)
            flat = x.reshape(-1)
            for descending in (False, True):
                attempt(lambda: wt.sort(x, descending=descending) != 1)
                attempt(lambda: wt.argsort(x[..., ::-1], descending=descending) + 1)
            attempt(lambda: wt._core.compact(x, [x, None])[0])
            attempt(lambda: wt._core.compact(flat[1:] != flat[:-1], [flat[1:], None])[1] + 1)
            for side in (0, 1, 2):
                attempt(lambda: wt._core.search(flat, x, side, "search") + 1)
        indices = wt.asarray(tensor("int32", 9000), device=device)
        attempt(lambda: wt._core.argsort(indices, -1, False, 10))

orders(None)
wt.config.kernels = "gpu"
orders(wt.Device())
wt.config.kernels = ""

# Products: tiles of every size, transposed, strided and offset operands, batches, epilogues.
sizes = [1, 3, 4, 16, 33, 64, 130, 260]
for m, n, k in itertools.product(sizes, sizes, [1, 4, 31, 64]):
    a, b = tensor("float32", m, k), tensor("float32", k, n)
    attempt(lambda: a @ b)
    if m % 16 == 0 or k == 31:
        c, d, e = tensor("float32", k, m), tensor("float32", n, k), tensor("float32", n)
        attempt(lambda: wt.relu(c.T @ d.T + e))
        attempt(lambda: tensor("float32", m, k + 3)[:, 1 : k + 1] @ b)
for d in ("float32", "int32", "uint32"):
    for s, t in [
        ((5, 7, 8), (5, 8, 9)), ((2, 1, 33, 8), (3, 8, 40)), ((64, 64), (64, 64)), ((9,), (9, 4)),
    ]:
        attempt(lambda: tensor(d, *s) @ tensor(d, *t))

# Convolutions: indexes over several dimensions on either side, vec4s and scalars, along both.
F = wt.nn.functional
for d, (c, o, g), size, k in itertools.product(
    ("float32", "int32"), [(4, 40, 1), (6, 8, 2), (4, 4, 4), (70, 130, 1)], [(9, 11), (16, 20)],
    [(1, 1), (3, 3), (2, 1), (9, 4)],
):
    x, w, b = tensor(d, 2, c, *size), tensor(d, o, c // g, *k), tensor(d, o)
    attempt(lambda: F.conv2d(x, w, groups=g))
    attempt(lambda: wt.maximum(F.conv2d(x, w, b, 2, groups=g), 0))
    attempt(lambda: F.conv2d(x, w, padding=4, dilation=2, groups=g))
    last = tensor(d, 2, *size, c).permute((0, 3, 1, 2))
    attempt(lambda: F.conv2d(last, w.permute((3, 2, 1, 0)).copy().permute((3, 2, 1, 0)), groups=g))
attempt(lambda: F.conv3d(tensor("float32", 1, 3, 5, 6, 7), tensor("float32", 33, 3, 2, 3, 2)))
attempt(lambda: F.max_pool2d(tensor("float32", 1, 3, 15, 16), 3, 2, 1, ceil_mode=True))

# Assignments, generators, views that copy.
for d in DTYPES:
    for shape, key in [
        ((30,), slice(3, 20)), ((6, 8), (slice(None), 2)),
        ((6, 8), (slice(None, None, -2), slice(1, 5))),
    ]:
        x = tensor(d, *shape)
        x[key] = tensor(d, *shape)[key]
        x[key] = 1
        attempt(lambda: x.T.reshape(-1))
for d in DTYPES[:3]:
    attempt(lambda: wt.arange(1000, dtype=d) + 1)
    attempt(lambda: wt.eye(9, 12, k=1, dtype=d))
assert wt.default_device().limits["max_storage_buffers"] <= 8
"""


def dumped(folder: Path) -> None:
    env = {"WGTENSOR_LIMITS": "default", "WGTENSOR_DUMP": str(folder), "WGTENSOR_DEBUG": "0"}
    run_script(PROGRAM, env=env)


def test_every_kind_of_shader(tmp_path: Path) -> None:
    if why := tint.missing():
        (pytest.fail if os.environ.get("WGT_REQUIRE_TINT") else pytest.skip)(why)
    dumped(tmp_path)
    assert len(list(tmp_path.glob("*.wgsl"))) > 500
    done = subprocess.run(
        [sys.executable, tint.__file__, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tint_refuses_what_it_should(tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    if why := tint.missing():
        pytest.skip(why)
    early_return = """
var<workgroup> s: array<f32, 64>;
@group(0) @binding(0) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  if (i > 3u) { return; }
  workgroupBarrier();
  o[i] = s[i];
}
"""
    (tmp_path / "early.wgsl").write_text(early_return)
    (tmp_path / "fine.wgsl").write_text("@compute @workgroup_size(64) fn main() {}")
    done = subprocess.run(
        [sys.executable, tint.__file__, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "2 shaders, 1 refused" in done.stdout
    assert "workgroupBarrier" in done.stdout

"""Fusion, counted where wgpu-native is called and not by the library's own statistics."""

from __future__ import annotations

import sys

import pytest

import wgtensor as wt
from helpers import workgroups_meet
from preload import run_counted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD")

ARRAYS = """
rng = np.random.default_rng(0)

def array(*shape):
    return rng.standard_normal(shape, dtype="float32")

def count(name, make, expected):
    counts.reset()
    got = make().numpy()
    result[name] = counts.dispatches
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=name)

def on_device(*arrays):
    tensors = [wt.asarray(a) for a in arrays]
    wt.synchronize()
    return tensors
"""


def test_expressions_are_one_dispatch() -> None:
    result = run_counted(
        ARRAYS
        + """
a, b, c = abs(array(64, 96)), abs(array(64, 96)), abs(array(64, 96))
x, y, z = on_device(a, b, c)
count("chain", lambda: ((x * y) + z).sqrt(), np.sqrt(a * b + c))
count("reduction", lambda: (x * y).sum(axis=0), (a * b).sum(axis=0))
count("rows", lambda: (x * y).sum(axis=1), (a * b).sum(axis=1))
count("mean", lambda: (x - y).square().mean(), np.square(a - b).mean())

w, bias = array(96, 32), array(32)
tw, tb = on_device(w, bias)
count("layer", lambda: wt.relu(x @ tw + tb), np.maximum(a @ w + bias, 0))

six = lambda y: wt.relu((y * 2 + 1).abs().sqrt() * y - 1)
count("six", lambda: six(y), np.maximum(np.sqrt(abs(b * 2 + 1)) * b - 1, 0))
count("softmax", lambda: (x * y).softmax(axis=-1),
      np.exp(a * b) / np.exp(a * b).sum(axis=-1, keepdims=True))
"""
    )
    assert result == dict.fromkeys(
        ["chain", "reduction", "rows", "mean", "layer", "six", "softmax"], 1
    )


def test_the_splits_of_a_large_reduction_meet() -> None:
    """In its kernel on a GPU where workgroups may, else in a second one."""
    result = run_counted(
        ARRAYS
        + """
a = array(1 << 20)
(x,) = on_device(a)
count("large", lambda: (x * 2).sum(), (a.astype("float64") * 2).sum())
b = array(1 << 14, 64)
(y,) = on_device(b)
count("columns", lambda: (y * 2).sum(axis=0), (b.astype("float64") * 2).sum(axis=0))
"""
    )
    device = wt.default_device()
    kernels = 1 if device.type != "cpu" and workgroups_meet(device) else 2
    assert result == {"large": kernels, "columns": kernels}


STEP = """
images, labels, w1, w2 = array(32, 64), array(32, 10), array(64, 48), array(48, 10)
x, y, p, q = on_device(images, labels, w1, w2)

def step(read_first):
    counts.reset()
    before = x @ p
    hidden = wt.relu(before)
    logits = hidden @ q
    probabilities = logits.softmax(axis=-1)
    loss = ((probabilities - y) ** 2).mean()
    if read_first:
        loss.item()
    slope = (probabilities - y) * probabilities
    dq = hidden.T @ slope
    dh = (slope @ q.T) * (before > 0)
    dp = x.T @ dh
    new_p, new_q = p - 0.1 * dp, q - 0.1 * dq
    wt.eval(new_p, new_q, loss)
    value = loss.item()
    return counts.labels, value, new_p.numpy(), new_q.numpy()

runs = [step(False), step(True), step(False), step(True)]
for run in runs[1:]:
    for a, b in zip(runs[0][1:], run[1:]):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
result["kernels"] = [run[0] for run in runs]
"""


def test_reading_the_loss_first_adds_no_matmul() -> None:
    result = run_counted(ARRAYS + STEP)
    not_read, read_first, again, read_again = result["kernels"]
    assert not_read.count("matmul") == 5  # two forward, three backward
    assert read_first.count("matmul") == 5
    assert (again, read_again) == (not_read, read_first)
    # What the loss shared a kernel with may need one more; nothing costly is computed anew.
    assert len(read_first) <= len(not_read) + 1
    assert read_first.count("softmax") == 1

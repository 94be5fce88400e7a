"""Views and assignment: no copies, NumPy's elements, handles that change without their views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, random_array, source
from tolerances import check

Array = np.ndarray[Any, Any]


@pytest.mark.short
@pytest.mark.parametrize("kind", ["leaf", "pending", "computed"])
def test_views_run_no_kernel(kind: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 6, 8))
    t = source(kind, a).eval()
    views = [
        t.T,
        t.mT,
        t[1:, ::2, None],
        t[::-1],
        t[..., 3],
        t.reshape(24, 8),
        t.reshape(-1),
        wt.permute_dims(t, (2, 0, 1)),
        t.broadcast_to((3, 4, 6, 8)),
        wt.expand_dims(t, axis=(0, -1)),
        wt.squeeze(t[:1]),
        t[1][2],
    ]
    assert dispatches(lambda: views) == 0
    expected = [
        a.T,
        a.swapaxes(-1, -2),
        a[1:, ::2, None],
        a[::-1],
        a[..., 3],
        a.reshape(24, 8),
        a.reshape(-1),
        a.transpose(2, 0, 1),
        np.broadcast_to(a, (3, 4, 6, 8)),
        np.expand_dims(a, (0, -1)),
        a[:1].squeeze(),
        a[1][2],
    ]
    for i, (view, e) in enumerate(zip(views, expected, strict=True)):
        check(view, e, name=str(i))


@pytest.mark.short
def test_overlapping_assignment(rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32", "bool"):
        for forward in (True, False):
            a = random_array(rng, (70,), dtype)
            x = wt.asarray(a)
            if forward:
                x[1:] = x[:-1]
                a[1:] = a[:-1].copy()
            else:
                x[:-1] = x[1:]
                a[:-1] = a[1:].copy()
            check(x, a, name=f"{dtype} {forward}")
    a = random_array(rng, (40,))
    x = wt.asarray(a)
    x[::2] = x[1::2][::-1]
    a[::2] = a[1::2][::-1].copy()
    check(x, a)
    a = random_array(rng, (9, 9))
    x = wt.asarray(a)
    x[...] = x.T
    check(x, a.T)
    y = wt.asarray(a) * 2  # pending base, the value reads it
    y[2:] = y[:-2]
    doubled = a * 2
    doubled[2:] = doubled[:-2].copy()
    check(y, doubled)


@pytest.mark.short
@pytest.mark.parametrize("kind", ["leaf", "pending", "computed"])
def test_a_handle_changes_and_its_views_do_not(kind: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (6, 7))
    x = source(kind, a)
    name = x
    view, row, doubled, copied = x[1:, ::-1], x[2], x * 2, x.copy()
    x[...] = 5.0
    x[0] = wt.asarray(a[3])
    x += 1
    x[:, 1:3] *= 2
    after = np.full_like(a, 5)
    after[0] = a[3]
    after += 1
    after[:, 1:3] *= 2
    check(name, after)
    check(view, a[1:, ::-1])
    check(row, a[2])
    check(doubled, a * 2)
    check(copied, a)
    saved = x[0]
    x -= x
    check(x, np.zeros_like(a))
    check(saved, after[0])


def test_in_place_chains_keep_what_was_read_before(rng: np.random.Generator) -> None:
    a = random_array(rng, (33,))
    x = wt.asarray(a)
    history = []
    for i in range(12):
        x += i
        history.append((x[::2], (a[::2] + sum(range(i + 1), start=np.float32(0)))))
        if i % 4 == 3:
            x.eval()
    for view, expected in history:
        np.testing.assert_allclose(view.numpy(), expected, rtol=1e-5, atol=1e-4)


def test_many_small_assignments(rng: np.random.Generator) -> None:
    """Element by element and row by row: hundreds of them, read at the end."""
    expected = random_array(rng, (20, 15))
    x = wt.zeros((20, 15))
    for i in range(20):
        for j in range(0, 15, 3):
            x[i, j] = float(expected[i, j])
    for j in range(15):
        if j % 3:
            x[:, j] = wt.asarray(expected[:, j])
    check(x, expected)


@pytest.mark.short
def test_assignment_casts_and_broadcasts(rng: np.random.Generator) -> None:
    x = wt.zeros((3, 4), dtype="int32")
    x[1] = wt.asarray(np.array([1.9, -1.9, 2.0, 0.0], np.float32))
    x[2, ::2] = True
    x[0] = np.array([[7]], np.int32)
    check(x, np.array([[7, 7, 7, 7], [1, -1, 2, 0], [1, 0, 1, 0]], np.int32))
    b = wt.zeros((9,), dtype="bool")
    b[3:5] = True
    b[::-4] = wt.asarray(np.array([0.0, 2.0, -1.0], np.float32))
    check(b, np.array([True, 0, 0, True, True, 0, 0, 0, 0], np.bool_))
    b[:] = 0
    check(b, np.zeros(9, np.bool_))
    x[...] = np.arange(12, dtype=np.int32).reshape(1, 1, 3, 4)
    check(x, np.arange(12, dtype=np.int32).reshape(3, 4))
    x[:0] = 3
    x[1:1, 2] = wt.zeros((0,), dtype="int32")
    check(x, np.arange(12, dtype=np.int32).reshape(3, 4))
    s = wt.asarray(np.float32(2))
    s[...] = 4
    s[()] = s + 1
    assert s.item() == 5


@pytest.mark.short
def test_reshape_copies_only_where_strides_cannot_tell(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 6))
    t = wt.asarray(a)
    for made, expected, kernels in [
        (lambda: t.reshape(2, 2, 6), a.reshape(2, 2, 6), 0),
        (lambda: t.T.reshape(6, 2, 2), a.T.reshape(6, 2, 2), 0),
        (lambda: t[::-1].reshape(4, 3, 2), a[::-1].reshape(4, 3, 2), 0),
        (lambda: t[:, ::2].reshape(4, 3, 1), a[:, ::2].reshape(4, 3, 1), 0),
        (lambda: t[:, ::2].reshape(12), a[:, ::2].reshape(12), 0),
        (lambda: t.T.reshape(24), a.T.reshape(24), 1),
        (lambda: t[:, :3].reshape(-1), a[:, :3].reshape(-1), 1),
        (lambda: t.broadcast_to((2, 4, 6)).reshape(48), np.stack([a, a]).reshape(48), 1),
    ]:
        assert dispatches(made) == kernels
        check(made(), expected)


def test_a_view_of_a_view_is_one_view(rng: np.random.Generator) -> None:
    """Thousands of views stand for one: nothing piles up."""
    a = random_array(rng, (8, 8))
    t = wt.asarray(a) + 0
    for _ in range(2001):
        t = t.T[::-1]
    e = a
    for _ in range(2001 % 4):
        e = e.T[::-1]
    check(t, e)


@pytest.mark.short
def test_views_of_what_was_computed_later(rng: np.random.Generator) -> None:
    """The base is computed while nobody wants the view; the view keeps it, no kernel takes it."""
    for reader in (True, False):
        a = wt.arange(0, 10, 2)
        view = a.reshape(5, 1)
        waiting = view // -1 if reader else None
        if reader:
            wt.eval((view | waiting), waiting / 2.0)
        a.eval()
        del a
        if waiting is not None:
            check(waiting, -np.arange(0, 10, 2, dtype=np.int32).reshape(5, 1))
        (wt.ones(3) + 1).eval()
        check(view, np.arange(0, 10, 2, dtype=np.int32).reshape(5, 1))
    b = random_array(rng, (6, 4))
    x = wt.asarray(b) * 2
    view, other = x.T, x[1:]
    cheap = view + 1
    (cheap * 3).eval()
    x.eval()
    x += 1
    x.eval()
    check(view, b.T * 2)
    check(other, b[1:] * 2)
    check(cheap, b.T * 2 + 1)


def test_eye() -> None:
    for args, k in [((3,), 0), ((3, 5), 2), ((5, 3), -2), ((4, 4), 4), ((2, 3), -7), ((0, 3), 0)]:
        check(wt.eye(*args, k=k), np.eye(*args, k=k, dtype=np.float32), name=f"{args} {k}")
    for k in (2**31, -(2**32), 2**40):
        assert wt.eye(3, k=k, dtype="int32").sum().item() == 0


def test_iteration_and_nested_indexing(rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5))
    t = wt.asarray(a)
    for x, y in zip(t, a, strict=True):
        for u, v in zip(x[:, ::-2], y[:, ::-2], strict=True):
            check(u, v)
    assert t[1, 2, 3].item() == a[1, 2, 3]
    assert t[-1, ..., -1].shape == (4,)
    assert t[None, 1:1].shape == (1, 0, 4, 5)
    assert t[np.int64(1), np.int32(-1)].shape == (5,)


@pytest.mark.short
def test_empty_and_zero_dimensional() -> None:
    e = wt.zeros((3, 0, 2))
    for view in (e.T, e.reshape(0), e[1:], e[:, :, ::-1], e.broadcast_to((4, 3, 0, 2)), e.mT):
        assert view.size == 0
        assert view.numpy().shape == view.shape
    assert e.reshape(0, 7).shape == (0, 7)
    s = wt.asarray(np.float32(3))
    for view in (s.reshape(1, 1), s[None], s[...], s.T, s.broadcast_to((2, 2)), wt.squeeze(s)):
        assert set(view.numpy().reshape(-1).tolist()) == {3.0}
    assert s[...].shape == ()


def test_twelve_dimensions(rng: np.random.Generator) -> None:
    a = random_array(rng, (2,) * 12)
    t = wt.asarray(a)
    order = tuple(np.random.default_rng(1).permutation(12).tolist())
    check(wt.permute_dims(t, order) + 1, a.transpose(order) + 1)
    with pytest.raises(wt.ShapeError, match="12 dimensions"):
        t[None]


def test_bools_at_odd_offsets(rng: np.random.Generator) -> None:
    a = random_array(rng, (7, 13), "bool")
    t = wt.asarray(a)
    for key in (
        (slice(1, None), slice(1, 6)),
        (3, slice(2, 9)),
        (slice(None), 5),
        (slice(None, None, -2), slice(1, None, 3)),
        (2, 3),
    ):
        check(t[key], a[key], name=str(key))
        check(wt.logical_not(t[key]), ~a[key], name=str(key))
        check(t[key].sum(), a[key].sum().astype(np.int32), name=str(key))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_every_alignment(dtype: str, rng: np.random.Generator) -> None:
    """Offsets, lengths and pitches around the four elements that kernels move at once."""
    flat = random_array(rng, (40,), dtype)
    t = wt.asarray(flat)
    for start in range(5):
        for n in range(1, 14):
            for key in (slice(start, start + n), slice(start, start + 2 * n, 2)):
                a, x = flat[key], t[key]
                name = f"{key}"
                check(x, a, name=name)
                check(wt.where(x, x, x), a, name=name)
                check(x != x[::-1], a != a[::-1], name=name)
                written, expected = t.copy(), flat.copy()
                written[key] = x[::-1]
                expected[key] = a[::-1].copy()
                check(written, expected, name=name)
    for pitch in (12, 13):
        base = random_array(rng, (7, pitch), dtype)
        t = wt.asarray(base)
        for start in range(4):
            for n in (1, 3, 4, 5, 8):
                a, x = base[1:, start : start + n], t[1:, start : start + n]
                name = f"pitch {pitch} [{start}:{start + n}]"
                check(wt.where(x, x, x), a, name=name)
                check((x == x[::-1]).T, (a == a[::-1]).T, name=name)
                check(wt.max(x, axis=0), a.max(axis=0), name=name)
                check(wt.max(x, axis=1), a.max(axis=1), name=name)
                check(wt.min(wt.where(x, x, x).T, axis=0), a.min(axis=1), name=name)
                written, expected = t.copy(), base.copy()
                written[1:, start : start + n] = x[::-1]
                expected[1:, start : start + n] = a[::-1].copy()
                check(written, expected, name=name)

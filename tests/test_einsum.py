"""einsum: NumPy's values, and how many kernels it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgtensor as wt
from helpers import dispatches, random_array
from products import verify, wide
from tolerances import check, near

Array = np.ndarray[Any, Any]


CASES: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((5, 6), (6, 7))),
    ("ij,jk", ((5, 6), (6, 7))),
    ("ij,kj->ki", ((5, 6), (7, 6))),
    ("ji,jk->ki", ((6, 5), (6, 7))),
    ("bij,bjk->bik", ((3, 5, 6), (3, 6, 7))),
    ("bij,bjk->ikb", ((3, 5, 6), (3, 6, 7))),
    ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
    ("bqhd,bkhd->bhqk", ((2, 4, 3, 5), (2, 6, 3, 5))),
    ("bhqk,bkhd->bqhd", ((2, 3, 4, 6), (2, 6, 3, 5))),
    ("i,i->", ((7,), (7,))),
    ("i,i", ((7,), (7,))),
    ("i,j->ij", ((3,), (4,))),
    ("i,j->ji", ((3,), (4,))),
    ("i,j->", ((3,), (4,))),
    ("ij->ji", ((3, 4),)),
    ("ij->", ((3, 4),)),
    ("ij->j", ((3, 4),)),
    ("ba", ((3, 4),)),
    ("ii->i", ((4, 4),)),
    ("ii", ((4, 4),)),
    ("iij->ij", ((4, 4, 3),)),
    ("iii->i", ((3, 3, 3),)),
    ("ijji->j", ((3, 2, 2, 3),)),
    ("ij,ij->ij", ((3, 4), (3, 4))),
    ("ij,ij->", ((3, 4), (3, 4))),
    ("ij,ji->", ((3, 4), (4, 3))),
    ("ij,j->i", ((3, 4), (4,))),
    ("i,ij->j", ((3,), (3, 4))),
    ("ii,ij->j", ((3, 3), (3, 4))),
    ("ijk,jil->kl", ((3, 4, 5), (4, 3, 2))),
    ("abcd,dcef->abfe", ((2, 3, 4, 5), (5, 4, 2, 3))),
    ("ijk,ilm->jklm", ((2, 3, 4), (2, 5, 2))),
    ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (6, 4, 5))),
    ("...ij,jk", ((2, 3, 4), (4, 5))),
    ("i...->...", ((3, 4, 5),)),
    ("...i->i...", ((3, 4, 5),)),
    ("i...i->...", ((3, 4, 3),)),
    ("...", ((3, 4),)),
    ("...,...", ((3, 4), (4,))),
    ("...->...", ((),)),
    (",ij", ((), (3, 4))),
    (",", ((), ())),
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6))),
    ("ij,jk,kl,lm->mi", ((3, 20), (20, 2), (2, 15), (15, 4))),
    ("i,i,i->i", ((5,), (5,), (5,))),
    ("ij,ik,il->jkl", ((5, 2), (5, 3), (5, 4))),
    ("abc,cd,be,af->def", ((3, 4, 5), (5, 2), (4, 3), (3, 2))),
    ("ij,jk->ik", ((5, 1), (6, 7))),
    ("ij,ij->i", ((5, 1), (1, 6))),
    ("ij,jk->ik", ((1, 6), (6, 1))),
    ("ij,jk->ik", ((5, 0), (0, 7))),
    ("ij,jk->ik", ((0, 6), (6, 7))),
    ("ij->i", ((3, 0),)),
    ("ij,kl->", ((3, 4), (2, 5))),
    ("aij,jk->aik", ((2, 3, 4), (4, 5))),
    ("ijk,ijl->kl", ((3, 4, 5), (3, 4, 2))),
    (" i j , j k -> i k ", ((5, 6), (6, 7))),
    ("Ab,bA->Ab", ((3, 4), (4, 3))),
    ("ba,Ba", ((3, 4), (2, 4))),
]


@pytest.mark.short
@pytest.mark.parametrize(("subscripts", "shapes"), CASES, ids=lambda x: str(x).replace(" ", ""))
def test_einsum(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> None:
    for dtype in ("float32", "int32"):
        arrays = [random_array(rng, s, dtype) for s in shapes]
        verify(
            lambda *t: wt.einsum(subscripts, *t),
            lambda *a: np.einsum(subscripts, *a),
            *arrays,
            name=subscripts,
        )


@pytest.mark.parametrize("dtype", ["uint32", "int32"])
def test_einsum_of_integers_is_exact(dtype: str, rng: np.random.Generator) -> None:
    info = np.iinfo(dtype)
    a, b = (rng.integers(info.min, info.max, s, dtype=dtype) for s in ((3, 4, 9), (3, 9, 5)))
    for text in ("bij,bjk->bik", "bij,bjk->", "bij,bjk->ki"):
        check(wt.einsum(text, a, b), np.einsum(text, a, b), name=text)


def test_einsum_of_other_forms(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (3, 4)), random_array(rng, (4, 5))
    x, y = wt.asarray(a), wt.asarray(b)
    near(wt.einsum(x, [0, 1], y, [1, 2], [2, 0]), (wide(a) @ wide(b)).T, ops=100)
    near(wt.einsum(x, [0, 1], y, [1, 2]), wide(a) @ wide(b), ops=100)
    near(wt.einsum(x, [..., 1], y, [1, 2], [..., 2]), wide(a) @ wide(b), ops=100)
    near(wt.einsum("ij,jk", a, y, optimize="greedy"), wide(a) @ wide(b), ops=100)
    p, q = a > 0, b > 1
    check(wt.einsum("ij,jk", p, q), np.einsum("ij,jk", p, q))
    check(wt.einsum("ij->i", wt.asarray(p)), p.any(axis=1))
    assert wt.einsum("i,i->i", wt.ones(3, dtype="int32"), wt.ones(3)).dtype == wt.float32
    out = wt.zeros((3, 5))
    assert wt.einsum("ij,jk", x, y, out=out) is out
    near(out, wide(a) @ wide(b), ops=100)


def test_einsum_errors() -> None:
    t = wt.zeros((2, 3))
    for operands, error, text in [
        (("ij,jk", t), ValueError, "2 terms"),
        (("ij", t, t), ValueError, "1 terms"),
        (("i", t), wt.ShapeError, "operand of shape"),
        (("ijk", t), wt.ShapeError, "operand of shape"),
        (("ii", t), wt.ShapeError, "axes 0 and 1"),
        (("ij,jk", t, t), wt.ShapeError, "sizes 3 and 2"),
        (("ij->ik", t), ValueError, "in no operand"),
        (("ij->ii", t), ValueError, "there twice"),
        (("i1", t), ValueError, "letters"),
        (("i.j", t), ValueError, "letters"),
        (("...i->i", t), ValueError, "leaves out"),
        ((), ValueError, "needs"),
        ((t, [0, -1]), ValueError, "numbers"),
        ((t, ["i", "j"]), ValueError, "numbers"),
    ]:
        with pytest.raises(error, match=text):
            wt.einsum(*operands)


def test_einsum_kernels(rng: np.random.Generator) -> None:
    """One product for each pair, no copies of what strides can say, epilogues in the kernel."""

    def tensor(*shape: int) -> wt.Tensor:
        return wt.asarray(random_array(rng, shape))

    x, y = tensor(3, 5, 6), tensor(3, 6, 7)
    for text, operands, kernels in [
        ("bij,bjk->bik", (x, y), 1),
        ("bij,bjk->bki", (x, y), 1),
        ("bij,bkj->bik", (x, tensor(3, 7, 6)), 1),
        ("bji,bjk->bik", (tensor(3, 6, 5), y), 1),
        ("aij,jk->aik", (x, tensor(6, 7)), 1),
        ("bqhd,bkhd->bhqk", (tensor(2, 4, 3, 5), tensor(2, 6, 3, 5)), 1),
        ("ij,jk,kl->il", (tensor(3, 4), tensor(4, 5), tensor(5, 6)), 2),
        ("ij,ij->", (tensor(3, 4), tensor(3, 4)), 1),
        ("ij,ji->", (tensor(3, 4), tensor(4, 3)), 1),
        ("bij,bj->bi", (x, tensor(3, 6)), 1),
        ("i,j->ij", (tensor(3), tensor(4)), 1),
        ("i,i,i->i", (tensor(3), tensor(3), tensor(3)), 1),
        ("ijkk->jik", (tensor(3, 4, 5, 5),), 0),
        ("ij->i", (tensor(3, 4),), 1),
        ("ijk,ijl->kl", (tensor(3, 4, 5), tensor(3, 4, 2)), 1),
    ]:
        wt.eval(*operands)
        assert dispatches(lambda t=text, o=operands: wt.einsum(t, *o)) == kernels, text
    bias, residual = tensor(7), tensor(3, 5, 7)
    assert dispatches(lambda: wt.relu(wt.einsum("bij,bjk->bik", x, y) + bias)) == 1
    assert dispatches(lambda: wt.einsum("bij,bjk->bik", x, y) * 2 + residual) == 1
    assert "matmul" in wt.explain(wt.einsum("bij,bjk->bik", x, y))


@settings(max_examples=60)
@given(st.data())
def test_einsum_by_chance(data: st.DataObject) -> None:
    draw = data.draw
    sizes = dict(
        zip(
            "abcde",
            draw(st.permutations([1, 2, 3, 4, 0 if draw(st.integers(0, 9)) == 0 else 5])),
            strict=True,
        )
    )
    terms = draw(st.lists(st.text("abcde", max_size=4), min_size=1, max_size=4))
    every = sorted(set("".join(terms)))
    output = "".join(x for x in draw(st.permutations(every)) if draw(st.booleans()))
    text = ",".join(terms) + ("->" + output if draw(st.integers(0, 4)) else "")
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [random_array(rng, tuple(sizes[x] for x in term), "int32") % 5 for term in terms]
    check(
        wt.einsum(text, *(wt.asarray(a) for a in arrays)),
        np.einsum(text, *arrays),
        name=f"{text} {sizes}",
    )

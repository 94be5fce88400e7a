"""Random numbers: Philox's words, what is made of them, and where they begin."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import philox
import wgtensor as wt
from helpers import device_has, dispatches, same_bits, setting
from wgtensor import random

# Known answers of the Random123 distribution (tests/kat_vectors): counter, key, block.
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
STATES = [(0, 0), (1, 7), (0x123456789ABCDEF0, 2**32 - 2), (2**64 - 1, 2**64 - 3)]
BITS = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}
FLOATS = list(BITS)


def at(seed: int, offset: int) -> random.Generator:
    g = random.Generator()
    g.set_state({"seed": seed, "offset": offset})
    return g


def only(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip(f"the adapter has no {dtype}")


def ulps(actual: wt.Tensor, expected: np.ndarray[Any, Any]) -> float:
    a = actual.numpy()
    spacing = np.spacing(np.abs(expected).astype(a.dtype)).astype(np.float64)
    return float((np.abs(a.astype(np.float64) - expected) / spacing).max())


@pytest.mark.short
@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_the_reference_gives_the_known_answers(counter: Any, key: Any, block: Any) -> None:
    assert philox.philox4x32(np.array(counter, np.uint32), key).tolist() == list(block)


@pytest.mark.short
def test_the_kernel_gives_the_known_answer() -> None:
    assert random.bits(4, generator=at(0, 0)).tolist() == list(KNOWN[0][2])


@pytest.mark.short
@pytest.mark.parametrize("state", STATES)
def test_words(state: tuple[int, int]) -> None:
    expected = philox.words(120, *state)
    same_bits(random.bits(119, generator=at(*state)), expected[:119])
    x = random.bits((4, 5, 6), generator=at(*state))
    same_bits(x, expected.reshape(4, 5, 6))
    # As the source of kernels of every form.
    same_bits(x[1:, ::2, 1:5] + 0, expected.reshape(4, 5, 6)[1:, ::2, 1:5])
    same_bits(x.T ^ 1, expected.reshape(4, 5, 6).T ^ 1)
    same_bits(x[..., ::-1] + 1, expected.reshape(4, 5, 6)[..., ::-1] + 1)
    same_bits(x.sum(axis=1), expected.reshape(4, 5, 6).sum(axis=1, dtype=np.uint32))
    same_bits(x.max(axis=2), expected.reshape(4, 5, 6).max(axis=2))
    same_bits(x[0, 0, 1] + 0, expected[1])
    assert random.bits((3, 0), generator=at(*state)).shape == (3, 0)


def test_a_prefix_does_not_depend_on_the_shape() -> None:
    long = random.bits(1000, generator=at(5, 6)).numpy()
    for n in (1, 2, 3, 4, 5, 63, 64, 257):
        same_bits(random.bits(n, generator=at(5, 6)), long[:n])


def test_words_in_windows() -> None:
    with setting(max_binding=4096):
        device = wt.Device()
        x = random.bits((70, 90), device=device, generator=at(3, 4))
        expected = philox.words(6300, 3, 4).reshape(70, 90)
        same_bits(x + 0, expected)
        same_bits(x.T + 0, expected.T)


@pytest.mark.short
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("state", STATES)
def test_uniforms_are_exact(dtype: str, state: tuple[int, int]) -> None:
    only(dtype)
    x = random.uniform(1001, dtype=dtype, generator=at(*state)).numpy().astype(np.float64)
    assert np.array_equal(x, philox.uniform(1001, *state, BITS[dtype]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniforms_of_an_interval_are_rounded_twice(dtype: str) -> None:
    only(dtype)
    d = np.dtype(dtype).type
    u = philox.uniform(4001, 9, 2, BITS[dtype]).astype(dtype)
    for low, high in [(-3.3, 0.7), (1e-3, 1.0), (-1.0, 1.0), (1e6, 1e6 + 3)]:
        x = random.uniform(4001, low, high, dtype=dtype, generator=at(9, 2))
        same_bits(x, u * d(high - low) + d(low))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("state", STATES)
def test_normals_and_exponentials(dtype: str, state: tuple[int, int]) -> None:
    only(dtype)
    wide = dtype == "float64"
    z = random.normal(50_001, dtype=dtype, generator=at(*state))
    assert ulps(z, philox.normal(50_001, *state, wide)) <= 4
    e = random.exponential(50_001, dtype=dtype, generator=at(*state))
    assert ulps(e, philox.exponential(50_001, *state, wide)) <= 2


@pytest.mark.parametrize(
    ("span", "dtype"),
    [
        *((1, "int32"), (10, "int32"), (2**31 + 5, "uint32"), (2**32 - 1, "uint32")),
        *((200, "uint8"), (7, "int64"), (2**33 + 1, "int64"), (2**63 + 12345, "uint64")),
        *((2**64, "uint64"), (2**32, "uint32"), (2**16, "int16")),
    ],
)
def test_integers(span: int, dtype: str) -> None:
    only(dtype)
    low = int(np.iinfo(dtype).min) if dtype.startswith("int") and span > 100 else 0
    x = random.randint(low, low + span, 3001, dtype=dtype, generator=at(11, 2**40)).numpy()
    assert x.dtype == dtype
    got = [int(v) - low for v in x]
    if span == 2**32:
        assert got == philox.words(3001, 11, 2**40).tolist()
    else:
        assert got == philox.below(3001, span, 11, 2**40)


N = 200_000
CASES: dict[str, tuple[Callable[[], wt.Tensor], Any]] = {
    "uniform": (lambda: random.uniform(N, -2, 3), stats.uniform(-2, 5)),
    "normal": (lambda: random.normal(N, 1.5, 0.5), stats.norm(1.5, 0.5)),
    "exponential": (lambda: random.exponential(N, 2.0), stats.expon(0, 2)),
    "gumbel": (lambda: random.gumbel(N, 1.0, 3.0), stats.gumbel_r(1, 3)),
    "truncated": (lambda: random.truncated_normal(N), stats.truncnorm(-2, 2)),
    "one side": (
        lambda: random.truncated_normal(N, 1.0, 2.0, 0.0, 9.0),
        stats.truncnorm(-0.5, 4, 1, 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_distributions(name: str) -> None:
    make, expected = CASES[name]
    random.manual_seed(20)
    x = make().numpy().astype(np.float64)
    assert stats.kstest(x, expected.cdf).pvalue > 0.001
    deviation = expected.std()
    assert abs(x.mean() - expected.mean()) < 5 * deviation / N**0.5
    assert abs(x.var() / deviation**2 - 1) < 5 * (expected.stats("k") + 2) ** 0.5 / N**0.5
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / N**0.5


def test_tails_of_the_normal_distribution() -> None:
    random.manual_seed(1)
    x = np.abs(random.normal(1 << 22).numpy())
    for limit in (3.0, 4.0, 4.5):
        expected = stats.norm.sf(limit) * 2 * x.size
        assert abs((x > limit).sum() - expected) < 5 * expected**0.5


def test_integers_come_alike_often() -> None:
    random.manual_seed(3)
    counts = np.bincount(random.randint(0, 13, 130_000).numpy(), minlength=13)
    assert stats.chisquare(counts).pvalue > 0.001


def test_bernoulli() -> None:
    random.manual_seed(4)
    for p in (0.0, 0.25, 1.0):
        x = random.bernoulli(p, (500, 400)).numpy()
        assert x.dtype == np.float32
        assert set(np.unique(x)) <= {0.0, 1.0}
        assert abs(x.mean() - p) < 0.01
        if p in (0.0, 1.0):
            assert (x == p).all()
    p = wt.asarray(np.array([0.0, 0.1, 0.9, 1.0], np.float32))
    x = random.bernoulli(p, (50_000, 4)).numpy()
    assert np.allclose(x.mean(axis=0), p.numpy(), atol=0.01)
    assert x[:, 0].max() == 0
    assert x[:, 3].min() == 1
    assert random.bernoulli(p).shape == (4,)
    assert random.bernoulli(0.5, 3, dtype=wt.bool).dtype == wt.bool


def test_tensors_of_parameters() -> None:
    low, high = np.array([[0.0], [5.0]], np.float32), np.array([1.0, 2.0, 30.0], np.float32)
    x = random.uniform((4000, 2, 3), low, high).numpy()
    assert (x >= np.minimum(low, high)).all()
    assert np.allclose(x.mean(axis=0), (low + high) / 2, atol=0.5)
    assert random.normal(mean=low, std=wt.asarray(high)).shape == (2, 3)
    z = random.normal((3,), mean=wt.asarray(np.float32([1, 2, 3])), std=0.0)
    assert z.tolist() == [1, 2, 3]
    assert random.gumbel(loc=low, scale=high).shape == (2, 3)
    assert random.exponential(scale=high).shape == (3,)


def test_names_and_shapes() -> None:
    assert random.rand(2, 3).shape == random.rand((2, 3)).shape == random.randn(2, 3).shape
    assert random.rand().shape == random.normal().shape == random.randint(5).shape == ()
    assert random.randint(5, (2, 2)).shape == random.randint(0, 5, (2, 2)).shape == (2, 2)
    x = wt.zeros((3, 4), dtype="float16")
    assert random.rand_like(x).dtype == random.randn_like(x).dtype == wt.float16
    assert random.randn_like(x).shape == (3, 4)


def test_a_tensor_keeps_its_numbers() -> None:
    x = random.normal((50, 50))
    same_bits(x, x.numpy())
    y = x + 1
    same_bits(y - 1 == x, (x.numpy() + np.float32(1) - np.float32(1)) == x.numpy())


def test_generators() -> None:
    g, h = random.Generator(5), random.Generator(5)
    assert g.initial_seed() == 5
    a, b = random.bits(10, generator=g), random.bits(10, generator=g)
    expected = philox.words(24, 5)
    same_bits(a, expected[:10])
    same_bits(b, expected[12:22])  # from the next whole block on
    state = g.get_state()
    c = random.bits(3, generator=g).numpy()
    g.set_state(state)
    same_bits(random.bits(3, generator=g), c)
    for other in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert other.get_state() == g.get_state()
    same_bits(random.bits(10, generator=h), a.numpy())
    random.manual_seed(-1)
    assert random.initial_seed() == 2**64 - 1
    before = random.get_state()
    u = random.rand(5).numpy()
    random.set_state(before)
    same_bits(random.rand(5), u)
    assert random.Generator().initial_seed() != random.Generator().initial_seed()


def test_a_new_seed_compiles_and_plans_nothing() -> None:
    def turn(i: int) -> None:
        random.manual_seed(i * 2**33 + 7)
        p = 0.1 + i / 100
        x = random.normal((40, 24), 0.0, 0.5 + i) * random.bernoulli(p, (40, 24))
        (x.sum() + random.uniform((), -1.0 * i - 1, 1.0)).item()
        random.randint(0, 10 + i, 77).eval()

    turn(0)
    before = (wt.stats()["pipelines"], wt.stats()["plans"])
    for i in range(1, 20):
        turn(i)
    assert (wt.stats()["pipelines"], wt.stats()["plans"]) == before


def test_what_uses_random_numbers_makes_them() -> None:
    x = wt.asarray(np.ones((64, 64), np.float32)).eval()

    def forward_and_backward() -> list[wt.Tensor]:
        mask = random.bernoulli(0.8, (64, 64), dtype=wt.bool)
        y = wt.where(mask, x * 1.25, 0).sum(axis=1)
        return [y, wt.where(mask, x * 2.5, 0).sum(axis=0)]

    assert dispatches(forward_and_backward) == 2
    a, b = (t.numpy() for t in forward_and_backward())
    assert a.sum() * 2 == b.sum()  # one mask, made twice


def test_memory_of_random_numbers() -> None:
    wt.synchronize()
    before = wt.stats()["live_bytes"]
    total = (random.normal((1 << 20,)) * 2).sum()
    total.eval()
    assert wt.stats()["live_bytes"] - before < 1 << 20


def test_orders_by_lot() -> None:
    random.manual_seed(6)
    p = random.randperm(1000)
    assert p.dtype == wt.int32
    assert sorted(p.tolist()) == list(range(1000))
    assert p.tolist() != sorted(p.tolist())
    assert random.permutation(5).shape == (5,)
    x = wt.arange(24).reshape(4, 6)
    y = random.permutation(x, axis=1).numpy()
    assert sorted(y[0].tolist()) == list(range(6))
    assert (y - y[:1] == np.arange(0, 24, 6)[:, None]).all()
    random.shuffle(x)
    assert sorted(x[:, 0].tolist()) == [0, 6, 12, 18]
    counts = np.zeros((3, 3))
    for _ in range(300):
        counts[range(3), random.randperm(3).numpy()] += 1
    assert stats.chisquare(counts.reshape(-1)).pvalue > 0.001


def test_choices() -> None:
    random.manual_seed(7)
    x = random.choice(10, (200, 50)).numpy()
    assert stats.chisquare(np.bincount(x.reshape(-1), minlength=10)).pvalue > 0.001
    assert sorted(random.choice(10, 10, replace=False).tolist()) == list(range(10))
    assert random.choice(wt.arange(12).reshape(3, 4), (2, 5), axis=1).shape == (3, 2, 5)
    assert random.choice(5).shape == ()
    p = [0.5, 0.2, 0.0, 0.3]
    drawn = random.choice(4, 20_000, p=p).numpy()
    counts = np.bincount(drawn, minlength=4)
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]], np.array([0.5, 0.2, 0.3]) * 20_000).pvalue > 0.001
    assert random.choice(4, 3, replace=False, p=p).tolist().count(2) == 0
    weights = wt.asarray(np.float32([[1, 0, 3], [0, 5, 5]]))
    many = random.multinomial(weights, 9000, replacement=True).numpy()
    assert many.shape == (2, 9000)
    assert abs((many[0] == 2).mean() - 0.75) < 0.02
    assert abs((many[1] == 1).mean() - 0.5) < 0.02
    assert sorted(random.multinomial(weights, 2).numpy()[1].tolist()) == [1, 2]


def test_one_number_by_lot_is_an_index() -> None:
    x = wt.arange(4) + 1
    for shape in ((), (1,), (1, 1)):
        drawn = wt.random.randint(4, shape=shape)
        assert x[drawn].tolist() == (drawn + 1).tolist()
        many = x[drawn.reshape(-1)[0] + wt.zeros(9, dtype="int32")]
        assert many.tolist() == [drawn.item() + 1] * 9
    assert wt.random.choice([1.5, 2.5]).item() in (1.5, 2.5)


def test_leaves() -> None:
    for make in (random.uniform, random.normal, random.exponential, random.gumbel, random.randn):
        assert make((2, 3), requires_grad=True).requires_grad
    mean = wt.zeros(3).requires_grad_()
    random.normal((5, 3), mean, 2.0).sum().backward()
    assert mean.grad is not None
    assert mean.grad.tolist() == [5, 5, 5]


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda: random.choice(3, 4, replace=False)),
        (wt.ShapeError, lambda: random.choice(3, 4, p=[1.0, 2.0])),
        (ValueError, lambda: random.multinomial([1.0, 2.0], 3)),
        (wt.ShapeError, lambda: random.multinomial(wt.ones((1, 2, 3)), 3)),
        (TypeError, lambda: random.shuffle(np.ones(3))),
        (wt.DTypeError, lambda: random.uniform(3, dtype=wt.int32)),
        (wt.DTypeError, lambda: random.randint(3, dtype=wt.float32)),
        (ValueError, lambda: random.randint(3, 3)),
        (OverflowError, lambda: random.randint(0, 300, dtype=wt.uint8)),
        (TypeError, lambda: random.randint(0.5)),
        (ValueError, lambda: random.bernoulli(1.5)),
        (ValueError, lambda: random.normal(3, std=-1.0)),
        (ValueError, lambda: random.normal(3, mean=float("nan"))),
        (ValueError, lambda: random.truncated_normal(3, a=1.0, b=1.0)),
        (ValueError, lambda: random.uniform(-3)),
        (TypeError, lambda: random.uniform(2.5)),
        (TypeError, lambda: random.rand(3, generator=5)),
        (TypeError, lambda: random.manual_seed(0.5)),
        (ValueError, lambda: random.set_state({"seed": 1})),
    ],
)
def test_errors(error: type[Exception], make: Callable[[], Any]) -> None:
    with pytest.raises(error, match=r"^\["):
        make()

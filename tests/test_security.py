"""What nobody may see or run: memory of other tensors, code in pickles, settings of no meaning."""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from helpers import ALL_DTYPES, device_has

SIZES = [1, 3, 5, 63, 64, 1000, 4097, 100_003, 1_000_000]


def fill_the_pool(device: wt.Device, size: int) -> None:
    """Buffers of that many words with a pattern, back in the pool."""
    used = [wt.full(size + i % 2, 0x5EC2E7, dtype="uint32", device=device) for i in range(8)]
    copies = [u + i for i, u in enumerate(used)]
    wt.eval(*used, *copies)
    device.synchronize()


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_new_tensors_show_nothing_of_old_ones(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    device = wt.Device()
    reused = 0
    for size in SIZES:
        fill_the_pool(device, size)
        hits = wt.stats(device)["buffer_hits"]
        made = [wt.empty(size, dtype=dtype, device=device) for _ in range(4)]
        reused += wt.stats(device)["buffer_hits"] - hits
        made += [wt.empty_like(made[0]), wt.pad(made[0], 1, "empty")]
        for t in made:
            assert not t.numpy().view(np.uint8).any()
    assert reused > len(SIZES)


def test_results_are_written_whole() -> None:
    """Also those made of pieces, and the words that small elements share."""
    device = wt.Device()
    for size in SIZES[:7]:
        fill_the_pool(device, size)
        for dtype in ("bool", "uint8", "float16", "float32"):
            x = wt.ones(size, dtype=dtype, device=device)
            for t in (wt.concat([x, x]), wt.pad(x, 3), wt.roll(x, 1), wt.repeat(x, 3), x[::-1]):
                assert set(np.unique(t.numpy()).tolist()) <= {0, 1}
            assert wt.sort(x).numpy().all()


class Known(pickle.Unpickler):
    """Loads what these packages define and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        ours = module.partition(".")[0] in {"wgtensor", "numpy"}
        allowed = ours or (module, name) in {
            ("collections", "OrderedDict"),
            ("_codecs", "encode"),
        }
        if not allowed or name in {"eval", "exec", "load", "save"}:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


@pytest.mark.parametrize("protocol", [2, 5])
def test_pickles_name_arrays_and_our_classes_only(protocol: int) -> None:
    layer = wt.nn.Linear(3, 2)
    optimizer = wt.optim.Adam(layer.parameters())
    layer(wt.ones((4, 3))).sum().backward()
    optimizer.step()
    for what in (
        *(wt.ones((2, 3)), layer.weight, wt.float32, layer.state_dict()),
        *(optimizer.state_dict(), wt.random.Generator(3)),
    ):
        data = pickle.dumps(what, protocol=protocol)
        Known(io.BytesIO(data)).load()
        for op, argument, _ in pickletools.genops(data):
            if op.name == "GLOBAL":
                module = str(argument).split(" ")[0]
                assert module.split(".")[0] in {"wgtensor", "numpy", "collections", "_codecs"}


def test_loading_a_state_runs_nothing() -> None:
    class Code:
        def __reduce__(self) -> Any:
            raise AssertionError("was called")

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("no array")

    layer = wt.nn.Linear(3, 2)
    before = layer.weight.numpy()
    with pytest.raises((TypeError, ValueError)):
        layer.load_state_dict({"weight": Code(), "bias": np.zeros(2, "float32")})
    np.testing.assert_array_equal(layer.weight.numpy(), before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("DEBUG", "maybe"), ("LIMITS", "none"), ("KERNELS", "fast"), ("LOG", "loud")),
        *(
            ("MAX_BINDING", "1k"),
            ("MAX_FUSION", "-3"),
            ("WAIT_LIMIT", "soon"),
            ("MAX_PLANS", "1e3"),
        ),
        *(("SUBMIT_DISPATCHES", "9" * 30), ("POOL_LIMIT_MB", "0x10"), ("MAX_PLANS", "1e3")),
    ],
)
def test_environment_variables_are_checked(name: str, value: str) -> None:
    script = """
    import sys
    try:
        import wgtensor as wt
        wt.ones(1).numpy()
    except ValueError as error:
        print(error)
    """
    text = run_script(script, env={f"WGTENSOR_{name}": value})
    assert text.startswith(f"WGTENSOR_{name}={value!r}: expected ")

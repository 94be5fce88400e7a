"""Tensors in files: what is written comes back, other programs read it, and nothing is run."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from helpers import ALL_DTYPES, device_has, tensor
from wgtensor import nn, optim

SUFFIXES = (".npz", ".safetensors")


def needs(suffix: str) -> None:
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_dtype_comes_back(tmp_path: Path, suffix: str) -> None:
    needs(suffix)
    rng = np.random.default_rng(1)
    given = {}
    for name in filter(device_has, ALL_DTYPES):
        if suffix == ".npz" and name == "bfloat16":
            continue
        for shape in ((3, 5), (), (0, 2)):
            t = wt.asarray(rng.integers(0, 2, shape), dtype=name)
            given[f"{name}/{len(shape)}.{t.size} file"] = t
    given["file"] = wt.ones((4, 6))[::2, ::-2].T  # a view, and a word of np.savez
    wt.save(tmp_path / f"x{suffix}", given)
    found = wt.load(tmp_path / f"x{suffix}")
    assert set(found) == set(given)
    for name, t in given.items():
        assert (found[name].dtype, found[name].shape) == (t.dtype, t.shape)
        np.testing.assert_array_equal(found[name].numpy(), t.numpy())


def test_other_programs_read_it(tmp_path: Path) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    wt.save(tmp_path / "x.npy", tensor(x))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    np.testing.assert_array_equal(wt.load(str(tmp_path / "x.npy")).numpy(), x)
    wt.save(tmp_path / "x.npz", {"a": x, "b": tensor(x) + 1})
    with np.load(tmp_path / "x.npz") as z:
        np.testing.assert_array_equal(z["b"], x + 1)
    np.savez_compressed(tmp_path / "y.npz", a=x)
    np.testing.assert_array_equal(wt.load(tmp_path / "y.npz")["a"].numpy(), x)
    library = pytest.importorskip("safetensors.numpy")
    wt.save(tmp_path / "x.safetensors", {"a": x})
    np.testing.assert_array_equal(library.load_file(tmp_path / "x.safetensors")["a"], x)
    library.save_file({"c": x}, tmp_path / "y.safetensors", {"format": "pt"})
    np.testing.assert_array_equal(wt.load(tmp_path / "y.safetensors")["c"].numpy(), x)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_model_goes_on(tmp_path: Path, suffix: str) -> None:
    needs(suffix)

    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.LSTM(4, 2))

    first, second = make(), make()
    first[1](wt.ones((5, 4)) * 3)  # statistics move
    wt.save(tmp_path / f"model{suffix}", first.state_dict())
    second.load_state_dict(wt.load(tmp_path / f"model{suffix}"))
    for name, value in first.state_dict().items():
        np.testing.assert_array_equal(second.state_dict()[name].numpy(), value.numpy())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_training_goes_on(tmp_path: Path, suffix: str) -> None:
    needs(suffix)
    path = tmp_path / f"state{suffix}"
    x = wt.asarray(np.random.default_rng(2).standard_normal((8, 3)).astype("float32"))

    def make() -> tuple[nn.Module, optim.Optimizer, Any]:
        net = nn.Linear(3, 2)
        optimizer = optim.AdamW(net.parameters(), lr=0.1, betas=(0.8, 0.9))
        return net, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def step(net: nn.Module, optimizer: optim.Optimizer, schedule: Any) -> float:
        loss = (net(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        return float(loss.item())

    one, two = make(), make()
    for _ in range(3):
        step(*one)
    names = ("model", "optimizer", "schedule")
    wt.save(path, {n: part.state_dict() for n, part in zip(names, one, strict=True)})
    found = wt.load(path)
    for name, part in zip(names, two, strict=True):
        part.load_state_dict(found[name])
    assert [step(*one) for _ in range(4)] == [step(*two) for _ in range(4)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nested_values_come_back(tmp_path: Path, suffix: str) -> None:
    needs(suffix)
    path = tmp_path / f"x{suffix}"
    tree = {
        "a": [1, 2.5, (True, None), "text", float("inf"), -0.0],
        3: {"a.b": wt.ones(2), "a": {"b": wt.zeros(2)}},
        "empty": {},
        "np": np.float32(0.5),
    }
    wt.save(path, tree)
    found = wt.load(path)
    assert found["a"] == tree["a"]
    assert type(found["a"][2]) is tuple
    assert np.signbit(found["a"][5])
    assert found[3]["a.b"].tolist() == [1, 1]
    assert found[3]["a"]["b"].tolist() == [0, 0]
    assert (found["empty"], found["np"]) == ({}, 0.5)
    assert list(found) == list(tree)
    for bad, words in (({"a": object()}, "'a' is a object"), ({"a": {2.5: 1}}, "not 2.5 at 'a'")):
        with pytest.raises(TypeError, match=rf"^\[save\] .*{words}"):
            wt.save(path, bad)


def test_a_damaged_structure_is_told(tmp_path: Path) -> None:
    name = "wgtensor.structure"
    for text in ("", "{}", '{"tensor": "x"}', '{"dict": 1}', '{"code": []}', "[" * 10**5):
        np.savez(tmp_path / "x.npz", **{name: np.array(text)})
        with pytest.raises(ValueError, match=r"^\[load\] .*x\.npz: its structure is damaged"):
            wt.load(tmp_path / "x.npz")


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    wt.save(path, {"a": wt.ones(3)})
    with pytest.raises(TypeError):
        wt.save(path, {"a": wt.ones(3), "b": object()})
    bad = np.array([object()])
    with pytest.raises(wt.DTypeError, match=r"^\[save\] NumPy's files hold no object"):
        wt.save(path, {"a": bad})
    assert wt.load(path)["a"].tolist() == [1, 1, 1]
    if sys.platform != "win32":
        path.chmod(0o640)
        wt.save(path, {"a": wt.zeros(3)})
        assert path.stat().st_mode & 0o777 == 0o640
    assert [f.name for f in tmp_path.iterdir()] == ["x.npz"]


def test_what_holds_itself_is_told(tmp_path: Path) -> None:
    loop: dict[str, Any] = {"a": wt.ones(1)}
    loop["loop"] = loop
    ring: list[Any] = [1.0]
    ring.append(ring)
    for bad in (loop, {"a": ring}):
        with pytest.raises(ValueError, match=r"^\[save\] dicts and lists hold themselves"):
            wt.save(tmp_path / "x.npz", bad)
    with pytest.raises(wt.ShapeError, match=r"^\[save\] a sequence holds itself"):
        wt.save(tmp_path / "x.npy", ring)
    shared = [1, 2]
    wt.save(tmp_path / "x.npz", {"a": shared, "b": shared})
    assert wt.load(tmp_path / "x.npz") == {"a": shared, "b": shared}


class Harm:
    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('code was run')",))


def test_nothing_is_run(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([Harm()]), allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=np.array([Harm()]))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match=rf"^\[load\] .*{name} is no"):
            wt.load(tmp_path / name)
        with pytest.raises(ValueError, match=r"holds objects of Python, which are never run$"):
            wt.load(tmp_path / name)
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(ValueError, match=r"^\[load\]"):
        wt.load(tmp_path / "p.npz")


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps([1]), b"PK\x03\x04"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_no_advice_that_cannot_be_taken(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^\[load\] .*x{suffix} is no {suffix} file") as told:
        wt.load(path)
    assert "allow_pickle" not in str(told.value)


def safetensors_file(path: Path, dtype: str, nbytes: int) -> None:
    """4 elements of a dtype as "w"."""
    entry = {"dtype": dtype, "shape": [4], "data_offsets": [0, nbytes]}
    header = json.dumps({"w": entry}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(nbytes))


@pytest.mark.parametrize(("dtype", "nbytes"), [("F8_E4M3", 4), ("F8_E5M2", 4), ("C64", 32)])
def test_dtypes_of_others_are_named(tmp_path: Path, dtype: str, nbytes: int) -> None:
    pytest.importorskip("safetensors")
    safetensors_file(tmp_path / "x.safetensors", dtype, nbytes)
    said = dtype if dtype != "C64" else "complex64"
    with pytest.raises(wt.DTypeError, match=rf"^\[load\] 'w' of .*x\.safetensors.* {said}"):
        wt.load(tmp_path / "x.safetensors")


def test_bfloat16_is_read_by_a_new_process(tmp_path: Path) -> None:
    """NumPy knows it only where something has imported ml_dtypes."""
    pytest.importorskip("safetensors")
    safetensors_file(tmp_path / "x.safetensors", "BF16", 8)
    out = run_script(f"import wgtensor as wt; print(wt.load({str(tmp_path / 'x.safetensors')!r}))")
    assert "tensor([0, 0, 0, 0], dtype=bfloat16" in out


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^\[save\] the name of a file ends with .*not x\.pt$"):
        wt.save("x.pt", {})
    with pytest.raises(TypeError, match=r"^\[load\] takes the path of a file, not int$"):
        wt.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^\[save\] a \.npz file holds a dict .*not Tensor$"):
        wt.save(tmp_path / "x.npz", wt.ones(3))
    with pytest.raises(TypeError, match=r"^\[save\] an \.npy file holds one tensor"):
        wt.save(tmp_path / "x.npy", {})
    with pytest.raises(FileNotFoundError):
        wt.load(tmp_path / "none.npz")
    with pytest.raises(wt.DTypeError, match=r"hold no bfloat16, as w has"):
        wt.save(tmp_path / "x.npz", {"w": wt.ones(2, dtype="bfloat16")})
    pytest.importorskip("safetensors")
    with pytest.raises(FileNotFoundError):
        wt.load(tmp_path / "none.safetensors")
    (tmp_path / "x.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match=r"^\[load\] .*x\.safetensors cannot be read"):
        wt.load(tmp_path / "x.safetensors")


def test_the_package_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for call in (lambda f: wt.save(f, {"a": wt.ones(1)}), wt.load):
        with pytest.raises(wt.UnsupportedError, match=r"pip install 'wgtensor\[io\]'"):
            call(tmp_path / "x.safetensors")


def test_names_that_files_keep_for_themselves(tmp_path: Path) -> None:
    both = {"a.npy": wt.ones(1), "a": wt.ones(2) * 3}
    wt.save(tmp_path / "x.npz", both)
    back = wt.load(tmp_path / "x.npz")
    assert {name: t.tolist() for name, t in back.items()} == {"a.npy": [1], "a": [3, 3]}
    for name in ("wgtensor.structure", "__metadata__", "n" * 70_000):
        with pytest.raises(ValueError, match=r"^\[save\] no tensor in a .npz file can be called"):
            wt.save(tmp_path / "x.npz", {name: wt.ones(1)})
    assert set(wt.load(tmp_path / "x.npz")) == set(both)

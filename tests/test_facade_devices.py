"""Names and selectors of devices, the default one, and tensors that stay where they are."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import fresh

# ---- devices -----------------------------------------------------------------------------------


def test_devices_have_names_and_selectors() -> None:
    devices = wt.devices()
    assert isinstance(devices, tuple)
    assert wt.is_available()
    for i, d in enumerate(devices):
        assert d == f"gpu:{i}"
        assert str(d) == f"gpu:{i}"
        assert d != f"gpu:{i + 1}"
        assert hash(d) == hash(wt.get_device(i))
        assert wt.get_device(f"gpu:{i}") == d
        assert d.name
        assert d.backend in {"vulkan", "metal", "d3d12", "gl"}
        assert d.limits["max_binding"] >= 1 << 27
        assert d.memory is None or d.memory > 0
        assert repr(d).startswith(f"Device('gpu:{i}', name=")
    first = devices[0]
    for selector in (0, "0", "gpu:0", first.backend, f"{first.backend}:0", first.name[:6].upper()):
        assert wt.get_device(selector).index == 0


def test_a_selector_names_the_shared_device_and_a_constructor_makes_another() -> None:
    shared = wt.zeros(1, device="gpu:0").device
    assert wt.get_device(shared.name) == shared
    before = shared.stats()["bytes_uploaded"]
    wt.asarray(np.ones(100, np.float32), device=shared.name)
    assert shared.stats()["bytes_uploaded"] == before + 400
    own = wt.Device("gpu:0")
    assert own != shared
    assert wt.get_device(str(own)) == own


def test_the_default_device_can_be_set() -> None:
    before = wt.default_device()
    own = wt.Device(before.index)
    try:
        wt.set_default_device(own)
        assert wt.ones(3).device == own
        assert wt.asarray([1]).device == own
        wt.set_default_device(None)
        assert wt.ones(3).device == before
    finally:
        wt.set_default_device(None)


def test_tensors_stay_on_their_device() -> None:
    own = wt.Device(wt.default_device().index)
    t = wt.ones((2, 2), device=own)
    for r in (
        t + 1,
        t.T,
        t.sum(),
        t @ t,
        wt.zeros_like(t),
        t + np.ones(2, np.float32),
        t[0],
        2 / t,
    ):
        assert r.device == own
    assert wt.ones_like(t, device=0).device == "gpu:0"
    with pytest.raises(wt.DeviceMismatchError, match=rf"\[add\].*{own}.*gpu:0"):
        t + wt.ones((2, 2), device="gpu:0")
    with pytest.raises(wt.DeviceMismatchError, match=rf"\[exp\].*gpu:0.*{own}"):
        wt.exp(t, out=wt.ones((2, 2), device="gpu:0"))
    moved = t.to("gpu:0")
    assert moved.device == "gpu:0"
    assert (moved + wt.ones((2, 2), device=0)).tolist() == [[2, 2], [2, 2]]
    assert t.to(own) is t
    assert t.to_device(own) is t
    assert t.to(wt.int32).dtype == wt.int32
    assert wt.asarray(t, device=own) is t
    assert wt.asarray(t, device=0, dtype="int32").device == "gpu:0"
    with pytest.raises(ValueError, match="copy=False"):
        wt.asarray(t, device=0, copy=False)
    assert wt.asarray(t, copy=True) is not t


@pytest.mark.parametrize("call", [wt.Device, wt.get_device, lambda d: wt.ones(3, device=d)])
def test_bad_selectors(call: Any) -> None:
    for selector in ("no such adapter", "gpu:99", 99, "vulkan:99"):
        with pytest.raises(wt.DeviceNotFoundError, match=f"'{selector}'.*0: "):
            call(selector)
    with pytest.raises(TypeError, match=r"\[device\].*1\.5"):
        call(1.5)


def test_a_bad_environment_variable_is_named() -> None:
    code = "import wgtensor as wt\ntry: wt.ones(3)\nexcept wt.DeviceNotFoundError as e: print(e)"
    done = fresh(code, WGTENSOR_DEVICE="voodoo")
    assert "WGTENSOR_DEVICE" in done.stdout, done.stderr
    assert "'voodoo'" in done.stdout
    code = "import wgtensor as wt\ntry: wt.ones(3)\nexcept ValueError as e: print(e)"
    done = fresh(code, WGTENSOR_MAX_FUSION="many")
    assert "WGTENSOR_MAX_FUSION='many'" in done.stdout, done.stderr


def test_no_adapter_is_a_typed_error() -> None:
    if sys.platform != "linux":
        pytest.skip("hides Linux's drivers")
    code = """
import wgtensor as wt
assert not wt.is_available() and wt.devices() == ()
for call in (lambda: wt.ones(3), lambda: wt.asarray([1]), wt.Device, lambda: wt.add(1, 2)):
    try:
        call()
    except wt.DeviceNotFoundError as e:
        assert "no GPU adapter" in str(e), e
    else:
        raise SystemExit("no error")
"""
    done = fresh(
        code,
        VK_DRIVER_FILES="/missing.json",
        VK_ICD_FILENAMES="/missing.json",
        __EGL_VENDOR_LIBRARY_FILENAMES="/missing.json",
    )
    assert done.returncode == 0, done.stderr

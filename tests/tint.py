"""Compile WGSL with Tint, the compiler of Chromium's WebGPU: `tint.py FOLDER [EVERY]`.

Every .wgsl file in the folder is parsed and validated; each EVERY-th (50) also becomes a pipeline.
Takes PyPI's wgpudawn and SwiftShader, of Debian's chromium-common or named by VK_DRIVER_FILES.
Exit status: 0 all compile, 1 some do not, 77 a requirement is missing.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

DRIVER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")


def missing() -> str:
    """What is not there, or nothing."""
    if importlib.util.find_spec("wgpudawn") is None:
        return "PyPI's wgpudawn is not installed"
    if "VK_DRIVER_FILES" not in os.environ and not DRIVER.exists():
        return "no SwiftShader: apt install chromium-common"
    return ""


def main(folder: str, every: int = 50) -> int:
    if why := missing():
        print(why)
        return 77
    if DRIVER.exists():  # Dawn refuses llvmpipe
        os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(DRIVER)
    import wgpudawn
    import wgpudawn.backends.dawn

    adapter = wgpudawn.gpu.request_adapter_sync()
    device = adapter.request_device_sync()
    began, pipelines, bad = time.monotonic(), 0, 0
    files = sorted(Path(folder).glob("*.wgsl"))
    for i, file in enumerate(files):
        try:
            module = device.create_shader_module(label=file.stem, code=file.read_text())
            if i % every == 0:
                pipelines += 1
                compute = {"module": module, "entry_point": "main"}
                device.create_compute_pipeline(layout="auto", compute=compute)
        except wgpudawn.GPUError as error:
            bad += 1
            if bad <= 10:
                print(f"{file}: {error}")
    print(
        f"Tint: {len(files)} shaders, {bad} refused, {pipelines} made pipelines, "
        f"{time.monotonic() - began:.1f} s on {adapter.info['device']}"
    )
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))

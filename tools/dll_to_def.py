"""Write a module definition file from a DLL's export table: `dll_to_def.py IN.dll OUT.def`.

The wgpu package ships the DLL without an import library; this needs no Windows tool to read it.
"""

import struct
import sys
from pathlib import Path


def exported_names(image: bytes) -> list[str]:
    """The names that a PE image exports."""
    if image[:2] != b"MZ":
        raise ValueError("not a DLL: no MZ header")
    pe = struct.unpack_from("<I", image, 0x3C)[0]
    if image[pe : pe + 4] != b"PE\0\0":
        raise ValueError("not a DLL: no PE header")
    sections, optional_size = struct.unpack_from("<2xH12xH", image, pe + 4)
    optional = pe + 24
    is_64_bit = struct.unpack_from("<H", image, optional)[0] == 0x20B
    export_rva = struct.unpack_from("<I", image, optional + (112 if is_64_bit else 96))[0]
    table = [
        struct.unpack_from("<8x4I", image, optional + optional_size + 40 * i)
        for i in range(sections)
    ]

    def offset(rva: int) -> int:
        for virtual_size, address, raw_size, raw in table:
            if address <= rva < address + max(virtual_size, raw_size):
                return raw + rva - address
        raise ValueError(f"address {rva:#x} lies in no section")

    def text(rva: int) -> str:
        start = offset(rva)
        return image[start : image.index(b"\0", start)].decode("ascii")

    if export_rva == 0:
        return []
    count, _, names_rva = struct.unpack_from("<3I", image, offset(export_rva) + 24)
    rvas = struct.unpack_from(f"<{count}I", image, offset(names_rva))
    return [text(rva) for rva in rvas]


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    lines = [f"LIBRARY {source.name}", "EXPORTS", *exported_names(source.read_bytes())]
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

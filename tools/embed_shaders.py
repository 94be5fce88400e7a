"""Write a C++ file that holds every shader of a folder: embed_shaders.py OUT.cpp SHADERS_DIR."""

import pathlib
import sys

# MSVC refuses a single literal above 16,380 bytes, and 65,535 bytes after concatenation, so a long
# text is an array of characters there; below that it is lines of one literal.
PIECE_LIMIT = 60_000

HEADER = """\
// Written by tools/embed_shaders.py. Do not edit.
#include "kernels/embedded.h"

namespace wgt::kernels {
namespace {
"""

FOOTER = """\
}  // namespace

const EmbeddedShader* embedded_shader(std::string_view name) {
  for (const EmbeddedShader& s : kShaders)
    if (s.name && name == s.name) return &s;
  return nullptr;
}

const EmbeddedShader* embedded_shaders() {
  return kShaders;
}

}  // namespace wgt::kernels
"""


def quote(line: bytes) -> str:
    """A C++ literal of the bytes; octal escapes end by themselves, hexadecimal ones do not."""
    out = []
    for b in line:
        c = chr(b)
        if c in '"\\?':
            out.append("\\" + c)
        elif c == "\n":
            out.append("\\n")
        elif 32 <= b < 127:
            out.append(c)
        else:
            out.append(f"\\{b:03o}")
    return '"' + "".join(out) + '"'


def definition(symbol: str, text: bytes) -> str:
    """One array of characters with a final zero."""
    if len(text) < PIECE_LIMIT:
        lines = text.splitlines(keepends=True) or [b""]
        return f"const char {symbol}[] =\n" + "\n".join("    " + quote(s) for s in lines) + ";\n"
    values = [str(b if b < 128 else b - 256) for b in text + b"\0"]
    rows = [",".join(values[i : i + 1000]) for i in range(0, len(values), 1000)]
    return f"const char {symbol}[] = {{\n" + ",\n".join(rows) + "};\n"


def main() -> None:
    out, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = sorted(root.rglob("*.wgsl"), key=lambda f: f.relative_to(root).as_posix())
    parts, rows = [HEADER], []
    for i, file in enumerate(files):
        # One form on every checkout: line numbers and pipeline keys must not depend on it.
        text = file.read_bytes().replace(b"\r\n", b"\n")
        parts.append(definition(f"kText{i}", text))
        rows.append(f'    {{"{file.relative_to(root).as_posix()}", kText{i}}},\n')
    parts.append(
        "const EmbeddedShader kShaders[] = {\n" + "".join(rows) + "    {nullptr, nullptr}};\n"
    )
    content = "\n".join([*parts, FOOTER])
    # An unchanged file keeps its time stamp, so that nothing is compiled again.
    if not out.exists() or out.read_text(encoding="ascii") != content:
        out.write_text(content, encoding="ascii")


if __name__ == "__main__":
    main()

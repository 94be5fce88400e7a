"""Write the pages that come from the library itself: operations.md, dtype_table.md, settings.md.

python docs/build.py            writes them
python docs/build.py --check    exit 1 where one is not what it would write
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import wgtensor as wt
from wgtensor import _core, _generated
from wgtensor._dtypes import DTYPES

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/build.py: do not edit. -->\n"

RESULTS = {
    "arith": "common dtype",
    "arith_float": "common dtype, float",
    "same": "operand's dtype",
    "unary_float": "float",
    "compare": "bool",
    "logical": "bool",
    "bits": "common dtype",
    "predicate": "bool",
    "select": "common dtype",
}
CASTS = {"arith_float", "unary_float", "logical", "predicate"}  # rules that take every dtype
KINDS = {"f": "float", "i": "signed", "u": "unsigned", "b": "bool"}
OPERATORS = """add + sub - mul * truediv / floordiv // mod % pow ** neg -x pos +x abs abs(x)
invert ~x and & or | xor ^ lshift << rshift >> eq == ne != lt < le <= gt > ge >="""
SIGNS = dict(zip(OPERATORS.split()[::2], OPERATORS.split()[1::2], strict=True))
GROUPS = {
    "Creation": (
        *(
            "asarray",
            "from_dlpack",
            "zeros",
            "ones",
            "full",
            "empty",
            "zeros_like",
            "ones_like",
            "full_like",
        ),
        *("empty_like", "arange", "linspace", "logspace", "geomspace", "eye", "identity"),
        *("tri", "meshgrid", "array", "tensor", "copy", "indices", "fromfunction", "vander"),
        *("bartlett", "blackman", "hamming", "hanning", "kaiser"),
    ),
    "Shape, all views where strides allow": (
        *("reshape", "permute_dims", "matrix_transpose", "broadcast_to", "broadcast_shapes"),
        *("expand_dims", "squeeze", "ravel", "broadcast_arrays", "atleast_1d", "atleast_2d"),
        *("atleast_3d", "moveaxis", "swapaxes", "flip", "fliplr", "flipud", "rot90", "diagonal"),
        *("split", "array_split", "unstack", "hsplit", "vsplit", "dsplit", "chunk", "transpose"),
        *("rollaxis", "trim_zeros", "ndim", "shape", "size"),
    ),
    "Joining and repeating: each piece is written straight to its place": (
        *("concat", "concatenate", "stack", "hstack", "vstack", "dstack", "pad", "roll", "tile"),
        *("repeat", "tril", "triu", "diag", "diagflat", "cat", "column_stack", "block", "append"),
        *("insert", "delete", "resize"),
    ),
    "Elementwise, of several rows": (
        "clip",
        "round",
        "divmod",
        "isclose",
        "allclose",
        "array_equal",
        "array_equiv",
        "nan_to_num",
        "around",
        "piecewise",
        *("fabs", "fix", "float_power", "modf"),
        "polyval",
    ),
    "Indexing": (
        *("take", "take_along_axis", "put", "put_along_axis", "scatter", "scatter_add"),
        *("index_add", "segment_sum", "segment_mean", "segment_max", "segment_min"),
        *(
            "segment_prod",
            "bincount",
            "histogram",
            "histogram_bin_edges",
            "histogram2d",
            "histogramdd",
            "choose",
            "compress",
            "extract",
            "place",
        ),
        *("select", "ix_", "unravel_index", "ravel_multi_index", "diag_indices", "tril_indices"),
        *("triu_indices", "diag_indices_from", "tril_indices_from", "triu_indices_from"),
        *("fill_diagonal", "copyto", "putmask", "digitize"),
    ),
    "Sampled functions": (
        *("diff", "ediff1d", "gradient", "trapezoid", "interp", "unwrap", "convolve", "correlate"),
    ),
    "Sorting": (
        *("sort", "argsort", "lexsort", "topk", "partition", "argpartition", "median"),
        *("quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"),
    ),
    "Searching": ("where", "nonzero", "flatnonzero", "argwhere", "searchsorted"),
    "Sets": (
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "isin"),
        *("intersect1d", "union1d", "setdiff1d", "setxor1d"),
    ),
    "Reductions": (
        *("sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin"),
        *("any", "all", "count_nonzero", "logsumexp", "amax", "amin", "ptp"),
    ),
    "Reductions of what is not NaN": (
        *("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanargmax"),
        "nanargmin",
    ),
    "Statistics": ("average", "cov", "corrcoef"),
    "Scans": (
        *("cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min", "cumsum"),
        *("cumprod", "nancumsum", "nancumprod"),
    ),
    "Linear algebra and networks": (
        *("matmul", "vecdot", "dot", "inner", "outer", "tensordot", "einsum", "kron", "cross"),
        *("trace", "vdot", "matvec", "vecmat", "softmax", "log_softmax"),
    ),
    "Files": ("save", "load"),
    "Gradients": ("grad", "value_and_grad", "vjp", "jvp", "checkpoint", "is_grad_enabled"),
    "dtypes": (
        *("astype", "bitcast", "result_type", "can_cast", "isdtype", "finfo", "iinfo"),
        *("promote_types", "get_default_dtype", "set_default_dtype"),
    ),
    "Devices and execution": (
        *("devices", "default_device", "set_default_device", "get_device", "is_available"),
        *("eval", "synchronize", "explain", "stats", "autotune_info", "jit", "persist"),
    ),
    "Memory": (
        *("memory_stats", "set_memory_limit", "reset_peak_memory", "empty_cache"),
        *("memory_snapshot", "record_lines"),
    ),
}

MODULES = {
    "linalg": wt.linalg,
    "nn.functional": wt.nn.functional,
    "random": wt.random,
    "autograd": wt.autograd,
}


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in r) + " |\n" for r in lines
    )


def first_line(function: object) -> str:
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def elementwise() -> str:
    rows = []
    for name, _, parameters, rule, kinds, reference, _, dunder, doc in _generated.TABLE:
        taken = "any" if rule in CASTS else ", ".join(KINDS[k] for k in kinds)
        sign = f"`{SIGNS[dunder]}`" if dunder else ""
        rows.append((f"`{name}({parameters})`", sign, taken, RESULTS[rule], f"`{reference}`", doc))
    return table(("function", "operator", "operands", "result", "reference", ""), rows)


def aliases() -> str:
    rows = [(f"`{name}`", f"`{row}`") for name, row in _generated.ALIASES.items()]
    return table(("other name", "of"), rows)


def parameters(function: object) -> str:
    """Names and defaults of a signature, without types."""
    out = []
    star = False
    for p in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty else f"={p.default!r}"
        out.append(("*" if p.kind is p.VAR_POSITIONAL else "") + p.name + default)
    return ", ".join(out)


def functions() -> str:
    listed = {name for names in GROUPS.values() for name in names}
    public = {n for n in wt.__all__ if inspect.isfunction(getattr(wt, n))}
    if missing := public - listed - set(_generated.__all__):
        raise SystemExit(f"docs/build.py: name a group for {sorted(missing)}")
    text = ""
    for title, names in GROUPS.items():
        rows = [
            (f"`{name}({parameters(getattr(wt, name))})`", first_line(getattr(wt, name)))
            for name in names
        ]
        text += f"\n## {title}\n\n" + table(("function", ""), rows)
    for title, module in MODULES.items():
        rows = [
            (f"`{title.rpartition('.')[2]}.{name}({parameters(function)})`", first_line(function))
            for name in module.__all__
            if inspect.isfunction(function := getattr(module, name))
            and function is not getattr(wt, name, None)
        ]
        text += f"\n## wgtensor.{title}\n\n" + table(("function", ""), rows)
    return text


def operations() -> str:
    return (
        f"{NOTE}\n# Operations\n\n"
        "Every elementwise function takes tensors, numbers, and whatever `asarray` takes; shapes "
        "broadcast, and `out=` receives the result. All but `where` are methods of `Tensor` too. "
        "Functions with the meaning of a NumPy ufunc answer to it: `np.exp(t)` is `wt.exp(t)`. "
        "*Common dtype*: what the operands promote to, where Python and NumPy scalars only lift "
        "the kind; *float*: integers and bools become the default float. References are "
        "in NumPy's words, of operands x, y and z.\n\n"
        f"## Elementwise\n\n{elementwise()}\n{aliases()}{functions()}"
    )


def settings() -> str:
    rows = [
        (
            f"`{name}`",
            kind,
            f"`{default}`" if default else "empty",
            values or "any text",
            f"`{env}`",
            text,
        )
        for name, kind, default, env, values, text in _core.settings()
    ]
    return (
        f"{NOTE}\n# Settings\n\n"
        "Each is an attribute of `wgtensor.config` and an environment variable, read once, at "
        "the first use. Those that shape a device (`limits`, `debug`, `max_binding`, `kernels`, "
        "`autotune`, `max_pipelines`, `memory_limit_mb`) hold for devices made later. Other values "
        "raise `ValueError`; a variable `WGTENSOR_*` that is none of these gives a warning when "
        "the first device is made.\n\n"
        + table(("`config.`", "type", "default", "accepts", "environment", ""), rows)
    )


#: groups of functions that are asked which dtypes they take, and how those are called that take
#: more than one tensor, or other things
ASKED = ("Reductions", "Scans", "Linear algebra and networks")
CALLS = {
    "einsum": lambda t: wt.einsum("ij,jk->ik", t, t),
    **{
        name: lambda t, name=name: getattr(wt, name)(t, t)
        for name in (
            *("matmul", "vecdot", "dot", "inner", "outer", "tensordot", "kron", "cross", "vdot"),
            *("matvec", "vecmat"),
        )
    },
    **{name: lambda t, name=name: getattr(wt, name)(t, axis=0) for name in GROUPS["Scans"]},
}


def is_taken(name: str, dtype: object) -> bool:
    """Whether a function that is no row of the table takes tensors of the dtype."""
    try:
        CALLS.get(name, getattr(wt, name))(wt.zeros((3, 3), dtype=dtype))
    except wt.DTypeError:
        return False
    return True


def dtype_table() -> str:
    """On a device that has every dtype."""
    names = ("function", *(d.name for d in DTYPES))
    rows = [
        (f"`{row[0]}`", *("x" if _core.takes(i, d) else "" for d in DTYPES))
        for i, row in enumerate(_generated.TABLE)
    ]
    others = "".join(
        f"\n## {title}\n\n"
        + table(
            names,
            [(f"`{n}`", *("x" if is_taken(n, d) else "" for d in DTYPES)) for n in GROUPS[title]],
        )
        for title in ASKED
    )
    return (
        f"{NOTE}\n# Functions by dtype\n\n"
        "Of the operands; functions of floats take integers and bools as the default float. "
        "[dtypes](dtypes.md) says which dtypes a device has. Functions that make, move or join "
        f"elements take every dtype.\n\n## Elementwise\n\n{table(names, rows)}{others}"
    )


PAGES = {"dtype_table.md": dtype_table, "operations.md": operations, "settings.md": settings}


def outdated() -> list[str]:
    """The pages that are not what they should be."""
    stale = []
    for name, page in PAGES.items():
        path = HERE / name
        if page is dtype_table and not all(_core.has_dtype(d, None) for d in DTYPES):
            continue  # this device cannot tell
        if not path.exists() or path.read_text(encoding="utf-8") != page():
            stale.append(name)
    return stale


def main(arguments: list[str]) -> int:
    stale = outdated()
    if arguments == ["--check"]:
        if stale:
            print(f"run `python docs/build.py`: {', '.join(stale)} changed")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

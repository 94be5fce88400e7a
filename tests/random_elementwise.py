"""Lines of random programs with rows of the elementwise table, and what is made of such rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from random_rows import ROW, apply
from random_state import Line, State, Term
from random_values import Env, Unsuitable, Value, as_float, cast, is_float, meet, promoted
from references import ROWS, Row

#: operators' signs by the name that the table has for them
SIGNS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "truediv": "{} / {}",
    "floordiv": "{} // {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "xor": "{} ^ {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "neg": "-{}",
    "pos": "+{}",
    "invert": "~{}",
    "abs": "abs({})",
}
IN_PLACE = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
COMMON = ("add", "subtract", "multiply", "maximum", "minimum", "less", "where", "tanh", "abs")


def constant(x: float) -> Value:
    return Value(np.asarray(x, np.float64), weak=True)


def _above(x: float) -> tuple[str, Callable[[Value], Value]]:
    return f"(wt.abs({{}}) + {x})", lambda v: apply("add", apply("abs", v), constant(x))


def _scaled(name: str, by: float) -> tuple[str, Callable[[Value], Value]]:
    return f"(wt.{name}({{}}) * {by})", lambda v: apply("multiply", apply(name, v), constant(by))


def _bits(mask: int) -> tuple[str, Callable[[Value], Value]]:
    def masked(v: Value) -> Value:
        if v.data.dtype.kind not in "iu":
            raise Unsuitable
        return Value(v.data & v.data.dtype.type(mask))

    return f"({{}} & {mask})", masked


#: how to bring any operand into the domain of a row; values outside may be Unsuitable
DOMAINS: dict[str, list[tuple[str, Callable[[Value], Value]]]] = {
    "positive": [_above(0.25), _above(1.5)],
    "nonzero": [_above(0.5), _above(1.0)],
    "unit": [_scaled("tanh", 0.75), _scaled("sigmoid", 0.9), _scaled("sin", 0.5)],
    "exponent": [_scaled("tanh", 4.0)],
    "shift": [_bits(7), _bits(63)],
}


def _taken(row: Row, dtype: str) -> str:
    """The dtype that the row is asked in for operands of another one."""
    if row.takes(dtype):
        return dtype
    return "int32" if "i" in row.kinds else "float32"


def _suited(s: State, row: Row, term: Term, dtype: str) -> Term:
    """The operand in a dtype that the row takes, and perhaps in its domain."""
    wanted = _taken(row, dtype)
    if wanted != dtype:
        inner = term.of
        term = Term(f"{term.text}.astype({wanted!r})", lambda env: cast(inner(env), wanted))
    forms = DOMAINS.get(row.domain, [])
    if forms and s.chance(0.75) and (row.domain == "shift" or is_float(row.computes_in(wanted))):
        text, change = s.choose(forms)
        of = term.of
        return Term(text.format(term.text), lambda env: change(of(env)))
    return term


def _operands(s: State, row: Row) -> list[Term]:
    """Named tensors, and numbers among them; those with defaults may be left out."""
    names = [s.name()]
    needed = row.arity - len(row.defaults)
    first = 2 if row.rule == "select" else 1  # place of the first number
    terms: list[Term] = []
    for i in range(row.arity):
        if i >= needed and s.chance(0.5):
            break
        if i >= first and s.chance(0.3 if i < needed else 0.7):
            terms.append(s.number(_taken(row, s.value(names[-1]).dtype)))
            continue
        if i:
            names.append(s.partner(*names))
        term = s.term(names[-1])
        if row.rule != "select":
            term = _suited(s, row, term, s.value(names[-1]).dtype)
        terms.append(term)
    if row.arity == 2 and len(terms) == 2 and s.chance(0.15):
        terms.reverse()
    return terms


def row_of(s: State) -> Row:
    return ROW[s.choose(COMMON)] if s.chance(0.25) else s.choose(ROWS)


def row(s: State) -> Line:
    """A row of the table, called as a function or written as an operator."""
    r = row_of(s)
    terms = _operands(s, r)
    texts = [t.text for t in terms]
    defaults = (
        [constant(d) for d in r.defaults[len(terms) - r.arity :]] if len(terms) < r.arity else []
    )
    if r.dunder in SIGNS and s.chance(0.7):
        text = SIGNS[r.dunder].format(*texts)
    elif r.defaults and len(terms) == r.arity and s.chance(0.5):
        last = r.parameters.split(",")[-1].partition("=")[0].strip()
        text = f"wt.{r.name}({', '.join([*texts[:-1], f'{last}={texts[-1]}'])})"
    else:
        text = f"wt.{r.name}({', '.join(texts)})"
    line = s.define(text, lambda env: apply(r.name, *(t.of(env) for t in terms), *defaults))
    line.row = r.name
    return line


def _keeps(row: Row, dtype: str) -> bool:
    """Whether x1 may receive the result."""
    binary = row.arity == 2 and not row.defaults
    return binary and row.takes(dtype) and row.result(dtype) == dtype


def in_place(s: State) -> Line:
    """a += b, and results that are put into a tensor."""
    a = s.name()
    target = s.value(a)
    r = s.choose([r for r in ROWS if _keeps(r, target.dtype)])
    if s.chance(0.4) and target.dtype != "bool":
        r = ROW[s.choose(["add", "subtract", "multiply"])]
    other = s.number(target.dtype)
    if s.chance(0.6):
        b = s.partner(a)
        if np.broadcast_shapes(s.value(b).shape, target.shape) != target.shape:
            raise Unsuitable
        if promoted(s.value(b).dtype, target.dtype) != target.dtype:
            raise Unsuitable
        other = s.term(b)
    other = _suited(s, r, other, target.dtype)

    def refer(env: Env) -> None:
        result = apply(r.name, env[a].value, other.of(env))
        if result.dtype != env[a].value.dtype or result.shape != env[a].value.shape:
            raise Unsuitable
        env[a].value = result

    if r.dunder in IN_PLACE and s.chance(0.8):
        sign = SIGNS[r.dunder].format("", "").strip()
        return Line(f"{a} {sign}= {other.text}", refer, row=r.name)
    return Line(f"wt.{r.name}({a}, {other.text}, out={a})", refer, row=r.name)


def cast_line(s: State) -> Line:
    a, dtype = s.name(), s.choose(s.palette)
    return s.define(f"{a}.astype({dtype!r})", lambda env: cast(env[a].value, dtype))


def clip(s: State) -> Line:
    a = s.name()
    low, high = s.number(s.value(a).dtype), s.number(s.value(a).dtype)
    if s.chance(0.4):
        high = s.term(s.partner(a))
    form = s.choose(["both", "low", "high"])

    def make(env: Env) -> Value:
        r = env[a].value
        r = r if form == "high" else apply("maximum", r, low.of(env))
        return r if form == "low" else apply("minimum", r, high.of(env))

    arguments = {"both": f"{low.text}, {high.text}", "low": low.text, "high": f"max={high.text}"}
    return s.define(f"wt.clip({a}, {arguments[form]})", make)


def composed(s: State) -> Line:
    """Functions of several rows."""
    a = s.name()
    b = s.partner(a)
    kind = s.choose(["round", "isclose", "divmod", "nan_to_num", "copy"])
    if kind == "round":
        return s.define(f"wt.round({a}, 1)", lambda env: _tenths(env[a].value))
    if kind == "nan_to_num":
        return s.define(f"wt.nan_to_num({a})", lambda env: env[a].value)
    if kind == "copy":
        return s.define(f"{a}.copy()", lambda env: env[a].value)
    if kind == "divmod":
        i, name = s.choose([(0, "floor_divide"), (1, "remainder")])
        return s.define(
            f"wt.divmod({a}, {b})[{i}]", lambda env: apply(name, env[a].value, env[b].value)
        )
    return s.define(
        f"wt.isclose({a}, {b}, rtol=0.125, atol=0.5)",
        lambda env: _close(env[a].value, env[b].value),
    )


def _tenths(v: Value) -> Value:
    if v.dtype == "bool":
        raise Unsuitable
    if not is_float(v.dtype):
        return v
    whole = apply("rint", apply("multiply", v, constant(10.0)))
    return apply("divide", whole, constant(10.0))


def _close(a: Value, b: Value) -> Value:
    a, b = (as_float(v) for v in meet(a, b))
    apart = apply("abs", apply("subtract", a, b))
    allowed = apply("add", constant(0.5), apply("multiply", apply("abs", b), constant(0.125)))
    return apply("less_equal", apart, allowed)

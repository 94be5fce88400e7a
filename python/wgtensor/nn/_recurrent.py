"""Recurrent networks: RNN, LSTM, GRU, their cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wgtensor import _core
from wgtensor import _generated as g
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import concat, stack
from wgtensor.nn import init
from wgtensor.nn._dropout import dropout
from wgtensor.nn._linear import linear, new_parameter
from wgtensor.nn._module import Module

#: What a step makes of the gates' shares of input and state, and of the state: the next one, whose
#: first tensor is the output.
Step = Callable[[Tensor, Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def _rnn_tanh(x: Tensor, h: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (g.tanh(x + h),)


def _rnn_relu(x: Tensor, h: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (g.relu(x + h),)


def _lstm(x: Tensor, h: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Gates i, f, g, o: c' = f c + i g, h' = o tanh(c') (Hochreiter and Schmidhuber 1997)."""
    i, f, cell, o = _parts(x + h, 4)
    c = g.sigmoid(f) * state[1] + g.sigmoid(i) * g.tanh(cell)
    return g.sigmoid(o) * g.tanh(c), c


def _gru(x: Tensor, h: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Gates r, z, n: h' = (1 - z) n + z h with n = tanh(x_n + r h_n) (Cho et al. 2014)."""
    (xr, xz, xn), (hr, hz, hn) = _parts(x, 3), _parts(h, 3)
    z = g.sigmoid(xz + hz)
    n = g.tanh(xn + g.sigmoid(xr + hr) * hn)
    return (n + z * (state[0] - n),)


def _parts(t: Tensor, count: int) -> list[Tensor]:
    size = t.shape[-1] // count
    return [t[..., i * size : (i + 1) * size] for i in range(count)]


class _Weights(Module):
    """Matrices and biases of gates, by PyTorch's names."""

    gates: int
    states = 1
    hidden_size: int

    def _step(self) -> Step:
        raise NotImplementedError

    def _add_weights(
        self, inputs: int, hidden: int, suffix: str, bias: bool, at: Any, projected: int = 0
    ) -> None:
        rows = self.gates * hidden
        shapes: dict[str, tuple[int, ...] | None] = {
            "weight_ih": (rows, inputs),
            "weight_hh": (rows, projected or hidden),
            "bias_ih": (rows,) if bias else None,
            "bias_hh": (rows,) if bias else None,
        }
        if projected:
            shapes["weight_hr"] = (projected, hidden)
        for name, shape in shapes.items():
            if shape is None and suffix:
                continue  # as PyTorch's: layers have no names for what is not there
            p = None if shape is None else new_parameter(shape, at["dtype"], at["device"])
            self.register_parameter(name + suffix, p)

    def _reset(self, hidden: int) -> None:
        bound = 1 / math.sqrt(hidden) if hidden > 0 else 0.0
        for p in self.parameters(recurse=False):
            init.uniform_(p, -bound, bound)

    def _of(self, name: str, suffix: str) -> Any:
        return self._parameters.get(name + suffix)

    def _widths(self) -> tuple[int, ...]:
        """Elements of each state."""
        return (self.hidden_size,) * self.states

    def _shapes(self, *batch: int) -> list[tuple[int, ...]]:
        return [(*batch, n) for n in self._widths()]

    def _zeros(self, like: Tensor, *batch: int) -> tuple[Tensor, ...]:
        op = type(self).__name__
        return tuple(_core.full(s, 0, like.dtype, like.device, op) for s in self._shapes(*batch))

    def _given(self, op: str, state: Any, *batch: int) -> tuple[Tensor, ...]:
        """An initial state as a tuple. Raises ShapeError."""
        given = (state,) if self.states == 1 else tuple(state)
        made = tuple(as_tensor(op, s) for s in given)
        shapes = self._shapes(*batch)
        if [s.shape for s in made] != shapes:
            raise ShapeError(
                f"[{op}] takes {self.states} initial state(s) of shape "
                f"{', '.join(map(str, dict.fromkeys(shapes)))}, not "
                f"{', '.join(str(s.shape) for s in made)}"
            )
        return made


class _Recurrent(_Weights):
    proj_size = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if min(input_size, hidden_size, num_layers) < 1:
            raise ValueError(f"[{type(self).__name__}] sizes and layers are 1 or more")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = dropout, bidirectional
        ways = 2 if bidirectional else 1
        at = {"dtype": dtype, "device": device}
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else self._widths()[0] * ways
            for suffix in self._suffixes(layer):
                self._add_weights(inputs, hidden_size, suffix, bias, at, self.proj_size)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values anew, uniform within 1 / sqrt(hidden_size)."""
        self._reset(self.hidden_size)

    def _suffixes(self, layer: int) -> list[str]:
        ways = ("", "_reverse") if self.bidirectional else ("",)
        return [f"_l{layer}{way}" for way in ways]

    def forward(self, input: ArrayLike, hx: Any = None) -> tuple[Tensor, Any]:
        """Outputs of the last layer, (L, N, ways * hidden), and the last states of all layers,
        (layers * ways, N, hidden); an LSTM's h has proj_size elements if that is not 0.

        input: (L, N, input_size), (N, L, ..) with batch_first, or (L, ..). hx: the initial states,
        zeros by default; of LSTM (h, c).
        """
        op = type(self).__name__
        x = as_tensor(op, input)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"[{op}] takes (L, N, {self.input_size}) or (L, {self.input_size}), not {x.shape}"
            )
        batched = x.ndim == 3
        x = x.permute(1, 0, 2) if batched and self.batch_first else x
        x = x if batched else x.expand_dims(1)
        count = self.num_layers * (2 if self.bidirectional else 1)
        if hx is None:
            state = self._zeros(x, count, x.shape[1])
        elif batched:
            state = self._given(op, hx, count, x.shape[1])
        else:
            flat = self._given(op, hx, count)
            state = tuple(s.expand_dims(1) for s in flat)
        y, last = self._layers(x, state)
        y = y if batched else y.squeeze(1)
        y = y.permute(1, 0, 2) if batched and self.batch_first else y
        last = last if batched else tuple(s.squeeze(1) for s in last)
        return y, last[0] if self.states == 1 else last

    def _layers(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer > 0:
                x = dropout(x, self.dropout, self.training)
            made = []
            for way, suffix in enumerate(self._suffixes(layer)):
                first = tuple(s[len(last)] for s in state)
                y, end = self._run(x, first, suffix, backwards=way == 1)
                made.append(y)
                last.append(end)
            x = made[0] if len(made) == 1 else concat(made, axis=-1)
        return x, tuple(stack([end[i] for end in last]) for i in range(self.states))

    def _run(
        self, x: Tensor, state: tuple[Tensor, ...], suffix: str, backwards: bool
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer in one direction. The inputs' shares are one product for all times."""
        shares = linear(x, self._of("weight_ih", suffix), self._of("bias_ih", suffix))
        weight, bias = self._of("weight_hh", suffix), self._of("bias_hh", suffix)
        projection = self._of("weight_hr", suffix)
        outputs: list[Tensor] = []
        times = range(x.shape[0])
        for t in reversed(times) if backwards else times:
            state = self._step()(shares[t], linear(state[0], weight, bias), state)
            if projection is not None:
                state = (linear(state[0], projection), *state[1:])
            outputs.append(state[0])
        if not outputs:
            raise ShapeError(f"[{type(self).__name__}] takes one element of time or more")
        return stack(outputs[::-1] if backwards else outputs), state

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                    "bidirectional": False, "proj_size": 0}  # fmt: skip
        for name, default in defaults.items():
            value = getattr(self, name)
            text += "" if value == default else f", {name}={value}"
        return text


class RNN(_Recurrent):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it, over time (Elman 1990)."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        self._nonlinear(nonlinearity)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    @staticmethod
    def _nonlinear(name: str) -> Step:
        steps: dict[str, Step] = {"tanh": _rnn_tanh, "relu": _rnn_relu}
        if name not in steps:
            raise ValueError(f"[RNN] nonlinearity is 'tanh' or 'relu', not {name!r}")
        return steps[name]

    def _step(self) -> Step:
        return self._nonlinear(self.nonlinearity)


class _LSTMUnit:
    gates, states = 4, 2

    def _step(self) -> Step:
        return _lstm


class _GRUUnit:
    gates = 3

    def _step(self) -> Step:
        return _gru


class LSTM(_LSTMUnit, _Recurrent):
    """Long short-term memory over time; its states are (h, c).

    proj_size: h, and so the outputs, are a product of the hidden state with a matrix of that many
    rows, fewer than hidden_size; 0 for none (Sak, Senior and Beaufays 2014).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        if not 0 <= proj_size < max(hidden_size, 1):
            raise ValueError(f"[LSTM] proj_size {proj_size} is not below hidden_size {hidden_size}")
        self.proj_size = proj_size
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            device, dtype,
        )  # fmt: skip

    def _widths(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)


class GRU(_GRUUnit, _Recurrent):
    """Gated recurrent units over time."""


class _Cell(_Weights):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        at = {"dtype": dtype, "device": device}
        self._add_weights(input_size, hidden_size, "", bias, at)
        self._reset(hidden_size)

    def forward(self, input: ArrayLike, hx: Any = None) -> Any:
        """The next state, (N, hidden) or (hidden,); of LSTMCell (h, c)."""
        op = type(self).__name__
        x = as_tensor(op, input)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(f"[{op}] takes (N, {self.input_size}), not {x.shape}")
        batch = x.shape[:-1]
        state = self._zeros(x, *batch) if hx is None else self._given(op, hx, *batch)
        shares = linear(x, self._of("weight_ih", ""), self._of("bias_ih", ""))
        own = linear(state[0], self._of("weight_hh", ""), self._of("bias_hh", ""))
        made = self._step()(shares, own, state)
        return made[0] if self.states == 1 else made

    def extra_repr(self) -> str:
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}"


class RNNCell(_Cell):
    """One step of RNN, with tanh."""

    gates = 1

    def _step(self) -> Step:
        return _rnn_tanh


class LSTMCell(_LSTMUnit, _Cell):
    """One step of LSTM."""


class GRUCell(_GRUUnit, _Cell):
    """One step of GRU."""

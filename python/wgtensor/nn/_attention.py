"""Attention, and the transformer's encoder."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from wgtensor import _generated as g
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import bool_
from wgtensor._grids import tri
from wgtensor._manipulation import as_tensors
from wgtensor._naming import public
from wgtensor.nn import init
from wgtensor.nn._containers import ModuleList
from wgtensor.nn._dropout import Dropout, dropout
from wgtensor.nn._linear import Linear, linear, new_parameter
from wgtensor.nn._module import Module
from wgtensor.nn._normalization import LayerNorm


def _weights(
    q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
    """softmax(q k^T scale + mask); a bool mask is True where an element takes part."""
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    # 16 bits may not hold the products; in 32 the factor is a part of softmax's kernel.
    scores = (q * factor) @ k.mT if q.itemsize == 2 else (q @ k.mT) * factor
    if is_causal:
        causal = tri(q.shape[-2], k.shape[-2], dtype=bool_, device=q.device)
        scores = g.where(causal, scores, -math.inf)
    if mask is not None:
        bools = mask.dtype.kind == "b"
        scores = g.where(mask, scores, -math.inf) if bools else scores + mask
    return scores._softmax(-1)


@public
def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(q k^T / sqrt(E)) v of (.., L, E), (.., S, E), (.., S, Ev): (.., L, Ev).

    attn_mask broadcasts to (.., L, S): of bools, True where an element takes part, else added. Rows
    in which none does give zeros. is_causal: element i sees those up to i. dropout_p always acts:
    give 0 outside of training. scale: instead of 1 / sqrt(E) (Vaswani et al. 2017).
    """
    op = "scaled_dot_product_attention"
    q, k, v = as_tensors(op, (query, key, value))
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"[{op}] query {q.shape}, key {k.shape}, value {v.shape} do not match")
    mask = None if attn_mask is None else as_tensor(op, attn_mask, q.device)
    p = _weights(q, k, mask, is_causal, scale)
    return dropout(p, dropout_p) @ v


class MultiheadAttention(Module):
    """Attention of several heads (Vaswani et al. 2017), with PyTorch's layout of parameters.

    in_proj_weight has the rows of q, k and v one after the other; with kdim or vdim there are
    q_proj_weight, k_proj_weight and v_proj_weight instead. Inputs are (L, N, E), (N, L, E) with
    batch_first, or (L, E).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"[MultiheadAttention] {num_heads} heads do not divide embed_dim {embed_dim}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self._alike = self.kdim == self.vdim == embed_dim
        whole = (3 * embed_dim, embed_dim) if self._alike else None
        apart = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for name, size in apart.items():
            shape = None if self._alike else (embed_dim, size)
            self._add(f"{name}_proj_weight", shape, dtype, device)
        self._add("in_proj_weight", whole, dtype, device)
        self._add("in_proj_bias", (3 * embed_dim,) if bias else None, dtype, device)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def _add(self, name: str, shape: tuple[int, ...] | None, dtype: Any, device: Any) -> None:
        p = None if shape is None else new_parameter(shape, dtype, device)
        self.register_parameter(name, p)

    def reset_parameters(self) -> None:
        """Draws the initial values anew; biases are zeros."""
        for name, p in self.named_parameters(recurse=False):
            init.zeros_(p) if name == "in_proj_bias" else init.xavier_uniform_(p)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def _projected(self, inputs: list[Tensor]) -> list[Tensor]:
        """q, k and v as (N, heads, L, E / heads)."""
        e = self.embed_dim
        q, k, v = inputs
        if self._alike and q is k and k is v:
            y = linear(q, self.in_proj_weight, self.in_proj_bias)
            made = [y[..., i * e : (i + 1) * e] for i in range(3)]
        else:
            made = []
            for i, x in enumerate(inputs):
                rows = slice(i * e, (i + 1) * e)
                own = getattr(self, "qkv"[i] + "_proj_weight")
                weight = self.in_proj_weight[rows] if own is None else own
                bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
                made.append(linear(x, weight, bias))
        heads = (self.num_heads, self.head_dim)
        return [x.reshape((*x.shape[:2], *heads)).permute(0, 2, 1, 3) for x in made]

    def forward(
        self,
        query: ArrayLike,
        key: ArrayLike,
        value: ArrayLike,
        key_padding_mask: ArrayLike | None = None,
        need_weights: bool = True,
        attn_mask: ArrayLike | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result, and the weights (N, L, S) of all heads' mean, or of each, or None.

        Masks of bools are True where an element does *not* take part; others are added.
        key_padding_mask is (N, S), attn_mask (L, S) or (N heads, L, S). is_causal: besides, each
        element sees those up to itself.
        """
        inputs = [query, key, value] if query is not key else [query] * 3
        if key is value and query is not key:
            inputs[2] = inputs[1]
        q, k, v = (as_tensor("MultiheadAttention", x) for x in inputs)
        batched = q.ndim == 3
        if q.ndim not in (2, 3) or k.ndim != q.ndim or v.ndim != q.ndim:
            raise ShapeError(
                f"[MultiheadAttention] query {q.shape}, key {k.shape}, value {v.shape} do not match"
            )
        q, k, v = self._batch_first([q, k, v], batched)
        heads = self._projected([q, k, v])
        mask = self._mask(key_padding_mask, attn_mask, heads[0].shape, batched)
        p = _weights(heads[0], heads[1], mask, is_causal, None)
        y = dropout(p, self.dropout, self.training) @ heads[2]
        y = y.permute(0, 2, 1, 3).reshape((*q.shape[:2], self.embed_dim))
        y = self.out_proj(y)
        if not batched:
            y = y.squeeze(0)
        elif not self.batch_first:
            y = y.permute(1, 0, 2)
        if not need_weights:
            return y, None
        p = p.mean(axis=1) if average_attn_weights else p
        return y, p if batched else p.squeeze(0)

    def _batch_first(self, inputs: list[Tensor], batched: bool) -> list[Tensor]:
        """(N, L, E), and one tensor for inputs that are one."""
        made: dict[int, Tensor] = {}
        for x in inputs:
            if id(x) not in made:
                turned = x if self.batch_first else x.permute(1, 0, 2) if batched else x
                made[id(x)] = turned if batched else x.expand_dims(0)
        return [made[id(x)] for x in inputs]

    def _mask(
        self, padding: Any, attention: Any, shape: tuple[int, ...], batched: bool
    ) -> Tensor | None:
        """Both masks as one that softmax's argument takes: True takes part, or a number to add."""
        found = []
        if padding is not None:
            m = as_tensor("MultiheadAttention", padding)
            m = m if batched else m.expand_dims(0)
            found.append(m.reshape((m.shape[0], 1, 1, m.shape[1])))
        if attention is not None:
            m = as_tensor("MultiheadAttention", attention)
            found.append(m if m.ndim == 2 else m.reshape((*shape[:2], *m.shape[1:])))
        found = [~m if m.dtype.kind == "b" else m for m in found]
        if len(found) < 2:
            return found[0] if found else None
        if all(m.dtype.kind == "b" for m in found):
            return found[0] & found[1]
        added = [g.where(m, 0.0, -math.inf) if m.dtype.kind == "b" else m for m in found]
        return added[0] + added[1]


_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {"relu": g.relu, "gelu": g.gelu}


def activation_of(op: str, activation: str | Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function, or that of a name. Raises ValueError."""
    if not isinstance(activation, str):
        return activation
    if activation not in _ACTIVATIONS:
        raise ValueError(f"[{op}] activation {activation!r} is unknown")
    return _ACTIVATIONS[activation]


class TransformerLayer(Module):
    """Attentions and two linear maps, each around a residual and a LayerNorm."""

    def __init__(
        self,
        attentions: tuple[str, ...],
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: str | Callable[..., Tensor],
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: DeviceLike,
        dtype: Any,
    ) -> None:
        super().__init__()
        at = {"device": device, "dtype": dtype}
        self.activation = activation_of(type(self).__name__, activation)
        self.norm_first = norm_first
        for name in attentions:
            made = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **at)
            self.register_module(name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **at)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **at)
        parts = range(1, len(attentions) + 2)
        for i in parts:
            self.register_module(f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **at))
        for i in parts:
            self.register_module(f"dropout{i}", Dropout(dropout))

    def _maps(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _residuals(self, x: Tensor, *parts: Callable[[Tensor], Any]) -> Tensor:
        for i, part in enumerate(parts, 1):
            norm = getattr(self, f"norm{i}")
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x


class LayerChain(Module):
    """num_layers copies of a layer in a chain, and a norm behind them."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def _chain(self, x: Tensor, *arguments: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *arguments)
        return x if self.norm is None else self.norm(x)


class TransformerEncoderLayer(TransformerLayer):
    """Self-attention and two linear maps, each around a residual and a LayerNorm.

    norm_first: norms before the two parts instead of behind the sums (Xiong et al. 2020).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[..., Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            ("self_attn",), d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: ArrayLike | None = None,
        src_key_padding_mask: ArrayLike | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Any:
            own = (x, x, x, src_key_padding_mask, False, src_mask)
            return self.dropout1(self.self_attn(*own, is_causal=is_causal)[0])

        return self._residuals(src, attend, lambda x: self.dropout2(self._maps(x)))


class TransformerEncoder(LayerChain):
    """num_layers copies of a layer in a chain, and a norm behind them."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: ArrayLike | None = None,
        src_key_padding_mask: ArrayLike | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        return self._chain(src, mask, src_key_padding_mask, is_causal)

"""The transformer's decoder, and the whole of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike
from wgtensor._core import Tensor
from wgtensor._dtypes import get_default_dtype, to_dtype
from wgtensor._generated import where
from wgtensor._grids import tri
from wgtensor.nn import init
from wgtensor.nn._attention import (
    LayerChain,
    TransformerEncoder,
    TransformerEncoderLayer,
    TransformerLayer,
)
from wgtensor.nn._module import Module
from wgtensor.nn._normalization import LayerNorm


class TransformerDecoderLayer(TransformerLayer):
    """Self-attention, attention to an encoder's result, two linear maps; each around a residual and
    a LayerNorm (Vaswani et al. 2017).

    norm_first: norms before the parts instead of behind the sums.
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
            ("self_attn", "multihead_attn"), d_model, nhead, dim_feedforward, dropout, activation,
            layer_norm_eps, batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: ArrayLike | None = None,
        memory_mask: ArrayLike | None = None,
        tgt_key_padding_mask: ArrayLike | None = None,
        memory_key_padding_mask: ArrayLike | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks as of MultiheadAttention."""

        def see(x: Tensor) -> Any:
            own = (x, x, x, tgt_key_padding_mask, False, tgt_mask)
            return self.dropout1(self.self_attn(*own, is_causal=tgt_is_causal)[0])

        def look(x: Tensor) -> Any:
            other = (x, memory, memory, memory_key_padding_mask, False, memory_mask)
            return self.dropout2(self.multihead_attn(*other, is_causal=memory_is_causal)[0])

        return self._residuals(tgt, see, look, lambda x: self.dropout3(self._maps(x)))


class TransformerDecoder(LayerChain):
    """num_layers copies of a layer in a chain, and a norm behind them."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: ArrayLike | None = None,
        memory_mask: ArrayLike | None = None,
        tgt_key_padding_mask: ArrayLike | None = None,
        memory_key_padding_mask: ArrayLike | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self._chain(tgt, memory, *masks, tgt_is_causal, memory_is_causal)


class Transformer(Module):
    """An encoder and a decoder that looks at what it gives (Vaswani et al. 2017)."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
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
        super().__init__()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, norm()
        )
        self.decoder = TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, norm()
        )
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: ArrayLike | None = None,
        tgt_mask: ArrayLike | None = None,
        memory_mask: ArrayLike | None = None,
        src_key_padding_mask: ArrayLike | None = None,
        tgt_key_padding_mask: ArrayLike | None = None,
        memory_key_padding_mask: ArrayLike | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        padding = (tgt_key_padding_mask, memory_key_padding_mask)
        causal = (tgt_is_causal, memory_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, *padding, *causal)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike = None, dtype: Any = None
    ) -> Tensor:
        """(sz, sz): what is added to scores, -inf above the diagonal."""
        seen = tri(sz, sz, dtype="bool", device=device)
        d = get_default_dtype() if dtype is None else to_dtype(dtype)
        return where(seen, _core.full((), 0, d, device, "mask"), -math.inf)

"""Modules side by side with PyTorch's, where it is installed: layers, networks, hooks, text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.nn import functional as F

torch = pytest.importorskip("torch")
from beside_torch import close, compare, normal, port  # noqa: E402

tf = torch.nn.functional

LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("Linear", (6, 5), {}, (3, 4, 6)),
    ("LayerNorm", (6,), {}, (3, 4, 6)),
    ("GroupNorm", (2, 4), {}, (3, 4, 6)),
    ("BatchNorm1d", (4,), {}, (3, 4, 6)),
    ("PReLU", (4,), {}, (3, 4, 6)),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, (3, 4, 6)),
    ("Conv2d", (2, 3, 3), {"stride": 2, "bias": False}, (2, 2, 7, 8)),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0), {"batch_first": True}, (3, 5, 8)),
    ("BatchNorm2d", (2,), {}, (3, 2, 4, 5)),
    ("InstanceNorm1d", (4,), {"affine": True}, (3, 4, 6)),
    ("InstanceNorm2d", (2,), {}, (3, 2, 4, 5)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 4, 7)),
    ("AdaptiveAvgPool2d", ((3, None),), {}, (2, 4, 6, 5)),
    ("AdaptiveAvgPool2d", (2,), {}, (2, 4, 5, 3)),
    ("Conv1d", (4, 6, 3), {"padding": 2, "padding_mode": "circular", "stride": 2}, (3, 4, 6)),
    ("Conv2d", (2, 3, (3, 2)), {"padding": (1, 2), "padding_mode": "reflect"}, (2, 2, 7, 8)),
    ("Conv2d", (2, 3, 3), {"padding": "same", "padding_mode": "replicate"}, (2, 2, 7, 8)),
    (
        "ConvTranspose1d",
        (4, 6, 3),
        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
        (3, 4, 6),
    ),
    ("ConvTranspose2d", (4, 2, (3, 2)), {"stride": (3, 1), "dilation": (1, 2)}, (2, 4, 3, 4)),
    ("ConvTranspose2d", (2, 3, 2), {"padding": 2, "stride": 2, "bias": False}, (2, 2, 4, 4)),
    (
        "TransformerEncoderLayer",
        (8, 2, 16, 0.0),
        {"norm_first": True, "activation": "gelu"},
        (5, 3, 8),
    ),
]


@pytest.mark.parametrize("case", range(len(LAYERS)))
def test_layers(case: int, rng: np.random.Generator) -> None:
    name, args, options, shape = LAYERS[case]
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **options)
    ours = getattr(nn, name)(*args, **options)
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    port(ours, theirs)
    x = normal(rng, *shape)
    for _ in range(2):
        compare(ours, theirs, [x])
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(p.grad, q.grad, 1e-4)
    for p, q in zip(ours.buffers(), theirs.buffers(), strict=True):
        close(p, q)
    compare(ours.eval(), theirs.eval(), [x])


RECURRENT: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("RNN", (3, 4), {}, (5, 2, 3)),
    ("RNN", (3, 4), {"nonlinearity": "relu", "num_layers": 2, "bias": False}, (5, 2, 3)),
    ("LSTM", (3, 4), {"num_layers": 2, "bidirectional": True}, (5, 2, 3)),
    ("LSTM", (3, 4), {"batch_first": True}, (2, 5, 3)),
    ("LSTM", (3, 4), {}, (5, 3)),
    ("LSTM", (3, 4), {"proj_size": 2, "num_layers": 2, "bidirectional": True}, (5, 2, 3)),
    ("GRU", (3, 4), {"num_layers": 2, "batch_first": True}, (2, 5, 3)),
    ("GRU", (3, 4), {"bidirectional": True}, (5, 3)),
    ("RNNCell", (3, 4), {}, (2, 3)),
    ("LSTMCell", (3, 4), {"bias": False}, (2, 3)),
    ("GRUCell", (3, 4), {}, (3,)),
]


@pytest.mark.parametrize("case", range(len(RECURRENT)))
def test_recurrent_networks(case: int, rng: np.random.Generator) -> None:
    name, args, options, shape = RECURRENT[case]
    theirs = getattr(torch.nn, name)(*args, **options)
    ours = getattr(nn, name)(*args, **options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    port(ours, theirs)

    def all_of(made: Any) -> list[Any]:
        return [t for m in made for t in all_of(m)] if isinstance(made, tuple) else [made]

    x = normal(rng, *shape)
    count = len(all_of(theirs(torch.tensor(x))))
    for which in range(count):
        compare(lambda t, i=which: all_of(ours(t))[i], lambda t, i=which: all_of(theirs(t))[i], [x])
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(p.grad, q.grad, 1e-4)
    states = all_of(theirs(torch.tensor(x)))[-1 - name.startswith("LSTM") :]
    start = [normal(rng, *t.shape) for t in states]
    compare(
        lambda t, *s: all_of(ours(t, s if len(s) > 1 else s[0]))[0],
        lambda t, *s: all_of(theirs(t, s if len(s) > 1 else s[0]))[0],
        [x, *start],
    )


def test_decoder(rng: np.random.Generator) -> None:
    block, padding = ~np.tri(3, dtype=bool), np.array([[False, False, True]] * 3)
    for options in ({}, {"norm_first": True, "activation": "gelu", "batch_first": True}):
        theirs = torch.nn.TransformerDecoder(
            torch.nn.TransformerDecoderLayer(8, 2, 16, 0.0, **options), 2, torch.nn.LayerNorm(8)
        )
        ours = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(8, 2, 16, 0.0, **options), 2, nn.LayerNorm(8)
        )
        port(ours, theirs)
        x, memory = normal(rng, 3, 3, 8), normal(rng, 3, 3, 8)
        compare(ours, theirs, [x, memory])
        compare(
            lambda a, b, m=ours: m(a, b, block, memory_key_padding_mask=padding),
            lambda a, b, m=theirs: m(
                a, b, torch.tensor(block), memory_key_padding_mask=torch.tensor(padding)
            ),
            [x, memory],
        )
    theirs = torch.nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
    ours = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
    port(ours, theirs)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    close(mask, torch.nn.Transformer.generate_square_subsequent_mask(3))
    compare(
        lambda a, b: ours(a, b, tgt_mask=mask),
        lambda a, b: theirs(a, b, tgt_mask=torch.tensor(mask.numpy())),
        [memory, x],
    )


RESIZED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5), {"scale_factor": 2}),
    ((2, 3, 7), {"size": 3}),
    ((2, 3, 4, 5), {"size": (6, 3)}),
    ((2, 3, 4, 5), {"scale_factor": (1.7, 0.6)}),
    ((2, 3, 5), {"size": 8, "mode": "linear"}),
    ((2, 3, 4, 5), {"scale_factor": 2.0, "mode": "bilinear"}),
    ((2, 3, 4, 5), {"size": (7, 3), "mode": "bilinear", "align_corners": True}),
    ((2, 3, 4, 5), {"scale_factor": 1.3, "mode": "bilinear", "align_corners": False}),
    ((1, 2, 2, 3, 4), {"size": (3, 5, 2), "mode": "trilinear"}),
]


@pytest.mark.parametrize("case", range(len(RESIZED)))
def test_resized(case: int, rng: np.random.Generator) -> None:
    shape, options = RESIZED[case]
    compare(
        lambda x: F.interpolate(x, **options), lambda x: tf.interpolate(x, **options),
        [normal(rng, *shape)],
    )  # fmt: skip
    assert repr(nn.Upsample(**options)) == repr(torch.nn.Upsample(**options))


def test_surrounded(rng: np.random.Generator) -> None:
    x = normal(rng, 2, 3, 4, 5)
    for widths, options in (
        ((1, 2), {}),
        ((1, 0, 2, 1), {"value": 3.0}),
        ((-1, 2, 0, -2), {}),
        ((1, 2, 3, 0), {"mode": "reflect"}),
        ((1, 2, 3, 1), {"mode": "replicate"}),
        ((1, 2, 3, 1), {"mode": "circular"}),
    ):
        compare(
            lambda a, w=widths, o=options: F.pad(a, w, **o),
            lambda a, w=widths, o=options: tf.pad(a, w, **o),
            [x],
        )
    compare(
        lambda a: F.pixel_shuffle(a, 2), lambda a: tf.pixel_shuffle(a, 2), [normal(rng, 2, 8, 3, 4)]
    )
    compare(
        lambda a: F.pixel_unshuffle(a, 2),
        lambda a: tf.pixel_unshuffle(a, 2),
        [normal(rng, 2, 3, 4, 6)],
    )
    rows = [normal(rng, 4, 6), normal(rng, 4, 6)]
    compare(nn.CosineSimilarity(), torch.nn.CosineSimilarity(), rows)
    compare(nn.PairwiseDistance(keepdim=True), torch.nn.PairwiseDistance(keepdim=True), rows)


def test_averaged_models(rng: np.random.Generator) -> None:
    for decay in (None, 0.9):
        theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
        port(ours, theirs)
        t, o = torch.optim.swa_utils, optim.swa_utils
        a = t.AveragedModel(theirs, avg_fn=None if decay is None else t.get_ema_avg_fn(decay))
        b = o.AveragedModel(ours, avg_fn=None if decay is None else o.get_ema_avg_fn(decay))
        for _ in range(4):
            value = normal(rng, 2, 3)
            theirs.weight.data = torch.tensor(value)
            ours.weight.data = wt.asarray(value)
            a.update_parameters(theirs)
            b.update_parameters(ours)
        close(b.module.weight, a.module.weight)
        x = normal(rng, 4, 3)
        close(b(wt.asarray(x)), a(torch.tensor(x)))
        again = o.AveragedModel(ours)
        again.load_state_dict(b.state_dict())
        assert again.n_averaged == 4
        close(again.module.weight, a.module.weight)
    theirs, ours = torch.nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    data = [normal(rng, 5, 3) for _ in range(3)]
    t.update_bn([torch.tensor(d) for d in data], theirs)
    o.update_bn([wt.asarray(d) for d in data], ours)
    close(ours.running_var, theirs.running_var)
    close(ours.running_mean, theirs.running_mean)
    assert ours.momentum == 0.1


def test_backward_hooks(rng: np.random.Generator) -> None:
    seen: list[list[Any]] = [[], []]
    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    port(ours, theirs)
    for found, m in zip(seen, (ours, theirs), strict=True):
        m.register_full_backward_hook(
            lambda m, i, o, found=found: found.append((i[0], o[0])) or (i[0] * 2,)
        )
    compare(ours, theirs, [normal(rng, 4, 3)])
    for a, b in zip(seen[0][0], seen[1][0], strict=True):
        close(a, b)


def test_norms_of_embeddings(rng: np.random.Generator) -> None:
    table, at = normal(rng, 6, 4) * 3, np.array([[1, 4], [4, 5]], np.int32)
    for options in ({"max_norm": 1.5}, {"max_norm": 2.0, "norm_type": 1.0},
                    {"scale_grad_by_freq": True, "padding_idx": 1}):  # fmt: skip
        theirs = torch.nn.Embedding.from_pretrained(torch.tensor(table), freeze=False, **options)
        ours = nn.Embedding.from_pretrained(table, freeze=False, **options)
        assert repr(ours) == repr(theirs)
        compare(
            lambda i, m=ours: m(i), lambda i, m=theirs: m(i), [at]
        ) if "max_norm" not in options else close(
            ours(wt.asarray(at)), theirs(torch.tensor(at.astype(np.int64)))
        )
        close(ours.weight, theirs.weight)
        if ours.weight.grad is not None:
            close(ours.weight.grad, theirs.weight.grad)


SHOWN = [
    ("Linear", (2, 3)), ("Linear", (2, 3, False)), ("Conv2d", (2, 4, 3, 2, 1)),
    ("Conv2d", (2, 4, (3, 2), 1, "same", 1, 2, False)), ("Conv1d", (2, 4, 3)),
    ("Dropout", ()),
    ("Embedding", (3, 4, 1)), ("ReLU", ()), ("GELU", ()), ("LeakyReLU", (0.2,)), ("ELU", ()),
    ("PReLU", (3,)), ("Softmax", (1,)), ("Hardtanh", (-2.0, 2.0)), ("Softplus", ()),
    ("Threshold", (0.1, 2.0)), ("MaxPool2d", ((2, 3), 1, 1)), ("AvgPool2d", ((2, 1), 1)),
    ("Flatten", (0,)), ("Identity", ()), ("Unflatten", (1, (2, 3))), ("MSELoss", ()),
    ("AdaptiveAvgPool2d", ((2, None),)), ("Bilinear", (2, 3, 4)),
    ("ConvTranspose2d", (2, 4, 3, 2, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SHOWN)))
def test_text_of_modules(case: int) -> None:
    name, args = SHOWN[case]
    assert repr(getattr(nn, name)(*args)) == repr(getattr(torch.nn, name)(*args))


def test_text_of_containers() -> None:
    for make in (
        lambda n: n.Sequential(n.Linear(2, 3), n.ReLU(), n.Sequential(n.Linear(3, 1))),
        lambda n: n.ModuleDict({"a": n.Linear(2, 3)}),
        lambda n: n.ModuleList([n.Linear(2, 3), n.ReLU()]),
    ):
        assert repr(make(nn)) == repr(make(torch.nn))

"""A small GPT learns to write like Python's language reference, letter by letter.

The text is the help that ships with Python (pydoc's topics).

python examples/character_gpt.py [steps]
"""

import sys
from pydoc_data.topics import topics

import numpy as np

import wgtensor as wt
from wgtensor import nn, optim

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 64, 16


class GPT(nn.Module):
    """Letters and places as vectors, causal self-attention, scores of the next letter."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.scores = nn.Linear(WIDTH, letters)
        for p in (self.letters.weight, self.places.weight):
            nn.init.normal_(p, std=0.02)

    def forward(self, text: wt.Tensor) -> wt.Tensor:
        places = wt.arange(text.shape[-1], device=text.device)
        h = self.blocks(self.letters(text) + self.places(places), is_causal=True)
        return self.scores(h)


def sample(model: GPT, start: list[int], length: int) -> list[int]:
    """Letters drawn one by one from what the model expects; nothing is read until the end."""
    context = wt.asarray(np.array([start], np.int32))
    drawn = []
    with wt.no_grad():
        for _ in range(length):
            scores = model(context[:, -CONTEXT:])[:, -1]
            letter = (scores + wt.random.gumbel(scores.shape)).argmax(axis=-1).reshape(1, 1)
            context = wt.concat([context[:, 1 - CONTEXT :], letter], axis=1).eval()
            drawn.append(letter)
        return wt.concat(drawn, axis=1)[0].tolist()


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    wt.random.manual_seed(0)
    text = "".join(c for c in "\n".join(topics.values()) if c.isascii())[:400_000]
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    data = wt.asarray(np.array([number[c] for c in text], np.int32))
    model = GPT(len(letters))
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps)
    print(f"on {data.device.name}: {len(text):,} letters, {len(letters)} different ones")
    window = wt.arange(CONTEXT + 1)
    for step in range(steps):
        first = wt.random.randint(len(text) - CONTEXT - 1, shape=(BATCH, 1))
        part = data[first + window]
        optimizer.zero_grad()
        scores = model(part[:, :-1])
        loss = nn.functional.cross_entropy(
            scores.reshape(-1, len(letters)), part[:, 1:].reshape(-1)
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % max(steps // 8, 1) == 0 or step == steps - 1:
            print(f"step {step:5}  loss {loss.item():.4f}")
    print("".join(letters[i] for i in sample(model, [number["\n"]], min(steps, 300))))


if __name__ == "__main__":
    main()

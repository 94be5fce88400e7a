"""A transformer classifies handwritten digits: the rows of an image are its words.

python examples/digits_transformer.py [steps]    (needs scikit-learn, of the extra 'demo')
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import wgtensor as wt
from wgtensor import nn, optim

WIDTH, HEADS, LAYERS, BATCH = 64, 4, 2, 64


class Classifier(nn.Module):
    """Eight rows of eight pixels, their places, an encoder, the mean over rows, ten scores."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Linear(8, WIDTH)
        self.places = nn.Parameter(wt.random.normal((8, WIDTH), 0.0, 0.02))
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 2 * WIDTH, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.scores = nn.Linear(WIDTH, 10)

    def forward(self, images: wt.Tensor) -> wt.Tensor:
        return self.scores(self.encoder(self.rows(images) + self.places).mean(axis=1))


def accuracy(model: nn.Module, x: wt.Tensor, y: wt.Tensor) -> float:
    model.eval()
    with wt.no_grad():
        right = (model(x).argmax(axis=1) == y).mean().item()
    model.train()
    return right


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    wt.random.manual_seed(0)
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 8, 8)
    parts = train_test_split(x, y.astype(np.int32), test_size=0.25, random_state=0, stratify=y)
    train_x, test_x, train_y, test_y = map(wt.asarray, parts)
    model = Classifier()
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, steps)
    print(f"on {train_x.device.name}: {sum(p.size for p in model.parameters()):,} parameters")
    for step in range(steps):
        rows = wt.random.randint(len(train_x), shape=BATCH)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(train_x[rows]), train_y[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % max(steps // 8, 1) == 0 or step == steps - 1:
            print(
                f"step {step:4}  loss {loss.item():.4f}  "
                f"accuracy {accuracy(model, test_x, test_y):.4f}"
            )


if __name__ == "__main__":
    main()

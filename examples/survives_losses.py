"""A training that loses its device again and again, and ends as if it never had.

python examples/survives_losses.py [steps] [losses]

`wt.persist` keeps a copy of the state on the host. When the device is lost (a driver reset; here a
thread destroys it on purpose), `recover()` makes it anew with that state on it, and the loop goes
on from the step of the copy. All of it is deterministic, the random numbers too, so that the
parameters are the same to the last bit as those of an undisturbed training.
"""

import random
import sys
import threading
import time

import numpy as np

import wgtensor as wt
from wgtensor import nn, optim

EVERY = 20  # steps from one copy to the next


def spirals(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of three arms, and which arm each is of."""
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 3, n)
    r = rng.random(n)
    angle = 4 * r + arm * (2 * np.pi / 3) + rng.normal(0, 0.1, n)
    points = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    return points.astype(np.float32), arm.astype(np.int32)


class Destroyer:
    """Loses the device at some of the steps, some milliseconds after each has begun."""

    def __init__(self, device: wt.Device, steps: int, losses: int) -> None:
        dice = random.Random(0)
        self.device = device
        self.due = sorted(dice.sample(range(steps), min(losses, steps)))
        self.delay = [dice.choice([0.0, 0.001, 0.01]) for _ in self.due]
        self.threads: list[threading.Thread] = []

    def at(self, step: int) -> None:
        """A step begins. Each loss happens once, however often its step does, and one at a time."""
        if self.due and step >= self.due[0] and not self.threads:
            self.due.pop(0)
            thread = threading.Thread(target=self._destroy, args=(self.delay.pop(0),))
            thread.start()
            self.threads.append(thread)

    def _destroy(self, delay: float) -> None:
        time.sleep(delay)
        self.device.destroy()

    def settle(self) -> None:
        """Waits for losses that are under way, so that each is noticed."""
        while self.threads:
            self.threads.pop().join()


def train(steps: int, losses: int) -> tuple[float, list[np.ndarray], int]:
    """Accuracy, parameters, and how often the device was lost."""
    device = wt.default_device()
    wt.random.manual_seed(0)
    points, arms = (wt.asarray(a) for a in spirals(600))
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Dropout(0.05), nn.Linear(32, 3))
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    @wt.jit
    def update(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    wt.persist(points, arms)  # never change: one copy is enough
    state = wt.persist(model, optimizer, schedule, wt.random.default_generator)
    destroyer = Destroyer(device, steps, losses)
    done, lost = 0, 0
    while True:
        try:
            for step in range(done, steps):
                destroyer.at(step)
                update(points, arms)
                schedule.step()
                if (step + 1) % EVERY == 0:
                    destroyer.settle()
                    state.update()
                    done = step + 1
            destroyer.settle()
            parameters = [p.numpy() for p in model.parameters()]
            break
        except wt.DeviceLostError:
            lost += 1
            destroyer.settle()
            device.recover()  # the state is what it was after `done` steps
            if losses <= 10:
                print(f"lost in or after step {step}: going on from step {done}")
    model.eval()
    with wt.no_grad():
        right = (wt.argmax(model(points), axis=1) == arms).astype("float32").mean().item()
    return right, parameters, lost


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    losses = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    print(f"on {wt.default_device().name}: {steps} steps")
    right, parameters, _ = train(steps, 0)
    print(f"undisturbed: {right:.2%} are right")
    again, others, lost = train(steps, losses)
    print(f"with {lost} losses of the device: {again:.2%} are right")
    same = all(np.array_equal(p, q) for p, q in zip(parameters, others, strict=True))
    print(f"the parameters are {'the same to the last bit' if same else 'NOT the same'}")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()

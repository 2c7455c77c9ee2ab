"""Spiking neurons of Izhikevich's model, of four kinds, which send each other pulses.

The oracle is NumPy with a matrix of weights: every neuron fires at the same times. (Weights are
multiples of 1/64, so that sums do not depend on the order.)
"""

import argparse
from typing import ClassVar

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i32, u64

KINDS = np.array(
    [[0.02, 0.2, -65, 8], [0.02, 0.2, -50, 2], [0.1, 0.2, -65, 2], [0.02, 0.25, -65, 2]]
)


class Cell(oa.Object):
    fired: bool


@oa.value
class Synapse:
    source: Cell
    weight: f32


class Neuron(Cell):
    A: ClassVar[float] = 0.02  # how fast it recovers
    B: ClassVar[float] = 0.2
    RESET: ClassVar[float] = -65.0
    JUMP: ClassVar[float] = 8.0

    id: u64
    v: f64 = -65.0
    u: f64 = -13.0
    current: f64
    synapses: oa.Array[Synapse]

    def noise(self, step: i32) -> f64:
        return oa.randint(0, 640, 3, self.id, step) / 64.0

    def listen(self, step: i32) -> None:
        self.current = self.noise(step)
        for synapse in self.synapses:
            if synapse.source.fired:
                self.current += synapse.weight

    def advance(self, step: i32, raster: oa.Array2[bool]) -> None:
        for _ in range(2):
            self.v += 0.5 * (0.04 * self.v * self.v + 5.0 * self.v + 140.0 - self.u + self.current)
        self.u += self.A * (self.B * self.v - self.u)
        self.fired = self.v >= 30.0
        if self.fired:
            self.v = self.RESET
            self.u += self.JUMP
        raster[step, self.id] = self.fired


class Chattering(Neuron):
    RESET = -50.0
    JUMP = 2.0


class Fast(Neuron):
    A = 0.1
    JUMP = 2.0

    def noise(self, step: i32) -> f64:
        return 0.5 * super().noise(step)


class LowThreshold(Neuron):
    B = 0.25
    JUMP = 2.0


def expected(kinds: np.ndarray, weights: np.ndarray, steps: int) -> np.ndarray:
    a, b, reset, jump = KINDS[kinds].T
    v, u = np.full(len(kinds), -65.0), np.full(len(kinds), -13.0)
    raster = np.zeros((steps + 1, len(kinds)), bool)
    for step in range(steps):
        noise = oa.randint(0, 640, 3, np.arange(len(kinds)), step) / 64.0
        current = np.where(kinds == 2, 0.5, 1.0) * noise + weights @ raster[step - 1]
        for _ in range(2):
            v = v + 0.5 * (0.04 * v * v + 5.0 * v + 140.0 - u + current)
        u = u + a * (b * v - u)
        raster[step] = fired = v >= 30.0
        v, u = np.where(fired, reset, v), np.where(fired, u + jump, u)
    return raster[:-1]


def main(size: int = 1000, steps: int = 300, plot: str = "") -> None:
    rng = np.random.default_rng(4)
    kinds = np.sort(rng.choice(4, size, p=(0.6, 0.2, 0.1, 0.1)))
    weights = rng.integers(0, 60, (size, size)) * np.where(kinds < 2, 1, -2) / 64.0
    weights *= rng.random((size, size)) < 50 / size
    counts = zip((Neuron, Chattering, Fast, LowThreshold), np.bincount(kinds), strict=True)
    neurons: oa.Array[Neuron] = oa.concat(*(oa.new(kind, count) for kind, count in counts))
    neurons.id = np.arange(size)
    targets, sources = weights.nonzero()
    synapses = oa.zeros(len(sources), Synapse)
    synapses["source"], synapses["weight"] = neurons[sources], weights[targets, sources]
    neurons.synapses = oa.split(synapses, np.bincount(targets, minlength=size))
    raster = oa.zeros((steps, size), bool)
    for step in range(steps):
        neurons.listen(step)
        neurons.advance(step, raster)
    np.testing.assert_array_equal(raster, expected(kinds, weights, steps))
    print("kind          spikes a neuron")
    for k, name in enumerate(("regular", "chattering", "fast", "low threshold")):
        print(f"{name:13} {raster.numpy()[:, kinds == k].sum() / (kinds == k).sum():10.2f}")
    if plot:
        import matplotlib.pyplot as plt

        at, number = raster.numpy().nonzero()
        plt.scatter(at, number, s=1)
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))

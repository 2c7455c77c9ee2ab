"""A network of queues: customers come to stations of several kinds, and go on or leave.

Each thread simulates a network of its own, event by event. The oracle is Jackson's theorem: in the
long run every station is a birth and death process by itself.
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32, u64

ARRIVALS = 1.0
LEAVES = 3
ROUTES = np.array([[0.0, 0.5, 0.2, 0.3], [0.3, 0.0, 0.6, 0.1], [0.1, 0.0, 0.0, 0.9]])
SEED = 8


@oa.func
def chosen(weights: list[f64], draw: f64) -> i32:
    for k, weight in enumerate(weights):
        if draw < weight:
            return k
        draw -= weight
    return len(weights) - 1


class Station(oa.Object):
    rate: f64

    def speed(self, waiting: i32) -> f64:
        """Customers that are served in a unit of time."""
        raise NotImplementedError


class Single(Station):
    def speed(self, waiting: i32) -> f64:
        return self.rate if waiting > 0 else 0.0


class Many(Station):
    servers: i32 = 3

    def speed(self, waiting: i32) -> f64:
        return self.rate * min(waiting, self.servers)


class Delay(Station):
    def speed(self, waiting: i32) -> f64:
        return self.rate * waiting


class Network(oa.Object):
    id: u64
    waiting: oa.inline[i32, 3]
    area: oa.inline[f64, 3]  # customers times time

    def run(self, stations: oa.Array[Station], until: f64) -> None:
        now, event = 0.0, 0
        while now < until:
            speeds = [stations[k].speed(self.waiting[k]) for k in range(3)]
            total = ARRIVALS + sum(speeds)
            span = oa.exponential(SEED, self.id, event, 0) / total
            for k, count in enumerate(self.waiting):
                self.area[k] += count * min(span, until - now)
            draw = oa.random64(SEED, self.id, event, 1) * total - ARRIVALS
            goal = 0
            if draw >= 0.0:  # somebody is served, or else arrives
                source = chosen(speeds, draw)
                self.waiting[source] -= 1
                routes = list(ROUTES[source])
                goal = chosen(routes, oa.random64(SEED, self.id, event, 2))
            if goal != LEAVES:
                self.waiting[goal] += 1
            now += span
            event += 1


def expected(kinds: tuple[type[Station], ...], rates: np.ndarray) -> list[float]:
    """Customers at each station in the long run."""
    loads = np.linalg.solve(np.eye(3) - ROUTES[:, :3].T, [ARRIVALS, 0, 0]) / rates
    n = np.arange(400)
    busy = {Single: np.minimum(n, 1), Many: np.minimum(n, 3), Delay: n}
    means = []
    for kind, load in zip(kinds, loads, strict=True):
        chances = np.cumprod(np.concatenate([[1.0], load / busy[kind][1:]]))
        means.append(float((n * chances).sum() / chances.sum()))
    return means


def main(size: int = 2000, time: float = 200.0, plot: str = "") -> None:
    kinds, rates = (Single, Many, Delay), np.array([2.0, 0.5, 0.8])
    stations: oa.Array[Station] = oa.concat(*(oa.new(kind, 1) for kind in kinds))
    stations.rate = rates
    networks = oa.new(Network, size, id=np.arange(size))
    networks.run(stations, time / 2)  # until nothing depends on the beginning
    networks.area, networks.id = 0.0, np.arange(size, 2 * size)
    networks.run(stations, time)
    found = networks.area.numpy() / time
    print("station   simulated         expected")
    for kind, mean, error, value in zip(
        kinds, found.mean(0), found.std(0) / math.sqrt(size), expected(kinds, rates), strict=True
    ):
        print(f"{kind.__name__:8} {mean:10.4f} +-{error:.4f} {value:9.4f}")
        assert abs(mean - value) < 4.5 * error
    if plot:
        import matplotlib.pyplot as plt

        plt.hist(networks.waiting.numpy(), bins=range(20), label=[kind.__name__ for kind in kinds])
        plt.legend()
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000, help="networks")
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))

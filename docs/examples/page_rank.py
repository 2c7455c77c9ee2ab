"""PageRank and its sensitivities: by how much one page's rank changes with every page's weight,
every link's strength, and the damping.

The oracle is NumPy with a full matrix: for weights powers of it, for links and the damping central
differences.
"""

import argparse

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32


class Page(oa.Object):
    weight: f64
    damping: f64
    rank: f64
    gathered: f64
    links: oa.Array["Link"]

    def share(self, strength: f64) -> f64:
        """What goes through a link of that strength."""
        return self.rank * strength

    def spread(self) -> None:
        for link in self.links:
            oa.atomic_add(link.target, "gathered", self.share(link.strength))

    def gather(self) -> None:
        self.rank = (1.0 - self.damping) * self.weight + self.damping * self.gathered
        self.gathered = 0.0


class Advert(Page):
    def share(self, strength: f64) -> f64:
        return 0.5 * self.rank * strength  # who is there often closes the window

    def gather(self) -> None:
        self.rank = self.weight + self.damping * self.gathered  # comes up by itself
        self.gathered = 0.0


class Link(oa.Object):
    target: Page
    strength: f64


@oa.kernel
def look_at(pages: oa.Array[Page], number: i32, loss: oa.Array[f64]) -> None:
    loss[0] = pages[number].rank


def expected(advert: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray,
             damping: float, strength: np.ndarray, steps: int, number: int,
             ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Ranks, and the derivatives of that of one page by all weights."""
    through = np.zeros((len(weight), len(weight)))
    np.add.at(through, (target, source), damping * strength * np.where(advert, 0.5, 1)[source])
    own = np.where(advert, 1.0, 1.0 - damping)
    ranks, row, slopes = np.zeros(len(weight)), np.eye(len(weight))[number], np.zeros(len(weight))
    for _ in range(steps):
        ranks = own * weight + through @ ranks
        slopes, row = slopes + row * own, row @ through
    return ranks, slopes


def main(size: int = 300, steps: int = 30, plot: str = "") -> None:
    rng = np.random.default_rng(4)
    degree = rng.integers(1, 9, size)
    source = np.repeat(np.arange(size), degree)
    target = (size * rng.random(len(source)) ** 3).astype(int)  # the first ones are well known
    advert = np.arange(size) >= size - size // 10
    weight, strength, damping = rng.random(size) / size, 1 / np.repeat(degree, degree), 0.85
    pages: oa.Array[Page] = oa.concat(oa.new(Page, size - size // 10), oa.new(Advert, size // 10))
    links = oa.new(Link, len(source), target=pages[target], strength=strength)
    pages.links, pages.weight, pages.damping = oa.split(links, degree), weight, damping
    loss, number = oa.zeros(1, f64), size // 3
    with oa.tape() as tape:
        for _ in range(steps):
            oa.all(Page).spread()
            oa.all(Page).gather()
        look_at[1](pages, number, loss)
    tape.backward(loss)

    def ranked(damping: float, strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return expected(advert, source, target, weight, damping, strength, steps, number)

    def difference(by: float, more: float, stronger: np.ndarray) -> float:
        above, below = (ranked(damping + s * more, strength + s * stronger)[0] for s in (by, -by))
        return float(above[number] - below[number]) / (2 * by)

    ranks, by_weight = ranked(damping, strength)
    np.testing.assert_allclose(pages.rank, ranks, rtol=1e-12)
    np.testing.assert_allclose(pages.grad.weight, by_weight, rtol=1e-10, atol=1e-14)
    by_strength, by_damping = np.array(links.grad.strength), np.array(pages.grad.damping).sum()
    for link in np.abs(by_strength).argsort()[-3:]:
        slope = difference(1e-4, 0.0, (np.arange(len(source)) == link).astype(float))
        np.testing.assert_allclose(by_strength[link], slope, rtol=1e-5)
        print(f"page {source[link]:4} links to {target[link]:4}: {slope:.3e} of rank a strength")
    slope = difference(1e-5, 1.0, np.zeros(len(source)))
    np.testing.assert_allclose(by_damping, slope, rtol=1e-5)
    print(f"page {number} has rank {ranks[number]:.3e}, and {slope:.3e} for more damping")
    if plot:
        import matplotlib.pyplot as plt

        plt.scatter(ranks, pages.grad.weight, c=np.where(advert, "tab:red", "tab:blue"), s=8)
        plt.xscale("log")
        plt.yscale("symlog", linthresh=1e-4)
        plt.xlabel("rank of a page")
        plt.ylabel(f"what its weight does to page {number}")
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))

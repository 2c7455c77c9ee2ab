"""Heat in a plate of triangles and quadrilaterals, by conjugate gradients without a matrix.

The oracle is NumPy's solver with a full matrix, of triangles by the edges that are opposite to
corners; besides, what is linear at the border is linear inside.
"""

import argparse
from typing import ClassVar

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32

GAUSS = (0.5 - 12**-0.5, 0.5 + 12**-0.5)
SIGNS = ((-1, -1), (1, -1), (1, 1), (-1, 1))


class Node(oa.Object):
    pos: oa.vec2d
    fixed: bool
    heat: f64
    residual: f64
    search: f64
    flow: f64

    def advance(self, step: f64) -> None:
        if not self.fixed:
            self.heat += step * self.search
            self.residual -= step * self.flow
        self.flow = 0.0

    @property
    def error(self) -> f64:
        return self.residual**2

    @property
    def power(self) -> f64:
        return self.search * self.flow


class Element(oa.Object):
    CORNERS: ClassVar[int] = 4
    WEIGHT: ClassVar[float] = 0.25
    corners: oa.inline[Node, 4]

    def slope(self, k: i32, s: f64, t: f64) -> oa.vec2d:
        """Of the shape of corner k, in the element's own coordinates."""
        raise NotImplementedError

    def spread(self) -> None:
        for s in GAUSS:
            for t in GAUSS:
                ds = dt = rise = oa.vec2d(0.0)
                for k in range(self.CORNERS):
                    slope, node = self.slope(k, s, t), self.corners[k]
                    ds += node.pos * slope.x
                    dt += node.pos * slope.y
                    rise += slope * node.search
                gs, gt = oa.vec2d(dt.y, -dt.x), oa.vec2d(-ds.y, ds.x)
                gradient = (gs * rise.x + gt * rise.y) / ds.cross(dt)
                for k in range(self.CORNERS):
                    slope = self.slope(k, s, t)
                    flow = gradient.dot(gs * slope.x + gt * slope.y) * self.WEIGHT
                    oa.atomic_add(self.corners[k], "flow", flow)


class Triangle(Element):
    CORNERS = 3
    WEIGHT = 0.125

    def slope(self, k: i32, s: f64, t: f64) -> oa.vec2d:
        return oa.vec2d(-1.0, -1.0) if k == 0 else oa.vec2d(f64(k == 1), f64(k == 2))


class Quad(Element):
    def slope(self, k: i32, s: f64, t: f64) -> oa.vec2d:
        x, y = SIGNS[k]
        return oa.vec2d(x * (t if y > 0 else 1.0 - t), y * (s if x > 0 else 1.0 - s))


def solve(nodes: oa.Array[Node], elements: oa.Array[Element], heat: np.ndarray) -> None:
    nodes.heat = nodes.search = np.where(nodes.fixed, heat, 0.0)
    nodes.residual = 0.0
    elements.spread()
    nodes.advance(1.0)
    nodes.search = nodes.residual
    error = nodes.error.sum()
    while error > 1e-24:
        elements.spread()
        nodes.advance(error / nodes.power.sum())
        before, error = error, nodes.error.sum()
        nodes.search *= error / before
        nodes.search += nodes.residual


def stiffness(pos: np.ndarray, quads: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    matrix = np.zeros((len(pos), len(pos)))
    for corners in triangles:
        edges = pos[corners[[2, 0, 1]]] - pos[corners[[1, 2, 0]]]
        area = 0.5 * abs(np.linalg.det(edges[:2]))
        matrix[np.ix_(corners, corners)] += edges @ edges.T / (4 * area)
    for corners in quads:
        for s, t in np.ndindex(2, 2):
            x, y = GAUSS[s], GAUSS[t]
            slopes = np.array([[y - 1, 1 - y, y, -y], [x - 1, -x, x, 1 - x]])
            jacobian = slopes @ pos[corners]
            physical = np.linalg.solve(jacobian, slopes)
            part = 0.25 * np.linalg.det(jacobian) * physical.T @ physical
            matrix[np.ix_(corners, corners)] += part
    return matrix


def main(size: int = 16, plot: str = "") -> None:
    rng = np.random.default_rng(6)
    y, x = np.indices((size + 1, size + 1)).reshape(2, -1)
    fixed = (x % size == 0) | (y % size == 0)
    pos = (np.stack([x, y], 1) + np.where(fixed, 0, rng.uniform(-0.2, 0.2, (2, len(x)))).T) / size
    first = np.arange(len(x))[(x < size) & (y < size)]
    cells = np.stack([first, first + 1, first + size + 2, first + size + 1], 1)
    split = rng.random(len(cells)) < 0.5
    quads = cells[~split]
    triangles = np.concatenate([cells[split][:, :3], cells[split][:, [0, 2, 3]]])
    nodes = oa.new(Node, len(pos), pos=pos, fixed=fixed)
    elements = oa.concat(oa.new(Quad, len(quads)), oa.new(Triangle, len(triangles)))
    elements[: len(quads)].corners = nodes[quads]
    elements[len(quads) :].corners[:, :3] = nodes[triangles]
    flat, bent = 1.0 + pos @ [2.0, -1.0], np.sin(pos @ [3.0, 2.0])
    matrix = stiffness(pos, quads, triangles)
    matrix[fixed] = np.eye(len(pos))[fixed]
    for heat, known in (flat, flat), (bent, np.linalg.solve(matrix, np.where(fixed, bent, 0.0))):
        solve(nodes, elements, heat)
        off = np.abs(nodes.heat - known).max()
        print(f"{len(quads)} quads, {len(triangles)} triangles: off by {off:.1e}")
        assert off < 1e-10
    if plot:
        import matplotlib.pyplot as plt

        plt.tricontourf(*pos.T, nodes.heat, 20)
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=16, help="cells along an edge")
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))

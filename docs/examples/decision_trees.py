"""Decision trees whose nodes are objects: cuts through numbers, sets of categories, leaves.

The trees are grown by NumPy as nested tuples. These are the oracle, too: rows are sorted through
them as sets, not one by one, and every answer is the same.
"""

import argparse
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32

CLASSES = 3
COLUMNS = 6  # 0 to 3 are numbers, 4 and 5 categories from 0 to 7
Tree = tuple[Any, ...]  # (answer,) or (column, threshold or set of categories as bits, yes, no)


class Node(oa.Object):
    def decide(self, row: oa.Array[f32]) -> i32:
        raise NotImplementedError


class Leaf(Node):
    answer: i32

    def decide(self, row: oa.Array[f32]) -> i32:
        return self.answer


class Branch(Node):
    column: i32
    yes: Node
    no: Node

    def takes(self, value: f32) -> bool:
        raise NotImplementedError

    def decide(self, row: oa.Array[f32]) -> i32:
        return (self.yes if self.takes(row[self.column]) else self.no).decide(row)


class Cut(Branch):
    threshold: f32

    def takes(self, value: f32) -> bool:
        return value < self.threshold


class OneOf(Branch):
    members: i32

    def takes(self, value: f32) -> bool:
        return (self.members >> i32(value)) & 1 == 1


@oa.kernel
def vote(forest: oa.Array[Node], rows: oa.Array2[f32], votes: oa.Array2[i32]) -> None:
    i = oa.grid(1)
    for tree in forest:
        votes[i, tree.decide(rows[i])] += 1


def grow(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, depth: int) -> Tree:
    answer = int(np.bincount(y, minlength=CLASSES).argmax())
    if depth == 0 or len(y) < 10 or (y == answer).all():
        return (answer,)
    best: Tree = (1.0, 0, 0.0)
    for column in rng.choice(COLUMNS, 3, replace=False):
        for _ in range(10):
            cut = x[rng.integers(len(x)), column] if column < 4 else int(rng.integers(1, 255))
            yes = accepted(x, int(column), cut)
            parts = [np.bincount(part, minlength=CLASSES) for part in (y[yes], y[~yes])]
            impurity = sum(n.sum() - (n**2).sum() / max(n.sum(), 1) for n in parts) / len(y)
            best = min(best, (impurity, int(column), cut))
    _, column, cut = best
    yes = accepted(x, column, cut)
    return column, cut, grow(rng, x[yes], y[yes], depth - 1), grow(rng, x[~yes], y[~yes], depth - 1)


def accepted(x: np.ndarray, column: int, cut: float) -> np.ndarray:
    return x[:, column] < cut if column < 4 else (int(cut) >> x[:, column].astype(int)) & 1 == 1


def expected(tree: Tree, x: np.ndarray) -> np.ndarray:
    if len(tree) == 1:
        return np.full(len(x), tree[0])
    return np.where(accepted(x, *tree[:2]), expected(tree[2], x), expected(tree[3], x))


def objects(tree: Tree) -> Node:
    if len(tree) == 1:
        return Leaf(answer=tree[0])
    column, cut, yes, no = tree
    if column < 4:
        return Cut(column=column, threshold=cut, yes=objects(yes), no=objects(no))
    return OneOf(column=column, members=cut, yes=objects(yes), no=objects(no))


def main(size: int = 20_000, trees: int = 30) -> None:
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.normal(size=(size, 4)), rng.integers(0, 8, (size, 2))], 1).astype("f4")
    y = (x[:, 0] + x[:, 1] ** 2 > 1) + ((x[:, 4] % 3 == 1) & (x[:, 2] < 0.5)).astype(int)
    grown = []
    for _ in range(trees):
        sample = rng.integers(0, size // 2, 1000)  # the other half of the rows is new to the trees
        grown.append(grow(rng, x[sample], y[sample], 8))
    forest = oa.array(Node, [objects(tree) for tree in grown])
    votes = oa.zeros((size, CLASSES), i32)
    vote[size](forest, oa.array(f32, x), votes)
    answers = np.stack([expected(tree, x) for tree in grown])
    np.testing.assert_array_equal(votes, (answers[:, :, None] == np.arange(CLASSES)).sum(0))
    right = votes.numpy().argmax(1) == y
    print("kind     nodes")
    for kind in (Cut, OneOf, Leaf):
        print(f"{kind.__name__:6} {len(oa.all(kind)):7}")
    known, new = right[: size // 2].mean(), right[size // 2 :].mean()
    print(f"right: {known:.1%} of the rows in use, {new:.1%} of the others")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000, help="rows")
    parser.add_argument("--trees", type=int, default=30)
    main(**vars(parser.parse_args()))

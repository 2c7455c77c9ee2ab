"""Formulas as trees of objects, read by Python, derived and evaluated by kernels.

Kernels make the tree of the derivative, node by node. The oracle is Python's own eval, and for the
derivative a step along the imaginary axis, which is exact to the last digits.
"""

import argparse
import ast
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64

FORMULAS = ("3*x*x - 2*x + 1", "sin(x*x) * x", "(1 - x*x) * sin(2*x + 1)", "sin(sin(sin(x) + x))")


class Node(oa.Object):
    def at(self, x: f64) -> f64:
        raise NotImplementedError

    def derivative(self) -> "Node":
        raise NotImplementedError


class Number(Node):
    value: f64

    def __init__(self, value: f64) -> None:
        self.value = value

    def at(self, x: f64) -> f64:
        return self.value

    def derivative(self) -> Node:
        return Number(0.0)


class Variable(Node):
    def at(self, x: f64) -> f64:
        return x

    def derivative(self) -> Node:
        return Number(1.0)


class Pair(Node):
    left: Node
    right: Node

    def __init__(self, left: Node, right: Node) -> None:
        self.left, self.right = left, right


class Sum(Pair):
    def at(self, x: f64) -> f64:
        return self.left.at(x) + self.right.at(x)

    def derivative(self) -> Node:
        return Sum(self.left.derivative(), self.right.derivative())


class Product(Pair):
    def at(self, x: f64) -> f64:
        return self.left.at(x) * self.right.at(x)

    def derivative(self) -> Node:
        first = Product(self.left.derivative(), self.right)
        return Sum(first, Product(self.left, self.right.derivative()))


class Sin(Node):
    of: Node

    def __init__(self, of: Node) -> None:
        self.of = of

    def at(self, x: f64) -> f64:
        return math.sin(self.of.at(x))

    def derivative(self) -> Node:
        return Product(Sin(Sum(self.of, Number(0.5 * math.pi))), self.of.derivative())


def tree(text: ast.expr) -> Node:
    match text:
        case ast.BinOp(left, operator, right):
            a, b = tree(left), tree(right)
            if isinstance(operator, ast.Sub):
                return Sum(a, Product(Number(-1.0), b))
            return Sum(a, b) if isinstance(operator, ast.Add) else Product(a, b)
        case ast.Call(_, [of]):
            return Sin(tree(of))
        case ast.Constant(int(value)):
            return Number(value)
    return Variable()


@oa.kernel
def evaluate(nodes: oa.Array[Node], x: oa.Array[f64], out: oa.Array2[f64]) -> None:
    i, k = oa.grid(2)
    out[k, i] = nodes[k].at(x[i])


def main(size: int = 1000) -> None:
    x = np.linspace(0.5, 2.0, size)
    nodes = oa.array(Node, [tree(ast.parse(text, mode="eval").body) for text in FORMULAS])
    for kind in (Number, Sum, Product, Sin):
        oa.reserve(kind, 200)  # what a tree's derivative needs no compiler knows
    trees = oa.concat(nodes, nodes.derivative())
    values = oa.zeros((len(trees), size), f64)
    evaluate[size, len(trees)](trees, oa.array(f64, x), values)
    print(f"{len(oa.all(Node))} nodes; at x = {x[-1]}:")
    for text, value, slope in zip(FORMULAS, values, values[len(nodes) :], strict=False):
        ahead = eval(text, {"sin": np.sin}, {"x": x + 1e-100j})
        np.testing.assert_allclose(value, ahead.real, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(slope, ahead.imag * 1e100, rtol=1e-11, atol=1e-11)
        print(f"{text:28} {value[-1]:12.8f}, its derivative {slope[-1]:12.8f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    main(**vars(parser.parse_args()))

"""The typed tree as text: every statement and expression shows, with its types."""

from __future__ import annotations

import textwrap

import sharedoa as oa
from sharedoa import f32, i32

from .translated import translate
from .tree_text import program_text


@oa.value
class Point:
    x: f32
    y: f32

    def length(self) -> f32:
        return self.x * self.x + self.y * self.y


class Node(oa.Object):
    next: Node
    at: Point
    bins: oa.inline[i32, 4]

    def weight(self) -> i32: ...


class Leaf(Node):
    def weight(self) -> i32:
        return -1


@oa.kernel
def everything(nodes: oa.Array[Node], out: oa.Array[f32], k: i32):
    i = oa.grid(1)
    node = nodes[i]
    while node is not None and k < 3:
        if not (i < 2 or i >= 9):
            out[i] += Point(f32(k), node.at.y).length()
            continue
        node = node.next
    else:
        out[-1] = f32(node.weight()) if node is not None else 0.5
    for j in range(0, 8, 2):
        oa.atomic_add(node.bins, j % 4, 1)
        if ~j == abs(k):
            break
    oa.syncthreads()
    assert k != 5, "five"
    print("at", i)


def test_every_kind_of_line_is_printed():
    text = program_text(translate(everything.function))
    lines = [line.partition("  # ")[0].rstrip() for line in text.splitlines()]
    expected = """\
        kernel kernel_everything(nodes: Array[Node], out: Array[f32], k: i32) -> None:
            i: int = thread_index(0)
            node: Node = nodes[i]
            while ((node is not None<Node>) and (k < i32(3))):
                if (not ((i < 2) or (i >= 9))):
                    continue
            else:
            for j in range(0, 8, 2):
                    break
            syncthreads()
            assert (k != i32(5)), 'five'
            print('at', ' ', i, end='\\n')
    """
    places = [lines.index(line) for line in textwrap.dedent(expected).splitlines()]
    assert places == sorted(places)
    assert "virtual<Node slot 0: Leaf> " in text
    assert ".y" in text and "Point(" in text and "atomic_add(node.bins[" in text
    assert "where temporary" in text
    assert "method Leaf." in text and "return i32(-1)" in text
    assert "# test_tree_text.py:" in text
    assert text.index("kernel kernel_everything") == 0

"""What the oracle takes for defined."""

from __future__ import annotations

from typing import Any

import pytest

from .plain_memory import Array, Cells, Undefined, launch, namespace

PROGRAM = """
class Node(oa.Object):
    x: i32
    nxt: Node
def own(a, b):
    a[oa.grid(1)].x = i32(5)
def through_another(a, b):
    i = oa.grid(1)
    a[i].x = b[i].x
def one_for_all(a, b):
    a[0].x = i32(5)
def each_another(a, b):
    a[0].x = i32(oa.grid(1))
def added(a, b):
    oa.atomic_add(a[0], "x", i32(1))
def added_and_used(a, b):
    b[oa.grid(1)].x = oa.atomic_add(a[0], "x", i32(1))
def added_and_read(a, b):
    i = oa.grid(1)
    oa.atomic_add(a[0], "x", i32(1))
    b[i].x = a[i].x
def added_and_lowered(a, b):
    if oa.grid(1) > 0:
        oa.atomic_add(a[0], "x", i32(1))
    else:
        oa.atomic_min(a[0], "x", i32(1))
def exchanged(a, b):
    oa.atomic_exch(a[0], "x", i32(1))
def element(a, b):
    i = oa.grid(1)
    a[i] = b[(i + 1) % 3]
def one_element(a, b):
    a[0] = b[oa.grid(1)]
def null(a, b):
    a[0].nxt.x = i32(1)
def outside(a, b):
    a[oa.grid(1)].x = b[3].x
def without_end(a, b):
    for j in range(i64(10) ** 6):
        a[oa.grid(1)].x += i32(1)
"""


def world() -> tuple[dict[str, Any], Array, Array]:
    names = namespace(PROGRAM)
    made = []
    for number in range(6):
        node = names["Node"].__new__(names["Node"])
        object.__setattr__(node, "x", names["i32"](number))
        object.__setattr__(node, "nxt", None)
        made.append(node)
    return names, Array(Cells("Node", made[:3])), Array(Cells("Node", made[3:]))


def is_defined(name: str, *, same: bool = False) -> bool:
    names, a, b = world()
    b = a if same else b
    before = [[(node, node.x) for node in array.plain()] for array in (a, b)]
    try:
        launch(lambda index: names[name](a, b), 3)
    except Undefined:
        assert [[(node, node.x) for node in array.plain()] for array in (a, b)] == before
        return False
    return True


@pytest.mark.parametrize("name", ["own", "through_another", "one_for_all", "added", "element"])
def test_defined(name: str) -> None:
    assert is_defined(name)


@pytest.mark.parametrize(
    "name",
    ["each_another", "added_and_used", "added_and_read", "added_and_lowered", "exchanged",
     "one_element", "null", "outside", "without_end"],
)  # fmt: skip
def test_undefined(name: str) -> None:
    assert not is_defined(name)


def test_what_is_defined_depends_on_what_names_mean() -> None:
    assert is_defined("through_another", same=True) and not is_defined("element", same=True)


def test_alone_a_thread_may_do_what_it_likes() -> None:
    names, a, b = world()
    launch(lambda index: names["added_and_used"](a, b), 1)
    assert (int(a.plain()[0].x), int(b.plain()[0].x)) == (1, 0)

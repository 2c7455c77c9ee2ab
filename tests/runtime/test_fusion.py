"""Launches that become one: the same results, and one exactly where the rules allow it."""

from __future__ import annotations

import gc
import math
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.codegen.roles import RoleMetadata
from sharedoa.runtime import knobs
from sharedoa.runtime.assembly import open_target
from sharedoa.runtime.chained_methods import chained
from sharedoa.runtime.fusion import block, plans
from sharedoa.runtime.fusion.program import together
from sharedoa.runtime.launch_settings import own_settings
from sharedoa.runtime.vectorised_code import CallForm, call_program

from .everywhere import check_everywhere

N = 40


class Node(oa.Object):
    x: f32
    v: f32
    force: f32
    hits: i32
    next: Node

    def push(self, g: f32) -> None:
        self.v += g + self.force

    def move(self, dt: f32) -> None:
        if self.v > f32(1):
            return
        self.x += self.v * dt

    def clear(self) -> None:
        self.force = f32(0)

    def pull(self) -> None:
        self.force = self.next.x

    def look(self) -> None:
        self.v = self.next.force

    def give(self) -> None:
        self.next.force = self.x

    def count(self) -> None:
        oa.atomic_add(self.next, "hits", 1)

    def count_twice(self) -> None:
        oa.atomic_add(self.next, "hits", 2)

    def lend(self) -> None:
        oa.atomic_add(self.next, "force", 0.125)

    def smooth(self) -> None:
        self.x = self.next.x + self.x

    def use(self) -> None:
        self.v = self.x

    def set_angle(self) -> None:
        self.x = f32(0.3)

    def compare(self) -> None:
        if self.x == f32(0.5):
            self.hits += 1

    def turn(self) -> None:
        self.v = math.sin(self.x)

    def mark(self) -> None:
        self.next.hits = 7

    def read_hits(self) -> None:
        self.x = f32(self.hits)

    def tell(self) -> None:
        print(self.x)

    def wave(self) -> None:
        self.v = oa.f32(0.25) + self.v

    def vary(self) -> None:
        self.hits += 1


class Heavy(Node):
    def push(self, g: f32) -> None:
        self.v -= g


_KINDS: list[type[Node]] = []
for _number in range(8):

    class Kind(Node):
        def vary(self) -> None:
            self.v += f32(1)

    Kind.__name__ = Kind.__qualname__ = f"Kind{_number}"
    _KINDS.append(Kind)


class Reaching(Node):
    def vary(self) -> None:
        if self.next is not None:
            self.next.v = f32(3)


@oa.kernel
def add(a: oa.Array[f32], b: oa.Array[f32]) -> None:
    i = oa.grid(1)
    a[i] = a[i] * f32(0.5) + b[i]


@oa.kernel
def push_all(nodes: oa.Array[Node], g: f32) -> None:
    i = oa.grid(1)
    if i >= len(nodes):
        return
    nodes[i].push(g)


@oa.kernel
def vary_all(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].vary()


@oa.kernel
def swap(nodes: oa.Array[Node], others: oa.Array[Node]) -> None:
    i = oa.grid(1)
    nodes[i] = others[i]


@oa.kernel
def bump(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].v += f32(1)


@contextmanager
def fused(**settings: Any) -> Iterator[oa.Heap]:
    with knobs.scope(fuse="always"), oa.Heap(**({"backend": "cpu"} | settings)) as heap:
        yield heap


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What blocks of oa.fuse() launch."""
    found: list[Any] = []
    launch = plans._launch

    def noting(heap: oa.Heap, record: Any) -> None:
        found.append(record)
        launch(heap, record)

    monkeypatch.setattr(plans, "_launch", noting)
    return found


def ring(count: int = N, cls: type[Node] = Node) -> oa.Array[Any]:
    nodes = oa.new(cls, count)
    nodes.x = np.linspace(-1, 1, count)
    nodes.v = np.arange(count) / 16
    nodes.force = np.arange(count) % 5
    nodes.next = oa.array(Node, [nodes[(i + 1) % count] for i in range(count)])
    return nodes


def state(nodes: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: getattr(nodes, name).numpy().copy() for name in ("x", "v", "force", "hits")}


@contextmanager
def apart() -> Iterator[None]:
    yield


def same(run: Callable[[Any], None], count: int, launched: list[Any]) -> None:
    """``run`` in a block of oa.fuse() becomes ``count`` launches, and does what it does outside."""
    found = []
    for within in (apart, oa.fuse):
        with fused():
            nodes = ring()
            launched.clear()
            with within():
                run(nodes)
            found.append(state(nodes))
    assert len(launched) == count
    for name, values in found[0].items():
        assert values.tobytes() == found[1][name].tobytes(), name


# ------------------------------------------------------------------ what is one, and what is not


@pytest.mark.parametrize("length", [2, 5, 50])
def test_own_chains_are_one(length: int, launched: list[Any]) -> None:
    """F-1."""

    def run(nodes: Any) -> None:
        for number in range(length):
            if number % 2:
                oa.all(Node).move(0.5)
            else:
                oa.all(Node).push(0.25)

    same(run, 1, launched)


def test_kernels_over_an_array_are_one(launched: list[Any]) -> None:
    def run(nodes: Any) -> None:
        push_all[N](nodes, 0.5)
        bump[N](nodes)
        push_all[N](nodes, 0.25)

    same(run, 1, launched)


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        ("move", "pull", "Node.x is"),
        ("pull", "move", "Node.x is read through another object"),
        ("clear", "give", "Node.force is written"),
        ("give", "push", "Node.force is written through another object"),
        ("give", "give", "Node.force is written"),
        ("count", "read_hits", "Node.hits is added to"),
        ("lend", "lend", "Node.force is added to"),
        ("smooth", "use", "Node.x is read through another object"),
        ("set_angle", "turn", "computed of constants in Node.x"),
        ("compare", "turn", "computed of constants in Node.x"),
        ("turn", "compare", "computed of constants in Node.x"),
        ("tell", "move", "prints"),
        ("move", "tell", "prints"),
    ],
)
def test_what_others_see_is_not(
    first: str, second: str, field: str, launched: list[Any], capfd: Any
) -> None:
    """F-2, F-3."""
    explained = []

    def run(nodes: Any) -> None:
        getattr(oa.all(Node), first)(*([0.5] if first == "move" else []))
        arguments = {"move": [0.5], "push": [0.5]}.get(second, [])
        getattr(oa.all(Node), second)(*arguments)

    same(run, 2, launched)
    with fused():
        ring()
        with oa.capture() as step:
            run(None)
        explained.append(step.explain())
    assert field in explained[0]
    assert "test_fusion.py:" in explained[0]


def test_integer_atomics_may_be_one(launched: list[Any]) -> None:
    def run(nodes: Any) -> None:
        oa.all(Node).count()
        oa.all(Node).count_twice()

    same(run, 1, launched)


def test_a_class_that_reaches_others_forbids_it(launched: list[Any]) -> None:
    """F-4: as long as it has objects."""
    with fused() as heap:
        made = [oa.new(kind, 5) for kind in [*_KINDS, Reaching]]
        nodes = oa.concat(*made)
        _know(nodes)
        for _ in range(2):
            with oa.fuse():
                oa.all(Node).vary()
                oa.all(Node).push(1.0)
        assert len(launched) == 4
        oa.delete(made[-1])
        launched.clear()
        with oa.fuse() as block_:
            oa.all(Node).vary()
            oa.all(Node).push(1.0)
        assert len(launched) == 1, block_.explain()
        assert heap.backend.name == "cpu"


def _know(nodes: Any) -> None:
    nodes.x = 1.0


def test_a_class_that_comes_to_have_objects_is_seen(launched: list[Any]) -> None:
    with fused():
        oa.new(_KINDS[0], 5)
        with oa.capture() as step:
            oa.all(Node).vary()
            oa.all(Node).push(1.0)
        step.run(2)
        assert "one with the launch before it" in step.explain()
        other = oa.new(Reaching, 2)
        other.next = oa.all(_KINDS[0])[:2]
        step.run()
        assert "is written through another object" in step.explain()


def test_virtual_calls_in_kernels_have_the_classes_that_live(launched: list[Any]) -> None:
    with fused():
        nodes = oa.new(_KINDS[0], 8)
        others = oa.new(Reaching, 1)
        for count in (2, 1):
            launched.clear()
            with oa.fuse() as block_:
                vary_all[8](nodes)
                bump[8](nodes)
            assert len(launched) == count, block_.explain()
            if count == 2:
                oa.delete(others)


# ------------------------------------------------------------------ adversarial traces (6.6)


@oa.kernel
def first_sets(a: oa.Array[f32]) -> None:
    if oa.grid(1) == 0:
        a[0] = f32(5)


@oa.kernel
def take_first(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    b[oa.grid(1)] = a[0]


@oa.kernel
def ones(a: oa.Array[f32]) -> None:
    a[oa.grid(1)] = f32(1)


@oa.kernel
def take_half(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    b[i] = a[i // 2]


@oa.kernel
def set_half(a: oa.Array[f32], b: oa.Array[f32], c: oa.Array[f32]) -> None:
    i = oa.grid(1)
    a[i // 2] = f32(9)
    c[i] = b[i]


@oa.kernel
def where_positive(a: oa.Array[f32], m: oa.Array[f32]) -> None:
    i = oa.grid(1)
    if m[i] > f32(0):
        a[i] = f32(2)


@oa.kernel
def copy(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    b[i] = a[i]


@oa.kernel
def nines(a: oa.Array[f32]) -> None:
    a[oa.grid(1)] = f32(9)


@oa.kernel
def gather(b: oa.Array[f32], a: oa.Array[f32], index: oa.Array[i32]) -> None:
    i = oa.grid(1)
    b[i] = a[index[i]]


_TRACES: dict[str, tuple[Callable[..., Any], int]] = {
    "a constant index": (lambda a, b, c, m, k: [first_sets[N](a), take_first[N](b, a)], 2),
    "own write, constant read": (lambda a, b, c, m, k: [ones[N](a), take_first[N](b, a)], 2),
    "a function that is not injective": (
        lambda a, b, c, m, k: [take_half[N](b, a), set_half[N](a, b, c)], 2,
    ),
    "a conditional write": (lambda a, b, c, m, k: [ones[N](a), where_positive[N](a, m)], 1),
    "write after read": (lambda a, b, c, m, k: [copy[N](b, a), nines[N](a)], 1),
    "a gathered read": (lambda a, b, c, m, k: [ones[N](a), gather[N](b, a, k)], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", _TRACES)
def test_adversarial_traces(name: str, launched: list[Any]) -> None:
    """F-5."""
    trace, count = _TRACES[name]
    found = []
    for within in (apart, oa.fuse):
        with fused():
            a, b, c, m = (oa.array(f32, np.arange(N) * k - 7) for k in (1, 2, 3, 1))
            index = oa.array(i32, np.arange(N)[::-1])
            launched.clear()
            with within():
                trace(a, b, c, m, index)
                read = a.numpy().copy()  # in the block
            found.append([read, *(each.numpy().copy() for each in (a, b, c))])
    assert len(launched) == count
    np.testing.assert_array_equal(found[0], found[1])


def test_a_host_write_after_a_read(launched: list[Any]) -> None:
    """F-6, both ways."""
    with fused():
        a, b = oa.array(f32, np.arange(N)), oa.zeros(N, f32)
        with oa.fuse():
            copy[N](b, a)
            a[:] = np.full(N, 100)
            add[N](a, b)
        np.testing.assert_array_equal(b.numpy(), np.arange(N))
        np.testing.assert_array_equal(a.numpy(), 50 + np.arange(N))
        nodes = ring()
        with oa.fuse():
            bump[N](nodes)
            nodes[3].v = 10.0
            bump[N](nodes)
            assert nodes[3].v == 11.0
            nodes.v = 0.0
            bump[N](nodes)
        assert nodes[3].v == 1.0


# ------------------------------------------------------------------ arrays that are others


def test_arrays_that_overlap_are_not_own(launched: list[Any]) -> None:
    with fused():
        a = oa.array(f32, np.arange(N))
        for first, second, count in (
            ((a[:20], a[:20]), (a[:20], a[:20]), 1),
            ((a[:20], a[20:]), (a[20:], a[20:]), 1),
            ((a[:20], a[:20]), (a[1:21], a[1:21]), 2),
        ):
            launched.clear()
            before = a.numpy().copy()
            with oa.fuse():
                add[20](*first)
                add[20](*second)
            assert len(launched) == count
            got = a.numpy().copy()
            a[:] = before
            add[20](*first)
            add[20](*second)
            np.testing.assert_array_equal(got, a.numpy())


def test_arrays_with_an_object_twice_are_not_own(launched: list[Any]) -> None:
    with fused():
        nodes = ring()
        twice = oa.array(Node, [nodes[i // 2] for i in range(N)])
        with oa.fuse():
            push_all[N](twice, 1.0)
            bump[N](twice)
        assert len(launched) == 2
        launched.clear()
        with oa.fuse():
            push_all[20](nodes[:20], 1.0)
            bump[20](nodes[1:21])
        assert len(launched) == 2
        launched.clear()
        with oa.fuse():
            push_all[20](nodes[:20], 1.0)
            bump[20](nodes[20:])
        assert len(launched) == 1


def test_arrays_that_change_in_between_are_not_own(launched: list[Any]) -> None:
    found = []
    for within in (apart, oa.fuse):
        with fused():
            nodes, others = ring(), ring()
            same_ones = oa.array(Node, [others[0]] * N)
            launched.clear()
            with within():
                bump[N](nodes)
                swap[N](nodes, same_ones)  # what both change are elements and fields of their own
                push_all[1](nodes, 0.5)
                push_all[1](nodes, 0.5)  # on the same object, nobody knows which
            found.append(state(others))
    assert len(launched) == 3
    np.testing.assert_array_equal(found[0]["v"], found[1]["v"])


def test_arrays_that_the_host_changes_are_asked_again() -> None:
    with fused():
        nodes = ring()
        with oa.capture() as step:
            push_all[N](nodes, 1.0)
            bump[N](nodes)
        step.run()
        assert "one with the launch before it" in step.explain()
        nodes[1] = nodes[0]
        step.run()
        assert "one with the launch before it" not in step.explain()


# ------------------------------------------------------------------ what else happens in a block


def test_creation_and_deletion_come_between(launched: list[Any]) -> None:
    """F-7."""
    with fused():
        nodes = ring()
        with oa.fuse():
            oa.all(Node).clear()
            more = oa.new(Node, 3, force=2.0)
            oa.all(Node).push(1.0)
            oa.delete(nodes[0])
            oa.all(Node).push(1.0)
        assert len(launched) == 3
        np.testing.assert_array_equal(more.v.numpy(), np.full(3, 6))
        np.testing.assert_array_equal(more.force.numpy(), np.full(3, 2))


def test_an_exception_leaves_what_was_launched(launched: list[Any]) -> None:
    with fused():
        nodes = ring()
        before = state(nodes)["v"]
        with pytest.raises(ZeroDivisionError), oa.fuse():
            bump[N](nodes)
            bump[N](nodes)
            raise ZeroDivisionError
        assert len(launched) == 1
        np.testing.assert_array_equal(nodes.v.numpy(), before + 2)
        with pytest.raises(oa.ArgumentError, match="push_all, argument g"), oa.fuse():
            bump[N](nodes)
            push_all[N](nodes, "much")
        with pytest.raises(oa.ArgumentError, match=r"Node\.push, argument g"), oa.fuse():
            bump[N](nodes)
            oa.all(Node).push("much")
        np.testing.assert_array_equal(nodes.v.numpy(), before + 4)


def test_blocks_nest() -> None:
    with fused():
        nodes = ring()
        before = state(nodes)["v"]
        with oa.fuse():
            bump[N](nodes)
            with oa.fuse():
                bump[N](nodes)
            bump[N](nodes)
            with oa.Heap(backend="cpu"):
                other = oa.new(Node, 4)
                bump[4](other)
                assert other.v[0] == 1
            with oa.capture() as step:
                bump[N](nodes)
            step.run(2)
        np.testing.assert_array_equal(nodes.v.numpy(), before + 5)


def test_other_threads_see_what_waits() -> None:
    with fused():
        nodes, other = ring(), ring()
        before = state(nodes)["v"]
        seen = []

        def look() -> None:
            seen.append(nodes.v.numpy().copy())
            swap[1](other[:1], other[1:2])
            bump[N](nodes)
            seen.append(nodes.v.numpy().copy())

        with oa.fuse():
            bump[N](nodes)
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            bump[N](nodes)
        np.testing.assert_array_equal(seen[0], before + 1)
        np.testing.assert_array_equal(seen[1], before + 2)
        np.testing.assert_array_equal(nodes.v.numpy(), before + 3)


def test_launches_of_other_threads_come_after_what_waits() -> None:
    with fused():
        a = oa.zeros(N, f32)
        ones[N](a)  # its code is ready, so that it takes the quick way
        nines[N](a)
        with oa.fuse():
            nines[N](a)
            thread = threading.Thread(target=lambda: ones[N](a))
            thread.start()
            thread.join()
        np.testing.assert_array_equal(a.numpy(), np.ones(N))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks_launch_what_waits(launched: list[Any]) -> None:
    with fused():
        a = oa.zeros(N, f32)
        b = oa.array(f32, np.ones(N))
        with oa.fuse():
            add[N](a, b)
            child = os.fork()
            if not child:
                os._exit(0 if len(launched) == 1 and a.numpy()[0] == 1 else 1)
            assert os.waitpid(child, 0)[1] == 0
        assert len(launched) == 1
        assert a[0] == 1


def test_redefinitions_are_seen() -> None:
    with fused():

        class Own(oa.Object):
            x: f32
            other: Own

            def go(self) -> None:
                self.x += f32(1)

            def see(self) -> None:
                self.x = self.x * f32(2)

        a, b = oa.new(Own, 8), oa.new(Own, 1)
        a.other = b[0]
        with oa.capture() as step:
            oa.all(Own).go()
            oa.all(Own).see()
        step.run()
        assert "one with the launch before it" in step.explain()

        def see(self: Own) -> None:
            self.x = self.other.x * f32(2)

        Own.see = see  # type: ignore[method-assign]
        b.other = b[0]
        step.run()
        assert "Own.x is" in step.explain()
        assert [a.x[0], b.x[0]] in ([6, 6], [14, 6])


# ------------------------------------------------------------------ code, plans, every backend


def _code(program: Any, heap: oa.Heap, target: str) -> str:
    settings = own_settings(heap, None, None)
    made = program.compilation(heap, *settings, open_target(target))
    text = made.products["opt.ll"]
    assert isinstance(text, str)
    return text


def test_fields_stay_in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-8, F-9: what one method stores the next one does not load, though stores to other fields
    stand in between, of other objects, too: roles tell that they do not meet."""
    cls = Node.__sharedoa__  # type: ignore[attr-defined]
    loads = {}
    for names in (("push",), ("push", "mark", "wave", "clear", "push")):
        method = chained([cls.find_method(name) for name in names])
        for knows in (True, False):
            if not knows:
                monkeypatch.setattr(RoleMetadata, "mark", lambda *given: None)
            form = CallForm((False,) * len(method.signature.types), exact=True)
            call_program.cache_clear()
            program = call_program(cls, ((cls, method),), form)
            with oa.Heap(backend="cpu", mode="auto") as heap:
                text = _code(program, heap, "nvptx")
            monkeypatch.undo()
            loads[len(names), knows] = text.count("= load float")
            if len(names) > 1 and knows:
                assert text.count("store float") == 2
    assert loads[5, True] == loads[1, True] == 2
    assert loads[5, False] > 2


@pytest.mark.parametrize("mode", ["auto", "tag+switch"])
def test_one_lookup_an_object(mode: str) -> None:
    """F-8: two virtual calls on an object look for its class as often as one."""
    with oa.Heap(backend="cpu", mode=mode) as heap:
        made = [oa.new(cls, 4) for cls in (_KINDS[0], Heavy, Reaching)]
        nodes = oa.concat(*made)
        program, _ = together([(push_all.program, (nodes, 1.0))] * 2)
        one, both = (_code(p, heap, "host").count("icmp") for p in (push_all.program, program))
        assert both <= one + 1


def test_plans_are_made_once(launched: list[Any]) -> None:
    """F-10."""
    rounds = 10_000 if os.environ.get("SHAREDOA_LONG") else 600
    with fused() as heap:
        nodes = oa.new(Node, 8)

        def loop(count: int) -> None:
            for _ in range(count):
                with oa.fuse():
                    oa.all(Node).push(0.5)
                    bump[8](nodes)
                    bump[8](nodes)

        loop(20)
        made = block._deferred[heap].plans.made
        gc.collect()
        tracemalloc.start()
        loop(50)
        launched.clear()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        loop(rounds)
        launched.clear()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert block._deferred[heap].plans.made == made == 1
        assert grown < 20_000


def test_long_blocks_are_cut_at_whole_rounds(launched: list[Any]) -> None:
    with fused() as heap:
        nodes = oa.new(Node, 8)
        with oa.fuse():
            for _ in range(100):
                oa.all(Node).push(0.5)
                oa.all(Node).wave()
                oa.all(Node).move(0.5)
        assert block._deferred[heap].plans.made == 2  # the last one is shorter
        np.testing.assert_array_equal(nodes.v.numpy(), np.full(8, 75))


def test_everywhere() -> None:
    def run() -> dict[str, np.ndarray[Any, Any]]:
        with knobs.scope(fuse="always"):
            nodes = ring(12)
            more = ring(5, Heavy)
            scalars = oa.array(f32, np.arange(12))
            with oa.fuse():
                oa.all(Node).push(0.5)
                oa.all(Node).move(0.25)
                oa.all(Node).pull()
                oa.all(Node).count()
                oa.all(Node).count_twice()
                push_all[12](nodes, 0.125)
                bump[12](nodes)
                add[12](scalars, scalars)
                add[12](scalars, scalars)
                oa.all(Node).look()
            with oa.capture() as step:
                oa.all(Node).push(0.5)
                oa.all(Node).wave()
                push_all[12](nodes, 0.125)
                bump[12](nodes)
                oa.all(Node).pull()
            step.run(3)
            found = {"scalars": scalars.numpy().copy()}
            for name, objects in (("nodes", nodes), ("heavy", more)):
                found |= {f"{name}.{k}": v for k, v in state(objects).items()}
            return found

    check_everywhere(run)

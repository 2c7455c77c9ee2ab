"""Blocks of oa.fuse(): what else happens in them, their code and plans, and every backend."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.codegen.roles import RoleMetadata
from sharedoa.runtime import knobs
from sharedoa.runtime.assembly import open_target
from sharedoa.runtime.chained_methods import chained
from sharedoa.runtime.fusion import block
from sharedoa.runtime.fusion.program import together
from sharedoa.runtime.launch_settings import own_settings
from sharedoa.runtime.vectorised_code import CallForm, call_program

from ..quick_code import optimised_code  # noqa: F401
from .everywhere import check_everywhere
from .fused import (
    KINDS,
    Heavy,
    N,
    Node,
    Reaching,
    add,
    bump,
    fused,
    nines,
    ones,
    push_all,
    ring,
    state,
    swap,
)

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


@pytest.mark.parametrize("fails", [False, True])
def test_launches_wait_again_behind_blocks_of_others(launched: list[Any], fails: bool) -> None:
    """A tape and a capture give the launches of the thread back to the block that they were in."""
    with fused():
        nodes = ring()
        with oa.fuse():
            for other in (oa.tape, oa.capture):
                with contextlib.suppress(ZeroDivisionError), other():
                    oa.all(Node).push(1.0)
                    if fails:
                        raise ZeroDivisionError
                launched.clear()
                oa.all(Node).push(1.0)
                oa.all(Node).push(1.0)
                assert not launched
                nodes.v.numpy()
                assert launched


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


def test_steps_of_other_threads_come_after_what_waits() -> None:
    with fused():
        a = oa.zeros(N, f32)
        with oa.capture() as step:
            ones[N](a)
        step.run()
        with oa.fuse():
            nines[N](a)
            thread = threading.Thread(target=step.run)
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
            cls.made.clear()
            program = call_program(cls, ((cls, method),), form)
            # A compiler that was tampered with makes other code than the cache has.
            with knobs.scope(cache_dir="off"), oa.Heap(backend="cpu", mode="auto") as heap:
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
        made = [oa.new(cls, 4) for cls in (KINDS[0], Heavy, Reaching)]
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


@pytest.mark.parametrize(
    "names",
    [("cpu", "tiles", "one by one", "warps"), pytest.param((), marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_everywhere(names: tuple[str, ...]) -> None:
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

    check_everywhere(run, *names)


# ------------------------------------------------------------------ calls that are as those before


class Pair(oa.Object):
    at: oa.vec3
    x: f32
    n: i32
    other: Pair

    def shift(self, by: oa.vec3) -> None:
        self.at = self.at + by

    def take(self, values: oa.Array[f32], place: i32) -> None:
        self.x += values[place]

    def meet(self, one: Pair) -> None:
        self.other = one
        self.n += 1

    def grow(self, by: f32) -> None:
        self.x += by


@oa.kernel
def shift_all(pairs: oa.Array[Pair], by: oa.vec3) -> None:
    pairs[oa.grid(1)].at = pairs[oa.grid(1)].at + by


@pytest.mark.parametrize("within", [oa.fuse, oa.capture])
def test_numbers_are_those_that_they_were(within: Any) -> None:
    """Lists and arrays that the host changes after the call that they were given to."""
    with fused():
        pairs = oa.new(Pair, 3)
        for _ in range(3):
            by, also = [1.0, 2.0, 3.0], np.float32([1, 2, 3])
            pairs.at = 0.0
            with within() as block_:
                for given in (by, also):
                    oa.all(Pair).shift(given)
                    shift_all[3](pairs, given)
                    given[0] = 100.0
            if within is oa.capture:
                block_.run()
            np.testing.assert_array_equal(pairs.at.numpy(), [[4, 8, 12]] * 3)


def test_remembered_calls_see_what_has_changed(launched: list[Any]) -> None:
    """The same block again and again, before which something is not as it was."""
    with fused() as heap:
        pairs = oa.new(Pair, 4)
        one = pairs[1]
        arrays = [oa.array(f32, [k, 10 * k]) for k in (1, 2)]

        def block_(values: Any, place: Any, by: Any) -> int:
            launched.clear()
            with oa.fuse():
                oa.all(Pair).take(values, place)
                oa.all(Pair).meet(one)
                oa.all(Pair).grow(by)
            return len(launched)

        for _ in range(3):
            assert block_(arrays[0], 0, 0.5) == 1
        assert block_(arrays[1], 1, 1) == 1  # another array, and a number of another class
        np.testing.assert_array_equal(pairs.x.numpy(), np.full(4, 25.5))
        with pytest.raises(oa.ArgumentError, match=r"argument place"):
            block_(arrays[1], 1 << 40, 1.0)
        with pytest.raises(oa.ArgumentError, match=r"argument values"):
            block_(oa.array(i32, [1, 2]), 0, 1.0)
        with pytest.raises(oa.ArgumentError, match=r"Pair\.grow takes 1 arguments"), oa.fuse():
            oa.all(Pair).grow(1.0, 2.0)
        with oa.Heap(backend="cpu"):
            strange = oa.array(f32, [5])
        with pytest.raises(oa.ArgumentError, match="heap"):
            block_(strange, 0, 1.0)
        pairs.x = 0.0
        oa.delete(pairs[3])
        more = oa.new(Pair, 2)
        assert block_(arrays[0], 0, oa.array(f32, np.arange(5))) > 1  # one element an object
        np.testing.assert_array_equal(pairs[:3].x.numpy(), [1, 2, 3])
        np.testing.assert_array_equal(more.x.numpy(), [4, 5])

        def grow(self: Pair, by: f32) -> None:
            self.x = f32(7) + by

        before = Pair.grow
        Pair.grow = grow  # type: ignore[method-assign]
        assert block_(arrays[0], 0, 1.0) == 1
        np.testing.assert_array_equal(more.x.numpy(), [8, 8])
        Pair.grow = before  # type: ignore[method-assign]
        seen = []

        def elsewhere() -> None:
            with heap:
                seen.append(block_(arrays[0], 0, 1.0))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        block_(arrays[0], 0, 1.0)
        np.testing.assert_array_equal(more.x.numpy(), [12, 12])
        assert seen


_RATE = 1.0
_TABLE = np.array([1.0, 2.0], np.float32)


class Rated(oa.Object):
    x: f32

    def by_name(self) -> None:
        self.x += f32(_RATE)

    def by_table(self, place: i32) -> None:
        self.x += _TABLE[place]


@oa.kernel
def rate_all(rated: oa.Array[Rated]) -> None:
    rated[oa.grid(1)].x += f32(_RATE)


@pytest.mark.parametrize("is_known", [False, True])
def test_what_waits_means_what_it_meant(is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, tables and methods that the host changes after a launch was asked for."""
    module = globals()
    with fused():
        made = oa.new(Rated, 3)
        rated = oa.all(Rated)
        monkeypatch.setitem(module, "_RATE", 1.0)
        if is_known:
            for _ in range(2):
                with oa.fuse():
                    rated.by_name()
                    rated.by_table(0)
                    rate_all[3](made)
            made.x = 0.0
        with oa.fuse():
            rated.by_table(0)
            rated.by_name()
            rate_all[3](made)
            module["_RATE"] = 10.0
            rated.by_name()
            rate_all[3](made)
            _TABLE[0] = 100.0
            rated.by_table(0)
        np.testing.assert_array_equal(made.x.numpy(), np.full(3, 3 + 20 + 100))
        assert (_RATE, _TABLE[0]) == (10, 100)
        _TABLE[0], made.x = 1.0, 0.0
        before = Rated.by_name

        def by_name(self: Rated) -> None:
            self.x += f32(1000)

        with oa.fuse():
            rated.by_name()
            Rated.by_name = by_name  # type: ignore[method-assign]
            rated.by_name()
        Rated.by_name = before  # type: ignore[method-assign]
        np.testing.assert_array_equal(made.x.numpy(), np.full(3, 1010))

        def bound(rate: float) -> tuple[Any, Any]:
            @oa.kernel
            def by_cell(rated: oa.Array[Rated]) -> None:
                rated[oa.grid(1)].x += f32(rate)

            def change() -> None:
                nonlocal rate
                rate = 7.0

            return by_cell, change

        def of_settings(settings: Any) -> tuple[Any, Any]:
            @oa.kernel
            def by_attribute(rated: oa.Array[Rated]) -> None:
                rated[oa.grid(1)].x += f32(settings.rate)

            def change() -> None:
                settings.rate = 7.0

            return by_attribute, change

        for by_cell, change in (bound(0.5), of_settings(SimpleNamespace(rate=0.5))):
            made.x = 0.0
            with oa.fuse():
                by_cell[3](made)
                change()
                by_cell[3](made)
            np.testing.assert_array_equal(made.x.numpy(), np.full(3, 7.5))


def test_tables_that_cannot_be_as_they_were() -> None:
    with fused():
        made = oa.new(Rated, 3)
        with pytest.raises(oa.HeapError, match="what has changed"), oa.fuse():
            oa.all(Rated).by_table(0)
            _TABLE[0] = 5.0
            _TABLE.flags.writeable = False
        _TABLE.flags.writeable = True
        _TABLE[0] = 1.0
        assert made.x[0] == 0


def test_remembered_calls_cost_little() -> None:
    """Calls of a block that ran before are not looked at with care."""
    with fused() as heap:
        oa.new(Node, 8)

        def run() -> None:
            with oa.fuse():
                oa.all(Node).push(0.5)
                oa.all(Node).move(0.5)

        run()
        own, careful = block._deferred[heap], []
        look_at = own.look_at
        own.look_at = lambda *given: careful.append(given) or look_at(*given)  # type: ignore[func-returns-value]
        made = own.plans.made
        for _ in range(5):
            run()
        assert not careful and own.plans.made == made

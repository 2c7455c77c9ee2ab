"""Blocks of oa.fuse(): what else happens in them, their code and plans, and every backend."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.codegen.roles import RoleMetadata
from sharedoa.runtime import knobs
from sharedoa.runtime.assembly import open_target
from sharedoa.runtime.chained_methods import chained
from sharedoa.runtime.fusion import block
from sharedoa.runtime.fusion.program import together
from sharedoa.runtime.launch_settings import own_settings
from sharedoa.runtime.vectorised_code import CallForm, call_program

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

"""Whether several launches as one are worth it: found out once, by a clock or by what devices say
of the code, and remembered (F6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.runtime import knobs
from sharedoa.runtime.fusion import trial
from sharedoa.runtime.fusion.trial import _Use
from tests.codegen.interpreted import InterpretedGpu

from .fused import N, Node, bump, nines, ones, push_all, ring


def _block() -> Any:
    with oa.fuse() as block:
        oa.all(Node).push(0.5)
        oa.all(Node).wave()
        oa.all(Node).move(0.5)
    return block


class _Clock:
    """Stands still but for what launches are said to take, by how many there are."""

    def __init__(self, launched: list[Any], seconds: dict[int, float]) -> None:
        self._launched, self._seconds, self._now = launched, seconds, 0.0
        self._asked = 0

    def perf_counter(self) -> float:
        self._asked += 1
        if self._asked % 2 == 0:
            self._now += self._seconds[len(self._launched)]
        self._launched.clear()
        return self._now


@pytest.mark.parametrize(
    ("one", "apart", "pays"), [(3.0, 1.0, False), (1.0, 3.0, True), (1.01, 1.0, True)]
)
def test_a_processor_is_timed(
    one: float, apart: float, pays: bool, launched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "time", _Clock(launched, {1: one * 1e-6, 3: apart * 1e-6}))
    with oa.Heap(backend="cpu"):
        nodes, turns = ring(), 0
        expected = nodes.v.numpy().copy()
        while "they are launched" not in (text := _block().explain()):
            turns += 1
            assert turns < 20
        assert f"{one:.0f} us as one launch, {apart:.0f} us by themselves" in text
        launched.clear()
        _block()
        assert len(launched) == (1 if pays else 3)
        other = oa.new(Node, 2)  # another plan, of the same launches
        other.force = 1.0
        launched.clear()
        _block()
        assert len(launched) == (1 if pays else 3)
        monkeypatch.undo()
        for _ in range(turns + 3):
            expected = np.float32(0.25) + (expected + (np.float32(0.5) + nodes.force.numpy()))
        np.testing.assert_array_equal(nodes.v.numpy(), expected)


class _Device(InterpretedGpu):
    """Says that its first kernels use ``apart``, and what comes after the third of them ``one``."""

    def __init__(self, apart: dict[str, int], one: dict[str, int], count: int) -> None:
        super().__init__()
        self._uses, self._count = (apart, one), count
        self._asked: list[Any] = []

    def attributes(self, handle: Any) -> dict[str, int]:
        if handle not in self._asked:
            self._asked.append(handle)
        return self._uses[self._asked.index(handle) >= self._count]


def _uses(registers: int, stack: int = 0) -> dict[str, int]:
    return {"registers": registers, "stack": stack}


_VERDICTS = [
    (_uses(32), _uses(32), True),
    (_uses(32), _uses(20), True),
    (_uses(32), _uses(40), False),  # 51 warps fit on a multiprocessor, not 64
    (_uses(32), _uses(32, 8), False),
    (_uses(40, 16), _uses(40, 16), True),
    (_uses(40, 16), _uses(40, 24), False),
    (_uses(33), _uses(40), True),  # they are given out by eight
    (_uses(200), _uses(255), False),
]


def _launches_of_kernels(nodes: Any) -> None:
    push_all[N](nodes, 0.5)
    bump[N](nodes)


@pytest.mark.parametrize(("apart", "one", "pays"), _VERDICTS)
def test_a_device_is_asked_what_its_code_uses(
    apart: dict[str, int], one: dict[str, int], pays: bool, launched: list[Any]
) -> None:
    """F-12: what spills as one, or leaves room for fewer threads, is launched by itself."""
    with oa.Heap(backend=_Device(apart, one, count=2)):
        nodes = ring()
        before = nodes.v.numpy().copy()
        for turn in range(4):
            launched.clear()
            with oa.fuse() as block:
                _launches_of_kernels(nodes)
            # The first time they run by themselves, the second time as one, to be compared.
            assert len(launched) == (2, 1, 2 - pays, 2 - pays)[turn]
        said = "they are launched so" if pays else "they are launched by themselves"
        assert f"{said}: {one['registers']} registers" in block.explain()
        assert ("in memory" in block.explain()) == (one["stack"] > apart["stack"])
        for _ in range(4):
            before = before + (np.float32(0.5) + nodes.force.numpy()) + np.float32(1)
        np.testing.assert_array_equal(nodes.v.numpy(), before)


@pytest.mark.parametrize(("apart", "one", "pays"), _VERDICTS[2:5])
def test_captured_steps_ask_too(apart: dict[str, int], one: dict[str, int], pays: bool) -> None:
    with oa.Heap(backend=_Device(apart, one, count=2)):
        nodes = ring()
        with oa.capture() as step:
            _launches_of_kernels(nodes)
        step.run(3)
        assert ("runs are so" if pays else "runs are by themselves") in step.explain()


@pytest.mark.parametrize(("one", "pays"), [(_uses(40), True), (_uses(32, 8), False)])
def test_small_launches_that_share_one_need_no_room(one: dict[str, int], pays: bool) -> None:
    class _Idle(_Device):
        def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
            return False

    with oa.Heap(backend=_Idle(_uses(32), one, count=2)):
        a, b = oa.zeros(N, f32), oa.zeros(N, f32)
        with oa.capture() as step:
            ones[N](a)
            nines[N - 8](b)
        step.run(3)
        assert "in threads of their own" in step.explain()
        assert ("runs are so" if pays else "runs are by themselves") in step.explain()


@pytest.mark.parametrize(("setting", "count"), [("0", 0), ("always", 1)], ids=["never", "always"])
def test_the_setting_decides(setting: str, count: int, launched: list[Any]) -> None:
    device = _Device(_uses(32), _uses(255, 64), count=2)
    with knobs.scope(fuse=setting), oa.Heap(backend=device):
        nodes = ring()
        for _ in range(3):
            launched.clear()
            with oa.fuse():
                _launches_of_kernels(nodes)
            assert len(launched) == count  # nothing waits where nothing is to be one
        assert (nodes.v.numpy() != 0).all()


def test_ptxas_is_asked_where_no_device_answers() -> None:
    """What it says of one kernel is what its report says."""
    from sharedoa.targets.ptxas import assemble

    with oa.Heap(backend=InterpretedGpu()) as heap:
        nodes = ring()
        bump[N](nodes)
        unit = bump.program.binding.unit
        found = _Use.of(heap.backend, unit)
        if found is None:
            pytest.skip("there is no ptxas")
        target: Any = unit.compilation.job.target
        report = assemble(str(unit.compilation.products["ptx"]), target.architecture)
        assert (found.registers, found.stack) == (report.registers, report.stack)
        assert found.warps == 64

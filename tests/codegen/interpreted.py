"""A GPU that is an interpreter: kernels are compiled to PTX as for a real one, which an interpreter
runs on the heap's own memory. Heaps, arguments and state are those of any backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dispatch import state as state_block
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.staging import HostStaging
from sharedoa.heap.provider import HostProvider, Slab
from sharedoa.targets.base import Stages, Target
from sharedoa.targets.nvptx import NvptxTarget
from tests.ptxpass.interpreter import Machine
from tests.ptxpass.interpreter.memory import Block, Memory
from tests.ptxpass.interpreter.warps import Choose, all_of_them

_SMALL_BLOCK = 64


class _Provider(HostProvider):
    """Slabs are blocks of ``memory``."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self._blocks: dict[int, Block] = {}
        self._given_back: list[Block] = []

    def allocate(self, size: int) -> Slab:
        slab = super().allocate(size)
        block = self._memory.add(slab.address, memoryview(slab.memory), "global", "a slab")
        self._blocks[slab.address] = block
        return slab

    def free(self, slab: Slab) -> None:
        super().free(slab)
        self._given_back.append(self._blocks.pop(slab.address))

    def forget_given_back(self) -> None:
        """Between launches, as heaps that are collected give their slabs back at any time."""
        while self._given_back:
            self._memory.remove(self._given_back.pop())


class SlabStaging(HostStaging):
    """Pieces in memory that the interpreter knows."""

    def __init__(self, backend: InterpretedGpu, pieces: int, piece_bytes: int) -> None:
        super().__init__(backend.synchronize, 0, piece_bytes)
        self._slab = backend.provider.allocate(pieces * piece_bytes)
        self._memory = [
            self._slab.memory[first : first + piece_bytes]
            for first in range(0, pieces * piece_bytes, piece_bytes)
        ]


@dataclass(eq=False)
class Loaded:
    symbol: str
    machine: Machine


class InterpretedGpu(CpuBackend):
    """Launches have ended when ``launch`` returns. ``collectives`` counts what threads of warps did
    together, by the instruction; ``choose`` says who is active together."""

    name = label = "interpreted"

    def __init__(self, architecture: str = "sm_90") -> None:
        super().__init__()
        self._target = NvptxTarget(architecture)
        self.collectives: Counter[str] = Counter()
        self.choose: Choose = all_of_them
        #: Slabs, and what kernels have got from malloc: all modules of a GPU have them together.
        self._memory = Memory()
        #: As in ``Machine``, if it is not None.
        self.unwritten: Callable[[], int] | None = None

    @property
    def target(self) -> Target:
        return self._target

    @cached_property
    def provider(self) -> _Provider:
        return _Provider(self._memory)

    def load(  # type: ignore[override]
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> Loaded:
        ptx = stages["ptx"]
        assert isinstance(ptx, str)
        return Loaded(symbol, Machine(ptx, heap=self._memory))

    def set_state(self, handle: Loaded, state: Sequence[int]) -> None:  # type: ignore[override]
        memory = handle.machine.memory
        block, offset = memory.find("", handle.machine.address_of(state_block.SYMBOL), 1)
        for number, word in enumerate(state):
            start = offset + 8 * number
            block.data[start : start + 8] = (word % (1 << 64)).to_bytes(8, "little")

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        return lambda: self._launch(launch)

    def _staging(self, pieces: int, piece_bytes: int) -> SlabStaging:
        return SlabStaging(self, pieces, piece_bytes)

    def _launch(self, launch: KernelLaunch) -> None:
        if 0 in launch.threads:
            return
        machine = launch.handle.machine
        self.provider.forget_given_back()
        machine.choose = self.choose
        if self.unwritten is not None:
            machine.unwritten = self.unwritten
        machine.counts.collectives.clear()
        (nx, ny), (bx, by) = launch.threads, launch.block
        blocks = -(-nx // (bx * launch.at_once)), -(-ny // by), 1
        leaves = launch.slots[: launch.count]
        machine.launch(launch.handle.symbol, [*leaves, nx, ny], blocks, (bx, by, 1))
        self.collectives.update(machine.counts.collectives)

    def usual_block(self, threads: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
        """That of the CUDA backend for launches as small as tests' are."""
        bx, by = block
        return (_SMALL_BLOCK, 1) if by == 1 else (bx, max(1, _SMALL_BLOCK // bx))

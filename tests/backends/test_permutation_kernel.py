"""Tiles that a device gives other clusters, in the code that a GPU would run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.backends.bulk_transfer import PIECES, BulkTransfer
from sharedoa.backends.permutation_kernel import PERMUTE
from sharedoa.heap import rearrangement, residency
from sharedoa.targets.amdgpu import AmdgpuTarget
from sharedoa.targets.base import Target
from sharedoa.targets.nvptx import NvptxTarget
from tests.codegen.interpreted import InterpretedGpu

from ..heap.clustered import FEW, MANY, NONE, OTHERS, Tree

_PIECE_BYTES = 4096


class SlabStaging:
    """Pieces in memory that the interpreter knows; launches have ended when they return."""

    def __init__(self, backend: InterpretedGpu) -> None:
        self.piece_bytes = _PIECE_BYTES
        self._provider = backend.provider
        self._slab = self._provider.allocate(PIECES * _PIECE_BYTES)

    def address(self, piece: int) -> int:
        return self._slab.address + piece * _PIECE_BYTES

    def memory(self, piece: int) -> Any:
        return self._slab.memory[piece * _PIECE_BYTES : (piece + 1) * _PIECE_BYTES]

    def mark(self, piece: int) -> None:
        pass

    def wait(self, piece: int) -> None:
        pass

    def close(self) -> None:
        self._provider.free(self._slab)


class TransferringGpu(InterpretedGpu):
    def __init__(self) -> None:
        super().__init__()
        self.bulk = self.transfer = BulkTransfer(self, lambda: SlabStaging(self))


@pytest.mark.parametrize("target", [NvptxTarget(), AmdgpuTarget()], ids=lambda each: each.name)
def test_it_compiles(target: Target) -> None:
    assert PERMUTE.symbol in str(target.compile(PERMUTE.ir_text(target)))


def test_it_moves_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "DEVICE_BULK", 256)
    monkeypatch.setattr(rearrangement, "_SCRATCH_BYTES", 3000)
    backend = TransferringGpu()
    host: list[Any] = []
    monkeypatch.setattr(rearrangement, "_by_host", lambda *given: host.append(given))
    with oa.Heap("auto", backend, "tile", "16MiB", initial_region=32) as heap:
        random = np.random.default_rng(1)
        values: dict[str, Any] = {
            "x": random.random(70, np.float32),
            "wide": random.random(70),
            "flag": random.random(70) < 0.5,
            "tiny": random.integers(-99, 99, 70),
            "half": random.integers(-99, 99, 70),
            "weights": random.random((70, 3), np.float32),
            "rings": random.random((70, 5)),
        }
        trees = heap.new(Tree, 70, **values)
        for clusters in (FEW, MANY, OTHERS, NONE):
            heap.rearrange(clusters)
            for name, wanted in values.items():
                np.testing.assert_array_equal(getattr(trees, name), wanted)
    assert not host
    backend.bulk.close()

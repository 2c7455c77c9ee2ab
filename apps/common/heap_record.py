"""What a program's result says of its heap."""

from __future__ import annotations

from typing import Any

from ..interface import RunResult


def record_heap(result: RunResult, heap: Any) -> None:
    """Fill in what ``heap`` holds now, and the settings that it was made with."""
    result.heap = heap.stats()
    result.objects, result.regions = result.heap.objects, result.heap.regions
    result.heap_settings = {
        "mode": heap.mode.name,
        "backend": heap.backend.name,
        "layout": heap.layout.name,
        "references": 8 * heap.encoding.dtype.itemsize,
        "debug": heap.debug,
        "fastmath": heap.fastmath,
    }

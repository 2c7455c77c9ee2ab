"""What null of 32 bits leads to belongs to nobody, for as long as the heap is there."""

from __future__ import annotations

import gc
import sys

import pytest

import sharedoa as oa
from sharedoa import i64
from sharedoa.heap.null_guard import NullGuard
from sharedoa.model.reference import PlainReference

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for addresses")


class Alone(oa.Object):
    x: i64


def base_of(heap: oa.Heap) -> int:
    with heap:
        oa.new(Alone, 1)
    return heap.encoding.base


def test_nobody_gets_it_until_the_heap_goes():
    heap = oa.Heap(backend="cpu", references="32")
    base = base_of(heap)
    assert base > 0 and NullGuard.at(base) is None
    del heap
    gc.collect()
    found = NullGuard.at(base)
    assert found is not None
    found.release()


def test_a_base_that_is_taken_is_passed_over(monkeypatch):
    tried = []
    at = NullGuard.at

    def refuse_first(address: int) -> NullGuard | None:
        tried.append(address)
        return at(address) if len(tried) > 3 else None

    monkeypatch.setattr(NullGuard, "at", refuse_first)
    assert base_of(oa.Heap(backend="cpu", references="32")) == tried[-1]
    assert len(tried) == 4


def test_references_are_wide_by_themselves_where_no_base_is_left(monkeypatch):
    monkeypatch.setattr(NullGuard, "at", lambda address: None)
    with oa.Heap(backend="cpu", references="auto") as heap:
        assert len(oa.new(Alone, 3)) == 3
        assert heap.encoding.name == PlainReference().name


def test_without_any_base_there_is_no_memory(monkeypatch):
    monkeypatch.setattr(NullGuard, "at", lambda address: None)
    with pytest.raises(oa.HeapError, match="32 bits"):
        base_of(oa.Heap(backend="cpu", references="32"))

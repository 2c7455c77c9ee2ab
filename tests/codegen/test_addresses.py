"""Addresses of objects are computed once in a block of code."""

from __future__ import annotations

import re

import numpy as np

import sharedoa as oa
from dispatch import state
from sharedoa import f32


class Pair(oa.Object):
    one: f32
    other: f32


@oa.kernel
def exchange(pairs: oa.Array[Pair], least: f32):
    i = oa.grid(1)
    pair = pairs[i]
    first = pair.one
    pair.one = pair.other
    pair.other = first
    if first < least:
        pair.other = least
    else:
        pairs[0].one = least


def test_once_in_a_block_and_again_in_others() -> None:
    with oa.Heap(backend="cpu", mode="auto", references="32") as heap:
        pairs = heap.new(Pair, 4, one=np.arange(4), other=np.arange(4) + 10.0)
        exchange[4](pairs[np.array([3, 2, 1, 0])], 2.0)
        assert np.asarray(pairs.one).tolist() == [10, 11, 12, 2]
        assert np.asarray(pairs.other).tolist() == [2, 2, 2, 3]
        text = exchange.asm["dispatch.ll"]
    assert isinstance(text, str)
    body = text[text.index('define internal void @"kernel_exchange.body') :].partition("\n}")[0]
    blocks = re.split(r"^\S+:$", body, flags=re.MULTILINE)
    base = f"i32 0, i32 {state.REFERENCE_BASE}"
    assert [block.count(base) for block in blocks if base in block] == [1, 1, 1]

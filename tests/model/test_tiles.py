"""Objects in tiles: every scalar where the formula says, whichever way it is read or written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i8
from sharedoa.model.layout import Header, Layout
from sharedoa.model.object import shared_type

from .test_layout import HEADERS, Mixed, hierarchies, make_classes

LANES, TILES = 32, 3
SLOTS = LANES * TILES
START = 1 << 40


def scalars(dtype: np.dtype[Any], offset: int) -> Iterator[tuple[int, int]]:
    """Bytes into the record, and size, of each scalar of a field."""
    if dtype.subdtype is not None:
        for k in range(dtype.shape[0]):
            yield from scalars(dtype.base, offset + k * dtype.base.itemsize)
    elif dtype.fields is not None:
        for part, inside in dtype.fields.values():
            yield from scalars(part, offset + inside)
    else:
        yield offset, dtype.itemsize


selections = st.one_of(
    st.tuples(st.integers(0, SLOTS), st.integers(0, SLOTS)).map(
        lambda ends: slice(min(ends), max(ends), 1)
    ),
    st.integers(0, SLOTS - 1).map(lambda first: slice(first, None, -1)),
    st.integers(1, 7).map(lambda step: slice(3, SLOTS, step)),
    st.lists(st.integers(0, SLOTS - 1), max_size=50).map(lambda n: np.array(n, np.int64)),
)


@given(
    levels=hierarchies,
    header=st.sampled_from(HEADERS[:3]),
    slots=selections,
    seed=st.integers(0, 99),
)
def test_every_scalar_has_its_row(
    levels: list[list[int]], header: Header, slots: Any, seed: int
) -> None:
    cls = shared_type(make_classes(levels)[-1])
    records, tiles = (Layout(name, header).arrangement(cls) for name in ("aos", "tile"))
    assert tiles.record.offsets == records.record.offsets
    size = tiles.record.size
    assert size % 4 == 0 and size - records.record.size < 4
    source = np.random.default_rng(seed).integers(0, 2, SLOTS * records.record.size, np.uint8)
    memory = np.full(SLOTS * size, 0xEE, np.uint8)
    chosen = np.arange(SLOTS)[slots]
    written: set[int] = set()
    for name, dtype in tiles.record.dtypes.items():
        field = tiles.field(memory, name)
        given = records.field(source, name)
        assert field.shape == given.shape and field.dtype == given.dtype
        field[slots] = given[slots]
        assert field[slots].tolist() == given[slots].tolist()
        for slot in set(chosen[:3].tolist()):
            assert np.asarray(field[slot]).tolist() == np.asarray(given[slot]).tolist()
        for offset, width in scalars(dtype, tiles.record.offsets[name]):
            for slot in set(chosen.tolist()):
                at = slot // LANES * LANES * size + LANES * offset + width * (slot % LANES)
                original = slot * records.record.size + offset
                expected = source[original : original + width]
                assert memory[at : at + width].tolist() == expected.tolist()
                written.update(range(at, at + width))
    untouched = np.delete(memory, list(written))
    assert np.all(untouched == 0xEE), "no field shares a byte with another"


@given(slots=selections, fields=st.integers(0, 40))
def test_addresses_and_slots(slots: Any, fields: int) -> None:
    cls = shared_type(make_classes([[0] * fields])[0])
    tiles = Layout("tile", Header(8, 8)).arrangement(cls)
    chosen = np.arange(SLOTS)[slots]
    addresses = tiles.addresses(START, slots)
    assert addresses.dtype == np.uint64
    step = LANES * tiles.record.size
    assert addresses.tolist() == (START + chosen // LANES * step + chosen % LANES * 4).tolist()
    found, nowhere = tiles.slots(addresses - np.uint64(START))
    assert found.tolist() == chosen.tolist() and not nowhere.any()
    if len(chosen):
        low, high = tiles.span(int(chosen.min()), int(chosen.max()))
        assert low <= int(addresses.min()) - START and int(addresses.max()) - START < high
    offsets = np.arange(2 * step, dtype=np.uint64)
    found, nowhere = tiles.slots(offsets)
    told = [None if no else slot for slot, no in zip(found.tolist(), nowhere, strict=True)]
    assert [tiles.slot(offset) for offset in offsets.tolist()] == told
    assert [slot for slot in told if slot is not None] == list(range(2 * LANES))


def test_members_elements_and_whole_records() -> None:
    class Thing(oa.Object):
        small: i8
        mixed: Mixed
        pair: oa.inline[Mixed, 2]
        weights: oa.inline[f32, 3]

    tiles = Layout("tile", Header(8, 8)).arrangement(shared_type(Thing))
    memory = np.zeros(2 * tiles.block_bytes, np.uint8)
    mixed, weights = tiles.field(memory, "mixed"), tiles.field(memory, "weights")
    tiles.field(memory, "mixed", ("b",))[np.array([1, 40])] = [1.5, 2.5]
    assert mixed[40].tolist() == (0, 2.5, 0) and mixed[1]["b"] == 1.5
    weights[33, 2] = 7.0
    assert weights[32:35:1].tolist() == [[0, 0, 0], [0, 0, 7], [0, 0, 0]]
    tiles.field(memory, "pair")[5, 1] = (1, 2.0, 3)
    assert tiles.field(memory, "pair")[5].tolist() == [(0, 0, 0), (1, 2, 3)]
    tiles.header(memory, 8)[np.array([5, 6])] = np.uint64(9)
    records = tiles.records(memory)
    records[np.array([5, 33, 40])] = np.zeros((), records.dtype)
    assert np.flatnonzero(tiles.header(memory, 8)[0:64:1]).tolist() == [6]
    assert np.flatnonzero(mixed[0:64:1]["b"]).tolist() == [1]
    assert not weights[33].any() and not tiles.field(memory, "pair")[5]["b"].any()


@pytest.mark.parametrize("name", ["aos", "tile", "auto"])
def test_all_of_a_family_is_alike(name: str) -> None:
    base, *below = make_classes([[0], [1], [2]])
    layout = Layout(name, Header(0, 1))
    answers = {layout.is_tiled(shared_type(cls)) for cls in (base, *below)}
    assert len(answers) == 1
    assert all(layout.arrangement(shared_type(cls)).is_tiled in answers for cls in below)

"""Clusters: which there may be, and that every scalar lies where the formula says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32
from sharedoa.model.clusters import Cluster, Clusters
from sharedoa.model.layout import Header, Layout
from sharedoa.model.object import shared_type

from .clustering import clusters
from .test_layout import Mixed, hierarchies, make_classes
from .test_tiles import LANES, SLOTS, scalars, selections

NO_HEADER = Header(0, 1)
TILES = Layout("tile", NO_HEADER)


class Base(oa.Object):
    x: f32
    y: f32
    z: f32
    wide: f64
    near: f32


class Derived(Base):
    small: i8
    other: i8
    half: i16
    data: oa.Array[i32]
    weights: oa.inline[f32, 3]
    one: oa.inline[f32, 1]
    mixed: Mixed
    last: i32


BASE, DERIVED = shared_type(Base), shared_type(Derived)


@pytest.mark.parametrize(("owner", "names", "allowed"), [
    (BASE, ("x", "y"), True),
    (BASE, ("x", "y", "z"), True),
    (BASE, (), False),
    (BASE, ("x",), False),  # one scalar has a row
    (BASE, ("y", "x"), False),
    (BASE, ("x", "z"), False),
    (BASE, ("x", "unknown"), False),
    (BASE, ("x", "y", "z", "wide"), True),
    (BASE, ("z", "wide"), True),  # with padding between
    (BASE, ("y", "z", "wide"), False),  # begins at no multiple of 8
    (BASE, ("wide", "near"), False),  # lanes 12 bytes apart
    (DERIVED, ("x", "y"), False),  # the base declares them
    (BASE, ("near", "small"), False),  # of two classes
    (DERIVED, ("small", "other"), True),
    (DERIVED, ("other", "half"), False),
    (DERIVED, ("small", "other", "half"), True),
    (DERIVED, ("data",), True),
    (DERIVED, ("weights",), True),
    (DERIVED, ("one",), False),
    (DERIVED, ("mixed",), True),
    (DERIVED, ("mixed", "last"), False),
])  # fmt: skip
def test_what_may_be_a_cluster(owner: Any, names: tuple[str, ...], allowed: bool) -> None:
    assert TILES.can_cluster(owner, names) == allowed
    assert not Layout("aos", NO_HEADER).can_cluster(owner, names)
    assert not Layout("tile", Header(8, 8)).can_cluster(owner, names)


def test_clusters_are_values() -> None:
    one = Clusters().replace(BASE, [["x", "y"], ["wide"]])
    other = Clusters().replace(DERIVED, [("data",)])
    assert one == Clusters().replace(BASE, [("wide",), ("x", "y")])
    assert hash(one) == hash(Clusters().replace(BASE, [("x", "y"), ("wide",)]))
    assert one.of(BASE) == (("x", "y"), ("wide",)) and one.of(DERIVED) == ()
    both = one.replace(DERIVED, [("data",)])
    assert both != one and both.of(BASE) == one.of(BASE) and both.replace(BASE, []) == other
    assert both.replace(BASE, []).replace(DERIVED, []) == Clusters()


def test_a_layout_with_clusters() -> None:
    clustered = TILES.with_clusters(
        Clusters().replace(BASE, [("x", "y")]).replace(DERIVED, [("small", "other", "half")])
    )
    assert clustered.key == TILES.key and clustered.clusters != TILES.clusters
    assert clustered.cluster(BASE, "x") == clustered.cluster(DERIVED, "y") == Cluster(0, 8)
    assert clustered.cluster(BASE, "z") is None is TILES.cluster(BASE, "x")
    at = clustered.record(DERIVED).offsets["small"]
    assert clustered.cluster(DERIVED, "half") == Cluster(at, 4)
    assert clustered.record(DERIVED) == TILES.record(DERIVED)
    for wrong in ([("x", "z")], [("x", "y"), ("y", "z")]):
        with pytest.raises(AssertionError):
            TILES.with_clusters(Clusters().replace(BASE, wrong))


@given(data=st.data(), levels=hierarchies, slots=selections, seed=st.integers(0, 99))
def test_every_scalar_lies_where_the_formula_says(
    data: st.DataObject, levels: list[list[int]], slots: Any, seed: int
) -> None:
    classes = [shared_type(cls) for cls in make_classes(levels)]
    cls = classes[-1]
    chosen_clusters = data.draw(clusters(TILES, classes))
    layout = TILES.with_clusters(chosen_clusters)
    records, tiles = Layout("aos", NO_HEADER).arrangement(cls), layout.arrangement(cls)
    size = tiles.record.size
    #: By field: where its cluster begins in the record, and how wide it is.
    lies_in = {}
    for _, groups in chosen_clusters:
        for names in groups:
            first = tiles.record.offsets[names[0]]
            stop = tiles.record.offsets[names[-1]] + tiles.record.dtypes[names[-1]].itemsize
            lies_in.update(dict.fromkeys(names, (first, stop - first)))
    source = np.random.default_rng(seed).integers(0, 2, SLOTS * records.record.size, np.uint8)
    memory = np.full(SLOTS * size, 0xEE, np.uint8)
    chosen = np.arange(SLOTS)[slots]
    written: set[int] = set()
    for name, dtype in tiles.record.dtypes.items():
        field, given_values = tiles.field(memory, name), records.field(source, name)
        field[slots] = given_values[slots]
        assert field[slots].tolist() == given_values[slots].tolist()
        for slot in set(chosen[:3].tolist()):
            assert np.asarray(field[slot]).tolist() == np.asarray(given_values[slot]).tolist()
        for at, width in scalars(dtype, tiles.record.offsets[name]):
            first, pitch = lies_in.get(name, (at, width))
            for slot in set(chosen.tolist()):
                tile, lane = divmod(slot, LANES)
                place = tile * LANES * size + LANES * first + pitch * lane + (at - first)
                assert place % width == 0, "aligned"
                original = slot * records.record.size + at
                expected = source[original : original + width]
                assert memory[place : place + width].tolist() == expected.tolist()
                written.update(range(place, place + width))
    assert np.all(np.delete(memory, list(written)) == 0xEE), "no field shares a byte with another"
    whole = tiles.records(memory)
    whole[slots] = np.zeros((), whole.dtype)
    assert not memory[list(written)].any()

"""Fields of objects in tiles whose number in a run is known lie where their address says."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i8, i16, i32
from sharedoa.codegen import tile_places
from sharedoa.model.clusters import Clusters
from sharedoa.model.object import shared_type
from tests.codegen.interpreted import InterpretedGpu


class Place(oa.Object):
    a: i8
    b: i16
    c: i32
    d: f64
    flag: bool
    e: i32


@oa.kernel
def gather(places: oa.Array[Place], out: oa.Array[f64]) -> None:
    """Each subscript is an object of which one field is asked."""
    i, n = oa.grid(1), len(places)
    j = (i * 7 + 3) % n
    out[i] = places[j].a + places[j].b + places[(j + 1) % n].c * places[j - n].d
    if places[(j + 5) % n].flag:
        out[i] += places[i].e


@oa.kernel
def scatter(places: oa.Array[Place]) -> None:
    i, n = oa.grid(1), len(places)
    j = (i * 7 + 3) % n
    places[j].a = i8(i % 100)
    places[j].b = i16(i)
    places[j].c = i32(-i)
    places[j].d = 0.5 * i
    places[j].flag = i % 3 == 0
    oa.atomic_add(places[j], "e", i32(i))


_NAMES = ("a", "b", "c", "d", "flag", "e")
_CLUSTERS = [(), (("a", "b", "c"),), (("a", "b"), ("d", "flag", "e"))]


@pytest.mark.parametrize("first", [0, 32, 5])
@pytest.mark.parametrize("clusters", _CLUSTERS)
def test_fields_lie_where_they_do(clusters, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = []
    note = tile_places.note_place

    def counting(*given) -> None:
        noted.append(given)
        note(*given)

    monkeypatch.setattr(tile_places, "note_place", counting)
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", layout="tile") as heap:
        places = heap.new(Place, 101)
        if clusters:
            heap.rearrange(Clusters().replace(shared_type(Place), clusters))
        random = np.random.default_rng(first)
        for name in _NAMES:
            values = random.integers(0, 100, 101)
            places.field(name)[:] = values < 50 if name == "flag" else values
        before = {name: np.array(places.field(name)) for name in _NAMES}
        part, n = places[first:], 101 - first
        out = heap.zeros(n, f64)
        gather.program._drop_units()
        gather[n](part, out)
        i = np.arange(n)
        j = (i * 7 + 3) % n
        a, b, c, d, flag, e = (before[name][first:].astype(np.float64) for name in _NAMES)
        expected = a[j] + b[j] + c[(j + 1) % n] * d[j] + np.where(flag[(j + 5) % n], e[i], 0)
        assert np.array_equal(np.array(out), expected)
        assert bool(noted) == (first % 32 == 0)  # the others begin within a tile
        scatter.program._drop_units()
        scatter[n](part)
        values = (i % 100, i, -i, 0.5 * i, i % 3 == 0, e[j] + i)
        for name, value in zip(_NAMES, values, strict=True):
            found = np.array(places.field(name))
            assert np.array_equal(found[:first], before[name][:first])
            assert np.array_equal(found[first:][j], value)

"""Fields and arrays as columns of pandas, polars and Arrow."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32


@oa.value
class Pair:
    a: i32
    place: oa.vec2


class Mote(oa.Object):
    x: f32
    on: bool
    number: i32
    next: Mote
    place: oa.vec3
    turn: oa.mat22
    pair: Pair
    samples: oa.Array[f32]


def motes() -> Any:
    made = oa.new(Mote, 4, x=np.arange(4) / 2, number=np.arange(4) - 2)
    made.on = [True, False, False, True]
    made.place = np.arange(12).reshape(4, 3)
    made.turn = np.arange(16).reshape(4, 2, 2)
    made[0].next = made[2]
    made.pair["a"] = [5, 6, 7, 8]
    return made[np.array([3, 0, 1, 2])]  # gathered, at no equal distances


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    with oa.Heap():
        some = motes()
        frame = pd.DataFrame({"x": some.x, "on": some.on, "z": some.place["z"], "next": some.next})
        assert frame.dtypes.astype(str).tolist()[:3] == ["float32", "bool", "float32"]
        assert frame.x.tolist() == [1.5, 0, 0.5, 1] and frame.z.tolist() == [11, 2, 5, 8]
        assert frame.on.tolist() == [True, True, False, False]
        # References are their numbers: of object 2, and none.
        assert frame.next.tolist() == [0, int(some.references()[3]), 0, 0]
        some.x += 1
        assert frame.x[0] == 1.5  # a copy
        assert pd.DataFrame({"x": oa.all(Mote).x}).x.sum() == 7
        with pytest.raises(ValueError, match="1-dimensional"):
            pd.DataFrame({"x": some.x, "place": some.place})
        assert pd.DataFrame({"place": list(some.place)}).place[1] == oa.vec3(0, 1, 2)


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    with oa.Heap():
        some = motes()
        fields = ("x", "on", "number", "next", "place", "turn", "pair")
        frame = pl.DataFrame({name: getattr(some, name) for name in fields})
        assert frame["x"].dtype == pl.Float32 and frame["x"].to_list() == [1.5, 0, 0.5, 1]
        assert frame["on"].to_list() == [True, True, False, False]
        assert frame["number"].to_list() == [1, -2, -1, 0]
        assert frame["next"].to_list() == [0, int(some.references()[3]), 0, 0]
        assert frame["place"].dtype == pl.Array(pl.Float32, 3)
        assert frame["turn"].to_list()[0] == [[12, 13], [14, 15]]
        assert frame["pair"].to_list()[0] == {"a": 8, "place": [0, 0]}
        assert (frame["place"].to_numpy() == some.place).all()
        some.x += 1
        assert frame["x"][0] == 1.5
        whole = oa.all(Mote)
        frame = pl.DataFrame({"x": whole.x, "y": whole.place["y"]})
        assert frame["x"].sum() == 7 and frame["y"].to_list() == [1, 4, 7, 10]
        empty = pl.DataFrame({"x": some[:0].x, "turn": some[:0].turn})
        assert empty.shape == (0, 2)
        assert pl.Series(oa.array(i32, [[1, 2], [3, 4]])).to_list() == [[1, 2], [3, 4]]


def test_arrow_has_copies_of_what_may_be_looked_at() -> None:
    pa = pytest.importorskip("pyarrow")
    with oa.Heap() as heap:
        some = oa.new(Mote, 3, x=2.0)
        numbers = oa.array(f32, [1, 2])
        taken = pa.array(numbers)
        numbers[0] = 5
        assert taken.to_pylist() == [1, 2]
        with pytest.raises(oa.ExportError, match=r"Mote.samples is Array\[f32\].*\n.*numpy"):
            pa.array(some.samples)
        with oa.capture(), pytest.raises(oa.HeapError, match="recorded"):
            pa.array(some.x)
        with oa.tape(), pytest.raises(oa.ArgumentError, match="plain numbers"):
            pa.array(some.x)
        view = some.x
        heap.upkeep.is_known_outside = False
        pa.array(view)
        assert not heap.upkeep.is_known_outside
        pa.array(some.next)  # numbers that objects may not move away from by themselves
        assert heap.upkeep.is_known_outside
        oa.delete(some[1])
        with pytest.raises(oa.HeapError, match=r"element 1: the Mote at .* was deleted"):
            pa.array(view)


def test_what_pyarrow_is_for_is_said_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sharedoa.heap.arrow as arrow

    def missing(name: str) -> Any:
        return import_module("nothing_of_the_kind" if name == "pyarrow" else name)

    monkeypatch.setattr(arrow, "import_module", missing)
    with oa.Heap(), pytest.raises(oa.ExportError, match="pip install pyarrow"):
        oa.zeros(2, f32).__arrow_c_array__()

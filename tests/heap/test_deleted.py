"""What the host keeps of deleted objects is refused, also where others lie there now; and numbers
that somebody made up are no references."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.model.deleted import DeletedReference

DELETED = r"was deleted|is no object of this heap"


class Old(oa.Object):
    x: f32
    nxt: Old
    many: oa.inline[f32, 2]
    friends: oa.inline[Old, 2]

    def more(self, by: f32) -> None:
        self.x += by


class New(oa.Object):
    y: i32
    z: i32
    other: New
    rest: oa.inline[i32, 4]


@oa.value
class Link:
    weight: f32
    to: Old


class Holder(oa.Object):
    link: Link


@oa.kernel
def touch(old: Old) -> None:
    old.x = 9


@oa.kernel
def swap(olds: oa.Array[Old]) -> None:
    i = 2 * oa.grid(1)
    other = olds[i]
    olds[i] = olds[i + 1]
    olds[i + 1] = other


@oa.kernel
def touch_all(olds: oa.Array[Old]) -> None:
    olds[oa.grid(1)].x = 9


def reuse(heap: oa.Heap, gone: Any, same: bool) -> Any:
    """Delete, and make other objects in the same memory."""
    before = gone.references().tolist() if hasattr(gone, "references") else [gone._reference]
    heap.delete(gone)
    count = len(before)
    made = oa.new(Old, count, x=5.0) if same else oa.new(New, 3 * count, y=5)
    is_same = sorted(made.references().tolist()) == sorted(before)
    assert is_same or not same or heap.mode.placement == "scattered"
    return made


@pytest.mark.parametrize("same", [True, False])
def test_the_proxy_of_a_deleted_object(heap, same):
    old, kept = oa.new(Old, x=1.0), oa.new(Old, x=2.0)
    number = hash(old)
    others = {old: 1}
    made = reuse(heap, old, same)
    uses: list[Any] = [
        lambda: old.x, lambda: setattr(old, "x", 3.0), lambda: old.many[0],
        lambda: old.many[:], lambda: setattr(kept, "nxt", old), lambda: oa.new(Old, nxt=old),
        lambda: oa.new(Old, 2, nxt=[kept, old]), lambda: oa.array(Old, [kept, old]),
        lambda: touch[1](old), lambda: oa.delete(old), lambda: oa.delete([kept, old]),
        lambda: setattr(oa.array(Old, [kept]), "nxt", old),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(oa.HeapError, match=r"the Old at 0x[0-9a-f]+ was deleted"):
            use()
    assert hash(old) == number and others[old] == 1
    assert "deleted" in repr(old) and old != made[0] and old == old
    assert kept.x == 2 and kept.nxt is None
    if same:
        assert made[0].x == 5 and made[0] is not old


@pytest.mark.parametrize("same", [True, False])
def test_arrays_and_views_of_deleted_objects(by_type, same):
    olds = oa.new(Old, 6, x=1.0)
    part, view, row = olds[2:5], olds.x, olds.many[3]
    picked, joined = olds[[1, 2]], oa.concat(olds, olds)
    kept = oa.new(Old, 2, x=2.0)
    made = reuse(by_type, olds, same)
    uses: list[Any] = [
        lambda: olds.x.numpy(), lambda: olds[3].x, lambda: list(olds), lambda: part.x,
        lambda: view.numpy(), lambda: view[1], lambda: view.__setitem__(slice(None), 3.0),
        lambda: view.__setitem__([1, 2], 3.0), lambda: view.__iadd__(1.0),
        lambda: setattr(olds, "x", 4.0), lambda: picked[0], lambda: picked.x, lambda: joined.x,
        lambda: setattr(kept, "nxt", olds[:2]), lambda: oa.new(Old, 6, nxt=olds),
        lambda: oa.delete(olds), lambda: oa.delete(olds[2]), lambda: oa.array(Old, olds),
        lambda: row.__setitem__(0, 3.0),
    ]  # fmt: skip
    for number, use in enumerate(uses):
        if number == len(uses) - 1 and not isinstance(row, oa.heap.field_values.FieldValues):
            continue  # a NumPy view of the memory itself
        with pytest.raises(oa.HeapError, match=DELETED):
            use()
    assert made.cls.name == ("Old" if same else "New")
    assert ((made.x if same else made.y).numpy() == 5).all()
    assert kept.x.numpy().tolist() == [2, 2]


@pytest.mark.parametrize("same", [True, False, None])
def test_methods_are_not_called_on_deleted_objects(heap, same):
    olds = oa.new(Old, 6, x=1.0)
    kept = oa.new(Old, 6, x=1.0, nxt=olds)
    picked, joined, swapped = olds[[4, 1]], oa.concat(kept, olds), oa.concat(olds)
    if same is None:  # of no array it is known then what is in it, only whether that lives
        swap[3](swapped)
    with oa.capture() as step:
        olds.more(1.0)
    uses: list[Any] = [
        lambda: olds.more(1.0), lambda: olds[2:5].more(1.0), lambda: picked.more(1.0),
        lambda: joined.more(1.0), step.run,
    ]  # fmt: skip
    for use in uses:
        use()
    expected = [2.0] * 6
    assert kept.x.numpy().tolist() == expected
    if same is None:
        oa.delete(olds)
        made = oa.new(New, 1)
    else:
        made = reuse(heap, olds, same)
    is_seen = heap.mode.placement == "by_type" or same is None
    if same is None:
        uses += [lambda: swapped.more(1.0), lambda: kept.nxt.more(1.0)]
    for use in uses if is_seen else []:
        with pytest.raises(oa.HeapError, match=DELETED):
            use()
    assert kept.x.numpy().tolist() == expected
    if same and is_seen:
        assert made.x.numpy().tolist() == [5.0] * 6


def test_methods_are_called_on_what_is_left(by_type):
    olds = oa.new(Old, 10, x=0.0)
    odd, rest, copy = olds[1::2], olds[5:], oa.concat(olds)
    with oa.capture() as step:
        rest.more(1.0)
    oa.delete(oa.new(New, 3))
    oa.delete(olds[:5])
    for _ in range(2):
        rest.more(1.0)
        step.run(2)
    assert rest.x.numpy().tolist() == [6.0] * 5
    for array, first in ((odd, 0), (olds, 0), (copy, 0), (olds[4:], 0), (olds[3:8], 0)):
        with pytest.raises(oa.HeapError, match=rf"element {first}: .*{DELETED}"):
            array.more(1.0)
    made = oa.new(Old, 5, x=6.0)
    odd[:2] = made[:2]
    odd.more(1.0)
    olds[:5] = made
    olds.more(1.0)
    assert olds.x.numpy().tolist() == [8.0, 8.0, 7.0, 7.0, 7.0, 8.0, 7.0, 8.0, 7.0, 8.0]
    oa.delete(made[4])
    odd.more(1.0)
    with pytest.raises(oa.HeapError, match=r"element 4: .*was deleted"):
        olds.more(1.0)


def test_methods_of_objects_of_subclasses(by_type):
    class Older(Old):
        pass

    older, olds = oa.new(Older, 3), oa.new(Old, 3)
    both = oa.concat(olds, older)
    both.more(1.0)
    oa.delete(older[1])
    olds.more(1.0)
    for array in (older, both, both[2:]):
        with pytest.raises(oa.HeapError, match=DELETED):
            array.more(1.0)
    both[:4].more(1.0)
    assert both[:4].x.numpy().tolist() == [3.0, 3.0, 3.0, 2.0]


def test_what_was_not_deleted_stays_in_use(by_type):
    olds = oa.new(Old, 10, x=np.arange(10))
    view, rest = olds.x, olds[5:]
    odd = olds[1::2]
    oa.delete(olds[::2])
    assert odd.x.numpy().tolist() == [1, 3, 5, 7, 9]
    assert olds[1].x == 1 and olds[[1, 3]].x.numpy().tolist() == [1, 3]
    made = oa.new(Old, 3, x=8.0)
    with pytest.raises(oa.HeapError, match=r"element 0: the Old at 0x[0-9a-f]+ was deleted"):
        view.numpy()
    with pytest.raises(oa.HeapError, match=r"element 1: the Old at 0x[0-9a-f]+ was deleted"):
        _ = rest.x
    olds[0] = made[0]
    olds[2:5:2] = made[1:]
    assert olds[:6].x.numpy().tolist() == [8, 1, 8, 3, 8, 5]
    assert odd.x.numpy().tolist() == [1, 3, 5, 7, 9]
    oa.delete(made)
    with pytest.raises(oa.HeapError, match="was deleted"):
        _ = olds[:6].x


def test_regions_that_grow_together_keep_what_is_known(by_type):
    first = oa.new(Old, 8, x=1.0)
    oa.delete(oa.new(New, 4))
    second = oa.new(Old, 200, x=2.0)
    third = oa.new(Old, 2000, x=3.0)
    oa.delete(first[0])
    replaced = oa.new(Old, x=7.0)
    assert first[1:].x.numpy().tolist() == [1] * 7
    assert (second.x.numpy() == 2).all() and (third.x.numpy() == 3).all()
    with pytest.raises(oa.HeapError, match="was deleted"):
        _ = first.x
    assert replaced.x == 7


def test_forged_references_in_structs(heap):
    olds, news = oa.new(Old, 3, x=1.0), oa.new(New, 3)
    values = oa.array(Link, [Link(1.0, olds[0]), Link(2.0, None)])
    dtype = values.dtype
    assert values[0].to is olds[0]

    def given(reference):
        made = np.zeros(2, dtype)
        made["to"][1] = reference
        return made

    right = given(int(olds.references()[2]))
    assert oa.array(Link, right)[1].to is olds[2]
    holders = oa.new(Holder, 2, link=right)
    assert holders[1].link.to is olds[2]
    wrong = [12345678 * 4, int(news.references()[0])]
    if heap.mode.placement == "by_type" and heap.layout.name == "aos":
        wrong.append(int(olds.references()[1]) + 1)
    uses = (
        lambda structs: oa.array(Link, structs),
        lambda structs: oa.new(Holder, 2, link=structs),
        lambda structs: setattr(holders, "link", structs),
        lambda structs: holders.link.__setitem__(slice(None), structs),
        lambda structs: values.__setitem__(slice(None), structs),
    )
    for reference, use in itertools.product(wrong, uses):
        with pytest.raises((oa.HeapError, oa.ArgumentError)):
            use(given(reference))
    for numbers in (values.numpy(), holders.link.numpy(), holders.link["to"].numpy()):
        with pytest.raises(ValueError, match="read-only"):
            numbers[...] = numbers
    olds.friends = [olds[0], None]
    with pytest.raises(ValueError, match="read-only"):
        olds.friends.numpy()[0, 0] = 4
    with pytest.raises(oa.ArgumentError, match="nothing is computed with"):
        view = olds.friends
        view += 4
    assert olds.friends[1, 0] == olds.references()[0]


def test_structs_of_another_heap(by_type):
    with oa.Heap("auto", "cpu", "aos", "64MiB", 8, references="64"):
        theirs = oa.array(Link, [Link(1.0, oa.new(Old))])
    with pytest.raises(oa.ArgumentError, match="another heap"):
        oa.array(Link, theirs)


def test_masks_are_not_ignored(by_type):
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    olds = oa.new(Old, 2)
    for use in (
        lambda: oa.array(f64, masked), lambda: oa.new(Old, 2, x=masked.astype(np.float32)),
        lambda: setattr(olds, "x", masked), lambda: olds.x.__iadd__(masked),
    ):  # fmt: skip
        with pytest.raises(oa.ArgumentError, match="masked elements"):
            use()
    whole = np.ma.array([1.0, 2.0], mask=[False, False])
    assert oa.array(f64, whole).numpy().tolist() == [1, 2]


def test_references_are_no_numbers(by_type):
    olds = oa.new(Old, 2)
    for type in (f64, i32, oa.u64):
        with pytest.raises(oa.ArgumentError, match=r"takes numbers, not Array\[Old\]"):
            oa.array(type, olds)
    with pytest.raises(oa.ArgumentError, match=r"oa\.delete takes objects"):
        oa.delete(Old)
    with pytest.raises(oa.ArgumentError):
        oa.concat(Old)
    with pytest.raises(oa.ArgumentError, match="holds 2 elements, and is given 5"):
        olds[0].many = 5
    with pytest.raises(oa.ArgumentError, match="holds 2 elements, not 3"):
        olds[0].many = [1.0, 2.0, 3.0]


def test_a_deleted_reference_is_no_number() -> None:
    gone = DeletedReference(0x1000, 0x1000, "Old")
    assert f"{gone}" == "0x1000, deleted"
    with pytest.raises(oa.HeapError, match="the Old at 0x1000 was deleted"):
        f"{gone:#x}"

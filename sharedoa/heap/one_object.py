"""One object, made and deleted by the host: the way that programs take which build trees.

Objects in regions are made by functions that are written for a class and the fields that are named
(``one_field`` says why that can be). They make what ``HeapMemory.new_objects`` would make, in the
same places, where values need no conversion and a region has room; all else goes that way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, HeapError
from ..model.classes import ClassType
from ..model.deleted import DeletedReference
from ..model.object import Object, bury_proxy, has_init, make_proxy, require_concrete
from ..model.world import World
from .by_type import ByTypePlacement
from .construction import field_values, initialise_one
from .one_field import Code
from .placement import FieldPath, Selection

if TYPE_CHECKING:
    from .heap import Heap

Make = Callable[..., Any]

_SOURCE = """
def make(heap{parameters}):
    if not ({are_usual}):
        return None
    {prepared}
    proxy = blank(python_class)
    found = None
    try:
        with heap.lock:
            memory = heap.memory
            if memory.unsettled is not None or memory.has_pending_lists:
                return None
            if heap.layout is not layout:
                return None
            found = heap.books.allocate_one(cls)
            if found is None:
                return None
            region, slot = found
            offset = {offset}
            address = region.start + offset
            proxy._heap = heap
            proxy._reference = encode(address, type_index)
            {fetch}
            with heap.books.access:
                {stores}
            {written}
            heap.proxies.note(proxy._reference, proxy)
        return proxy
    except BaseException:
        if found is not None:
            unmake(heap, proxy)
        raise
"""
_MAKERS_KEPT = 4096


def construct(
    heap: Heap, cls: ClassType, arguments: tuple[Any, ...], fields: dict[str, Any]
) -> Any:
    """``C(*arguments, **fields)``. Raises what ``Heap.new`` raises."""
    if has_init(cls):
        made = _new(heap, cls, {})
        initialise_one(heap, made, arguments, fields)
        return made
    if arguments:
        require_concrete(cls)
        raise ArgumentError(
            f"{cls.name} takes its fields by name", f"write {cls.name}(field=value)"
        )
    return _new(heap, cls, fields)


def _new(heap: Heap, cls: ClassType, fields: dict[str, Any]) -> Any:
    defaults = cls.defaults
    if defaults:
        fields = {**defaults, **fields}
    makers = heap.makers
    key = (World.epoch, cls, *fields)
    make = makers.get(key)
    if make is not None:
        made = make(heap, *fields.values())
        if made is not None:
            return made
    require_concrete(cls)
    made = _new_carefully(heap, cls, field_values(heap, cls, fields))
    if make is None:
        if len(makers) >= _MAKERS_KEPT:
            makers.clear()
        makers[key] = _maker(heap, cls, tuple(fields))
    return made


def _new_carefully(heap: Heap, cls: ClassType, values: dict[str, Any]) -> Any:
    made: Selection | None = None
    try:
        with heap.lock:
            made = heap.memory.new_objects(cls, 1, {})
            reference = int(made.references[0])
            address = heap.encoding.address(reference)
            for name, value in values.items():
                heap.placement.write_one(address, FieldPath(name), value, None)
            return heap.proxies.note(reference, make_proxy(cls, heap, reference))
    except BaseException:
        heap.unmake(made)
        raise


def _maker(heap: Heap, cls: ClassType, names: tuple[str, ...]) -> Make:
    """What makes an object with these fields; None if it would not be as usual."""
    code, placement = Code.of(heap, cls), heap.books
    if code is None or not isinstance(placement, ByTypePlacement):
        return lambda *given: None
    are_usual, prepared, written = [], [], []
    stores = code.header(placement.header(cls))
    for number, name in enumerate(names):
        given, type, leaves = f"given{number}", cls.fields[name], code.leaves(name)
        if leaves is None:
            code.names[f"name{number}"] = name
            code.names[f"path{number}"] = FieldPath(name)
            raw = f"values(heap, cls, {{name{number}: {given}}})[name{number}]"
            prepared.append(f"{given} = {raw}")
            written.append(f"heap.books.write_one(address, path{number}, {given}, None)")
        else:
            are_usual.append(code.is_usual(type, given))
            stores += code.stores(type, leaves, given)
    views = [f"{view} = region.flat({format!r})" for format, view in code.views.items()]
    source = _SOURCE.format(
        parameters="".join(f", given{number}" for number in range(len(names))),
        are_usual=" and ".join(are_usual) or "True",
        prepared="; ".join(prepared) or "pass",
        offset=code.offset_of_slot("slot"),
        fetch=code.fetch,
        stores="; ".join(views + stores) or "pass",
        written="; ".join(written) or "pass",
    )
    code.names.update(
        __name__=__name__,
        blank=object.__new__,
        python_class=cls.python_class,
        cls=cls,
        type_index=cls.type_index,
        encode=heap.encoding.encode,
        layout=heap.layout,
        values=field_values,
        unmake=_unmake_one,
    )
    exec(compile(source, f"{__file__}:make", "exec"), code.names)
    made: Make = code.names["make"]
    return made


def _unmake_one(heap: Heap, proxy: Any) -> None:
    heap.unmake(heap.placement.select(np.array([proxy._reference], np.uint64)))


def delete(heap: Heap, obj: Object) -> bool:
    """Free one object. False, having done nothing, where ``Heap.delete`` has more to do, or to
    complain. Launches have been waited for."""
    if obj._heap is not heap or heap.debug:
        return False
    if heap.upkeep.is_shared and heap.backend.name == "python":  # whose launches it waits for
        return False
    with heap.lock:
        placement, reference = heap.placement, obj._reference
        if not isinstance(placement, ByTypePlacement) or isinstance(reference, DeletedReference):
            return False
        heap.wait_for_others()
        heap.memory.wait_for_lists()
        try:
            region, slot = placement.locate_live(heap.encoding.address(reference))
        except HeapError:
            return False
        if region.cls.python_class is not type(obj) or not placement.free_one(region, slot):
            return False
        heap.of_classes.forget()
        heap.proxies.bury_these((reference,))
        if obj._reference is reference:  # another thread has made a proxy of its own
            bury_proxy(obj)
    heap.upkeep.after_deletions(heap, {region.cls: 1})
    return True

"""Dump and load: all objects of a heap in a file, with every class and reference intact.

Nothing in the file is an address, so it can be read into any heap: of another mode, backend or
region size, or one that has objects already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, DumpError
from ..model.classes import ClassType
from ..model.layout import storage_dtype
from ..model.object import Object
from ..model.types import ArrayType, Type
from ..model.values import describe
from . import dump_file
from .array_memory import ArrayStorage
from .arrays import Array
from .dump_types import (
    check_fields,
    describe_class,
    describe_fields,
    describe_type,
    find_class,
    find_element,
)
from .placement import FieldPath, Selection
from .relocation import Decoder, Encoder, Items, Words, translate

if TYPE_CHECKING:
    from .heap import Heap


def dump(heap: Heap, path: str | os.PathLike[str], roots: dict[str, Any]) -> None:
    """Write every object of ``heap``, the arrays that their fields refer to, and ``roots``: objects
    and arrays that ``load`` gives back by name.

    Raises ArgumentError for roots of other kinds or of another heap, DumpError for a reference to
    a deleted object.
    """
    _check_roots(heap, roots)
    classes = heap.placement.classes()
    _check_names(classes)
    selections = [heap.placement.objects([cls]) for cls in classes]
    storages = _storages(heap, classes, selections, roots)
    objects = [heap.encoding.address(selection.references) for selection in selections]
    encode_objects = Encoder(objects, [1] * len(objects), "a reference points to")
    encode_arrays = Encoder(
        [np.array([storage.address], np.uint64) for storage in storages],
        [storage.size for storage in storages],
        "a field holds an array at",
        [_items(heap, storage.element) for storage in storages],
    )
    blocks: list[dump_file.Block] = []

    def encode_references(references: Words) -> Words:
        return encode_objects(heap.encoding.address(references))

    def add(values: dump_file.Block, type: Type) -> None:
        copy = values.astype(storage_dtype(type).base)
        translate(copy, type, encode_references, encode_arrays)
        blocks.append(copy)

    for cls, selection in zip(classes, selections, strict=True):
        for name, type in cls.fields.items():
            add(selection.read(FieldPath(name)), type)
    for storage in storages:
        add(np.asarray(storage).view(heap.layout.dtype(storage.element)), storage.element)
    description = {
        "classes": [
            {
                "class": describe_class(cls),
                "fields": describe_fields(cls.fields),
                "count": selection.count,
            }
            for cls, selection in zip(classes, selections, strict=True)
        ],
        "arrays": [
            {"element": describe_type(storage.element), "size": _dumped_size(heap, storage)}
            for storage in storages
        ],
        "roots": {
            name: _describe_root(root, encode_references, encode_arrays)
            for name, root in roots.items()
        },
    }
    dump_file.write(path, description, blocks)


def _items(heap: Heap, element: Type) -> Items:
    return heap.layout.dtype(element).itemsize, storage_dtype(element).itemsize


def _dumped_size(heap: Heap, storage: ArrayStorage) -> int:
    here, there = _items(heap, storage.element)
    return storage.size // here * there


def _check_roots(heap: Heap, roots: dict[str, Any]) -> None:
    for name, root in roots.items():
        if not isinstance(root, (Object, Array)):
            raise ArgumentError(
                f"the root {name} of a dump is {describe(root)}",
                "roots are objects and arrays; make an array of the rest with oa.array(T, data)",
            )
        if root._heap is not heap:
            raise ArgumentError(
                f"the root {name} lies in another heap", "dump the heap that it lies in"
            )


def _check_names(classes: list[ClassType]) -> None:
    names = [tuple(describe_class(cls)) for cls in classes]
    for cls, name in zip(classes, names, strict=True):
        if names.count(name) > 1:
            raise DumpError(
                f"two classes of this heap have the name {'.'.join(name)}",
                f"delete the objects of the older {cls.name}",
            )


def _storages(
    heap: Heap, classes: list[ClassType], selections: list[Selection], roots: dict[str, Any]
) -> list[ArrayStorage]:
    """Every array that a field or a root refers to, by address."""
    in_roots = [root._address for root in roots.values() if isinstance(root, Array)]
    addresses = [np.array(in_roots, np.uint64)]
    for cls, selection in zip(classes, selections, strict=True):
        for name, type in cls.fields.items():
            if isinstance(type, ArrayType):
                addresses.append(selection.read(FieldPath(name))["address"])
    return heap.memory.arrays_at(np.concatenate(addresses))


def _describe_root(root: Object | Array, references: Any, arrays: Any) -> dict[str, Any]:
    if isinstance(root, Object):
        return {"object": int(references(np.array([root._reference], np.uint64))[0])}
    return {
        "array": int(arrays(np.array([root._address], np.uint64))[0]),
        "length": len(root),
        "element": describe_type(root.__sharedoa_element__),
    }


def load(heap: Heap, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a dump into ``heap``, beside what it holds; the result is the dump's roots by name. All
    objects are also found by ``oa.all``.

    Raises DumpError for a file that is truncated, damaged or no dump, or whose classes are not
    those of this program; HeapError if it does not fit. Then the heap is as it was.
    """
    description, reader = dump_file.read(path)
    made: list[Selection] = []
    try:
        return _load(heap, description, reader, made)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        _undo(heap, made)
        if isinstance(error, DumpError):
            raise
        raise DumpError(f"{path} contradicts itself: {error}", "dump the heap again") from error
    except BaseException:
        _undo(heap, made)
        raise


def _undo(heap: Heap, made: list[Selection]) -> None:
    for selection in made:
        heap.placement.free(selection)


def _load(
    heap: Heap, description: dict[str, Any], reader: dump_file.BlockReader, made: list[Selection]
) -> dict[str, Any]:
    classes = []
    for entry in description["classes"]:
        cls = find_class(entry["class"])
        check_fields(f"class {cls.name}", entry["fields"], cls.fields)
        classes.append((cls, int(entry["count"])))
    elements = [(find_element(e["element"]), int(e["size"])) for e in description["arrays"]]
    for cls, count in classes:
        made.append(heap.memory.new_objects(cls, count, {}))
    items = [_items(heap, element) for element, _ in elements]
    storages = [
        heap.memory.new_array(size // there * here, element)
        for (element, size), (here, there) in zip(elements, items, strict=True)
    ]
    decode_references = Decoder([selection.references for selection in made], inside=False)
    starts: list[Words] = [np.array([storage.address], np.uint64) for storage in storages]
    decode_arrays = Decoder(starts, inside=True, items=items)
    for (cls, count), selection in zip(classes, made, strict=True):
        for name, type in cls.fields.items():
            values = reader.take(count, storage_dtype(type))
            translate(values, type, decode_references, decode_arrays)
            selection.write(FieldPath(name), values)
    for storage in storages:
        dtype = heap.layout.dtype(storage.element)
        values = reader.take(storage.size // dtype.itemsize, storage_dtype(storage.element))
        translate(values, storage.element, decode_references, decode_arrays)
        np.asarray(storage).view(dtype)[:] = values
    return {
        name: _find_root(heap, root, decode_references, decode_arrays)
        for name, root in description["roots"].items()
    }


def _find_root(heap: Heap, root: dict[str, Any], references: Decoder, arrays: Decoder) -> Any:
    if "object" in root:
        return heap.wrap(int(references(np.array([root["object"]], np.uint64))[0]))
    element = find_element(root["element"])
    address = int(arrays(np.array([root["array"]], np.uint64))[0])
    return heap.array_at(element, address, int(root["length"]))

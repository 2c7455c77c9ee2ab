"""Dump and load: all objects of a heap in a file, with every class and reference intact.

Nothing in the file is an address, so it can be read into any heap: of another mode, backend or
region size, or one that has objects already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, DumpError, SharedOAError
from ..model.classes import ClassType
from ..model.layout import ARRAY_DTYPE, storage_dtype
from ..model.object import Object
from ..model.types import ArrayType, Type
from ..model.values import describe
from . import dump_file
from .array2 import Array2
from .array_memory import ArrayStorage, elements_in
from .arrays import Array
from .dump_contents import (
    Contents,
    Contradiction,
    ObjectRoot,
    Root,
    read_contents,
    unused_bytes,
)
from .dump_types import describe_class, describe_fields, describe_type
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
    pieces = _pieces(classes, selections, roots)
    storages = heap.memory.arrays.all_at(pieces["address"])
    elements = [heap.held_arrays.element_of(storage) for storage in storages]
    objects = [heap.encoding.address(selection.references) for selection in selections]
    encode_objects = Encoder(objects, [1] * len(objects), "a reference points to")
    encode_arrays = Encoder(
        [np.array([storage.address], np.uint64) for storage in storages],
        [storage.size for storage in storages],
        "a field holds an array at",
        [_items(heap, element) for element in elements],
    )
    contents = _contents(heap, classes, selections, storages, elements)
    blocks: list[dump_file.Block] = []

    def encode_references(references: Words) -> Words:
        return encode_objects(heap.encoding.address(references))

    def add(values: dump_file.Block, type: Type, what: str, used: Any = None) -> None:
        copy = values.astype(storage_dtype(type).base)
        if used is not None:
            copy[~used] = np.zeros((), copy.dtype)
        translate(copy, type, encode_references, encode_arrays)
        contents.check(copy, type, what)
        blocks.append(copy)

    try:
        for cls, selection in zip(classes, selections, strict=True):
            for name, type in cls.fields.items():
                add(selection.read(FieldPath(name)), type, f"{cls.name}.{name}")
            blocks.append(np.zeros(unused_bytes(cls, selection.count), np.uint8))
        for storage, element in zip(storages, elements, strict=True):
            values = elements_in(np.asarray(storage), heap.layout.dtype(element))
            used = _used(storage, values.itemsize, pieces)
            add(values, element, f"an array of {element!r}", used)
    except Contradiction as error:
        raise DumpError(
            f"this heap cannot be loaded again: {error}", "correct what a kernel wrote there"
        ) from None
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
            {"element": describe_type(element), "size": size} for element, size in contents.arrays
        ],
        "roots": {
            name: _describe_root(root, encode_references, encode_arrays)
            for name, root in roots.items()
        },
    }
    dump_file.write(path, description, blocks)


def _items(heap: Heap, element: Type) -> Items:
    return heap.layout.dtype(element).itemsize, storage_dtype(element).itemsize


def _dumped_size(heap: Heap, storage: ArrayStorage, element: Type) -> int:
    here, there = _items(heap, element)
    return storage.size // here * there


def _contents(
    heap: Heap,
    classes: list[ClassType],
    selections: list[Selection],
    storages: list[ArrayStorage],
    elements: list[Type],
) -> Contents:
    counts = [selection.count for selection in selections]
    sizes = [_dumped_size(heap, *each) for each in zip(storages, elements, strict=True)]
    try:
        return Contents(
            list(zip(classes, counts, strict=True)), list(zip(elements, sizes, strict=True))
        )
    except Contradiction as error:
        raise DumpError(f"this heap fits no dump: {error}", "drop arrays, or join them") from None


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


def _pieces(
    classes: list[ClassType], selections: list[Selection], roots: dict[str, Any]
) -> np.ndarray[Any, Any]:
    """Every array that a field or a root refers to, by address."""
    found = [
        np.array([(root._address, _length(root))], ARRAY_DTYPE)
        for root in roots.values()
        if isinstance(root, Array)
    ]
    for cls, selection in zip(classes, selections, strict=True):
        for name, type in cls.fields.items():
            if isinstance(type, ArrayType):
                found.append(selection.read(FieldPath(name)))
    arrays = np.concatenate([np.zeros(0, ARRAY_DTYPE), *found])
    return arrays[np.argsort(arrays["address"], kind="stable")]


def _used(storage: ArrayStorage, item: int, pieces: np.ndarray[Any, Any]) -> Any:
    """Which elements of an array are in a piece that something refers to. Others nobody will read;
    what they refer to may have been deleted."""
    first, stop = np.searchsorted(
        pieces["address"], np.array([storage.address, storage.address + storage.size], np.uint64)
    )
    count = storage.size // item
    begins = (pieces["address"][first:stop] - np.uint64(storage.address)).astype(np.int64) // item
    ends = (begins + pieces["length"][first:stop]).clip(begins, count)
    changes = np.bincount(begins, minlength=count + 1) - np.bincount(ends, minlength=count + 1)
    return np.cumsum(changes[:count]) > 0


def _describe_root(root: Object | Array, references: Any, arrays: Any) -> dict[str, Any]:
    if isinstance(root, Object):
        return {"object": int(references(np.array([root._reference], np.uint64))[0])}
    return {
        "array": int(arrays(np.array([root._address], np.uint64))[0]),
        "length": _length(root),
        "columns": root._columns if isinstance(root, Array2) else None,
        "element": describe_type(root.__sharedoa_element__),
    }


def load(heap: Heap, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a dump into ``heap``, beside what it holds; the result is the dump's roots by name. All
    objects are also found by ``oa.all``.

    The file may come from anybody: it takes a few times its size of memory, beside what its objects
    take. Raises DumpError for a file that is truncated, damaged or no dump, that contradicts
    itself, or whose classes are not those of this program; HeapError if it does not fit. Then the
    heap is as it was.
    """
    description, reader = dump_file.read(path)
    try:
        contents, roots = read_contents(description)
        contents.check_all(reader)
    except SharedOAError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise dump_file.contradiction(path, _told(error)) from None
    made: list[Selection] = []
    try:
        return _load(heap, contents, roots, reader, made)
    except BaseException:
        _undo(heap, made)
        raise


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, Contradiction) else "its description is of another shape"


def _undo(heap: Heap, made: list[Selection]) -> None:
    for selection in made:
        heap.placement.free(selection)


def _load(
    heap: Heap,
    contents: Contents,
    roots: dict[str, Root],
    reader: dump_file.BlockReader,
    made: list[Selection],
) -> dict[str, Any]:
    for cls, count in contents.classes:
        made.append(heap.memory.new_objects(cls, count, {}))
    items = [_items(heap, element) for element, _ in contents.arrays]
    storages = [
        heap.memory.new_array(size // there * here, element)
        for (element, size), (here, there) in zip(contents.arrays, items, strict=True)
    ]
    decode_references = Decoder([selection.references for selection in made], inside=False)
    starts: list[Words] = [np.array([storage.address], np.uint64) for storage in storages]
    decode_arrays = Decoder(starts, inside=True, items=items)
    for (cls, count), selection in zip(contents.classes, made, strict=True):
        for name, type in cls.fields.items():
            values = reader.take(count, storage_dtype(type)).copy()
            translate(values, type, decode_references, decode_arrays)
            selection.write(FieldPath(name), values)
            if isinstance(type, ArrayType):
                heap.held_arrays.note_all(type, values)
        reader.skip(unused_bytes(cls, count))
    for storage, (element, size) in zip(storages, contents.arrays, strict=True):
        dtype = storage_dtype(element)
        values = reader.take(size // dtype.itemsize, dtype).copy()
        translate(values, element, decode_references, decode_arrays)
        elements_in(np.asarray(storage), heap.layout.dtype(element))[:] = values
    return {
        name: _find_root(heap, root, decode_references, decode_arrays)
        for name, root in roots.items()
    }


def _find_root(heap: Heap, root: Root, references: Decoder, arrays: Decoder) -> Any:
    code = np.array([root.code], np.uint64)
    if isinstance(root, ObjectRoot):
        return heap.wrap(int(references(code)[0]))
    found = heap.array_at(root.element, int(arrays(code)[0]), root.length)
    if root.columns is None:
        return found
    return Array2(found, root.length // max(1, root.columns), root.columns)


def _length(root: Array) -> int:
    """Elements of it."""
    return len(root._flat if isinstance(root, Array2) else root)

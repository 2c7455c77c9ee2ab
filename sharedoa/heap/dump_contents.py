"""What a dump holds, looked at before it is believed.

Whoever makes a dump also makes its checksum, so nothing in it is taken on trust: every class,
length and code is compared with the classes of this program and with the bytes that are there, and
every value with its type. What has passed cannot break a heap, and what has not never reaches it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import ClassError, DumpError
from ..model.classes import ClassType
from ..model.layout import storage_dtype
from ..model.object import require_concrete
from ..model.scalars import ScalarType
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType
from ..model.values import accepts_elements
from .dump_file import Block, BlockReader
from .dump_types import check_fields, find_class, find_element, printable
from .relocation import MOST_GROUPS, Words, split_codes

Bools = np.ndarray[Any, np.dtype[np.bool_]]


class Contradiction(ValueError):
    """The file says what cannot be."""


@dataclass(frozen=True)
class ObjectRoot:
    code: int


@dataclass(frozen=True)
class ArrayRoot:
    element: Type
    code: int
    length: int
    columns: int | None = None
    """Of an array of two dimensions."""


Root = ObjectRoot | ArrayRoot


def unused_bytes(cls: ClassType, count: int) -> int:
    """Bytes that a dump has for ``count`` objects whose fields have none: one each, so that a file
    is as long as the objects that it asks for are many."""
    return 0 if any(storage_dtype(t).itemsize for t in cls.fields.values()) else count


class Contents:
    """The objects of each class, and the arrays: an element type, and bytes in the file."""

    def __init__(
        self, classes: list[tuple[ClassType, int]], arrays: list[tuple[Type, int]]
    ) -> None:
        """Raises Contradiction when there are more than codes can tell apart."""
        if max(len(classes), len(arrays)) > MOST_GROUPS:
            raise Contradiction(f"there are more than {MOST_GROUPS:,} arrays")
        self.classes, self.arrays = classes, arrays
        self._counts = np.array([count for _, count in classes], np.uint64)
        self._sizes = np.array([size for _, size in arrays], np.uint64)
        self._is_one_of = cache(self._is_object_of)
        self._has_elements = cache(self._has_elements_of)

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        of_objects = sum(
            count * sum(storage_dtype(type).itemsize for type in cls.fields.values())
            + unused_bytes(cls, count)
            for cls, count in self.classes
        )
        return of_objects + sum(size for _, size in self.arrays)

    def check_all(self, reader: BlockReader) -> None:
        """Raise Contradiction unless there is a byte for everything, and every value can be."""
        if reader.size != self.size:
            raise Contradiction(f"it has {reader.size:,} bytes of data instead of {self.size:,}")
        for cls, count in self.classes:
            for name, type in cls.fields.items():
                values = reader.take(count, storage_dtype(type))
                self.check(values, type, f"{cls.name}.{name}")
            reader.skip(unused_bytes(cls, count))
        for element, size in self.arrays:
            dtype = storage_dtype(element)
            values = reader.take(size // dtype.itemsize, dtype)
            self.check(values, element, f"an array of {element!r}")
        reader.rewind()

    def check(self, values: Block, type: Type, what: str) -> None:
        """Raise Contradiction unless each of ``values``, as a dump has them, can be of ``type``."""
        if isinstance(type, ScalarType):
            if type.kind == "bool" and (values.view(np.uint8) > 1).any():
                raise Contradiction(f"{what} is neither true nor false")
        elif isinstance(type, ReferenceType):
            self._check_references(values, type.cls, what)
        elif isinstance(type, ArrayType):
            self._check_arrays(values["address"], values["length"], type, what)
        elif isinstance(type, InlineType):
            self.check(values, type.element, what)
        elif isinstance(type, ValueType) and not type.shape:  # of vectors all bits are numbers
            for name, component in type.fields.items():
                self.check(values[name], component, f"{what}.{name}")

    def check_root(self, root: Root, what: str) -> None:
        """Raise Contradiction unless it is an object or an array of the dump."""
        code = np.array([root.code], np.uint64)
        if isinstance(root, ArrayRoot):
            self._check_arrays(code, np.array([root.length]), ArrayType(root.element), what)
        else:
            self._check_references(code, None, what)

    def _check_references(self, codes: Words, cls: ClassType | None, what: str) -> None:
        """Each names an object of ``cls``, or is null."""
        group, ordinal = split_codes(codes[codes != 0])
        fits = (group >= 0) & (group < len(self.classes))
        if fits.all():
            fits = self._is_one_of(cls)[group] & (ordinal < self._counts[group])
        if not fits.all():
            raise Contradiction(f"{what} refers to no {cls.name if cls else 'object'} of the dump")

    def _is_object_of(self, cls: ClassType | None) -> Bools:
        return np.array([cls is None or c.is_subclass_of(cls) for c, _ in self.classes], np.bool_)

    def _check_arrays(self, codes: Words, lengths: Block, type: ArrayType, what: str) -> None:
        """Each names whole elements of one array, or nothing and none of them."""
        item = np.uint64(storage_dtype(type.element).itemsize)
        used = codes != 0
        if (lengths < 0).any() or (item and lengths[~used].any()):
            raise Contradiction(f"{what} has elements that are nowhere")
        group, start = split_codes(codes[used])
        known = (group >= 0) & (group < len(self.arrays))
        if not known.all() or not self._has_elements(type)[group].all():
            raise Contradiction(f"{what} is no {type!r} of the dump")
        if not len(group):
            return
        # Elements of arrays that the dump has take bytes, and an array is some whole ones.
        size = self._sizes[group]
        room = (size - np.minimum(start, size)) // item
        too_long = (room == 0) | (lengths[used].astype(np.uint64) > room)
        if too_long.any() or (start % item).any():
            raise Contradiction(f"{what} reaches beyond its array")

    def _has_elements_of(self, type: ArrayType) -> Bools:
        return np.array([accepts_elements(type, e) for e, _ in self.arrays], np.bool_)


def read_contents(description: Any) -> tuple[Contents, dict[str, Root]]:
    """What a description says. Raises DumpError for classes that this program does not have or has
    otherwise, Contradiction and what Python raises for one of another shape."""
    classes = [_objects(entry) for entry in _list(description["classes"])]
    if len({cls for cls, _ in classes}) != len(classes):
        raise Contradiction("a class occurs twice")
    arrays = [_array(entry) for entry in _list(description["arrays"])]
    contents = Contents(classes, arrays)
    roots = {name: _root(root) for name, root in description["roots"].items()}
    for name, root in roots.items():
        contents.check_root(root, f"the root {printable(name)}")
    return contents, roots


def _objects(entry: Any) -> tuple[ClassType, int]:
    cls = find_class(entry["class"])
    check_fields(f"class {cls.name}", entry["fields"], cls.fields)
    try:
        require_concrete(cls)
    except ClassError as error:
        raise DumpError(f"the dump has objects of {error.message}", error.help) from None
    return cls, _whole(entry["count"], 1)


def _array(entry: Any) -> tuple[Type, int]:
    element, size = find_element(entry["element"]), _whole(entry["size"], 1)
    item = storage_dtype(element).itemsize
    if item == 0 or size % item:
        raise Contradiction(f"an array of {element!r} has {size:,} bytes")
    return element, size


def _root(root: Any) -> Root:
    if "object" in root:
        return ObjectRoot(_whole(root["object"], 1, bits=64))
    code, length = _whole(root["array"], 0, bits=64), _whole(root["length"], 0)
    columns = root.get("columns")
    if columns is not None and length % max(1, _whole(columns, 0)):
        raise Contradiction("an array has rows of different lengths")
    return ArrayRoot(find_element(root["element"]), code, length, columns)


def _list(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise Contradiction("what should be a list is none")
    return found


def _whole(number: Any, least: int, bits: int = 63) -> int:
    if type(number) is not int or not least <= number < 1 << bits:
        raise Contradiction("what should be a number of things is none")
    return number

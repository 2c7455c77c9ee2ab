"""Which fields a record has at which offsets, and how the records of each class lie in memory.

The compiler, single-object access on the host and the NumPy views all ask a ``Layout``. The record
of a class has C alignment: the header that the dispatch mode needs, then the fields of the base
class, then the class's own. Objects are such records one after another (``records``), or the
scalars of 32 records lie row by row, or in clusters (``tiles``); addresses are computed by
``field_address``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from dispatch.mode import Placement

from ..errors import ClassError
from .arrangement import Arrangement
from .classes import ClassType
from .clusters import Cluster, Clusters
from .emitted import Emitted
from .field_address import RECORDS, ROWS, WIDEST_ACCESS, WORD, Addressing
from .record import Header, Record, part_of, scalars
from .records import Records
from .reference import NULL_REACH, PlainReference, ReferenceEncoding
from .run_form import RunForm
from .scalars import ScalarType
from .tiles import Tiles, emit_neighbour
from .types import ArrayType, InlineType, ReferenceType, Type, ValueType

#: An array as it is stored: where its elements lie and how many there are.
ARRAY_DTYPE = np.dtype([("address", np.uint64), ("length", np.int64)], align=True)
_ARRAY = struct.Struct("<Qq")
#: Bytes of a field: NumPy describes none that is larger.
LARGEST_FIELD = 2**31 - 1
#: The same from Python's numbers and back, in a tenth of NumPy's time.
pack_array, unpack_array = _ARRAY.pack, _ARRAY.unpack
REFERENCE_DTYPE = np.dtype(np.uint64)
_I32 = ir.IntType(32)


def storage_dtype(type: Type, reference: np.dtype[Any] = REFERENCE_DTYPE) -> np.dtype[Any]:
    """How a value of ``type`` lies in memory whose references are ``reference``, with C alignment.

    Raises ClassError for a type that has no storage (a tuple, None).
    """
    if isinstance(type, ScalarType):
        return type.dtype
    if isinstance(type, ReferenceType):
        return reference
    if isinstance(type, ArrayType):
        return ARRAY_DTYPE
    if isinstance(type, InlineType):
        element = storage_dtype(type.element, reference)
        if element.itemsize * type.length > LARGEST_FIELD:
            raise ClassError(
                f"a field of type {type!r} takes {element.itemsize * type.length} bytes, and "
                f"{LARGEST_FIELD} are the most",
                "inline arrays are part of every object: use oa.Array for one this long",
            )
        return np.dtype((element.base, (*type.shape, *element.shape)))
    if isinstance(type, ValueType):
        if type.dtype is not None:
            given: np.dtype[Any] = type.dtype
            return given
        members = [(n, storage_dtype(t, reference)) for n, t in type.fields.items()]
        return np.dtype(members, align=True)
    raise ClassError(f"{type!r} cannot be stored in memory", "store its parts in fields instead")


def alignment(dtype: np.dtype[Any]) -> int:
    return dtype.base.alignment


def member_part(type: ValueType, dtype: np.dtype[Any], name: str) -> tuple[int, np.dtype[Any]]:
    """Bytes into a value struct that lies in memory as ``dtype``, and dtype, of a field."""
    if not type.shape:
        return part_of(dtype, name)
    rest = type.shape[1:]
    part = np.dtype((dtype.base, rest)) if rest else dtype.base
    return list(type.fields).index(name) * part.itemsize, part


class Layout:
    """Where the fields of every class lie, for objects that carry ``header``.

    ``name`` says which families of classes lie in tiles: none (``aos``), all (``tile``), or those
    that ask for it (``auto``); with ``tiles`` those that ask for nothing, too. All classes of a
    family are alike, as references to a base reach the fields of every subclass. A foreign class
    brings its own record, whatever the header and the layout of the others.
    """

    def __init__(
        self,
        name: str,
        header: Header,
        tiles: bool = False,
        in_regions: bool = False,
        references: ReferenceEncoding | None = None,
        clusters: Clusters = Clusters(),  # noqa: B008 - it cannot be changed
    ) -> None:
        """``in_regions``: no object is placed by itself. ``references``: plain if not given.
        ``clusters``: each as ``can_cluster`` allows, no field in two."""
        self.name = name
        self.header = header
        self._tiles = tiles
        self._in_regions = in_regions
        self._references = references or PlainReference()
        self.clusters = clusters
        self._arrangements: dict[ClassType, Arrangement] = {}

    @property
    def key(self) -> tuple[str, Header, bool, bool, str]:
        """Layouts with the same key are alike but for clusters."""
        return self.name, self.header, self._tiles, self._in_regions, self._references.name

    def with_clusters(self, clusters: Clusters) -> Layout:
        """The same with other clusters."""
        for cls, groups in clusters:
            assert all(self.can_cluster(cls, names) for names in groups), f"clusters of {cls!r}"
            fields = [name for names in groups for name in names]
            assert len(set(fields)) == len(fields), f"clusters of {cls!r} overlap"
        references = self._references
        return Layout(self.name, self.header, self._tiles, self._in_regions, references, clusters)

    @property
    def placement(self) -> Placement:
        """Whether objects lie in regions of their class, or each by itself."""
        return "by_type" if self._in_regions else "scattered"

    @property
    def is_open(self) -> bool:
        """Whether it is the heap's own choice which clusters there are."""
        return self.name == "auto" and self._tiles and self.header.size == 0

    def is_open_for(self, cls: ClassType) -> bool:
        """Whether that includes those of a class."""
        return self.is_open and cls.family.layout is None and self.is_tiled(cls)

    def can_cluster(self, owner: ClassType, names: Sequence[str]) -> bool:
        """Whether the fields may be a cluster of the class: ones that it declares itself, side by
        side, of several scalars, such that all of every object's are aligned."""
        if self.header.size or not self.is_tiled(owner):
            return False
        declared, wanted = list(owner.own_fields), list(names)
        first = declared.index(wanted[0]) if wanted and wanted[0] in declared else len(declared)
        if not wanted or declared[first : first + len(wanted)] != wanted:
            return False
        record = self.record(owner)
        found = [
            scalar
            for name in wanted
            for scalar in scalars(record.dtypes[name], record.offsets[name])
        ]
        if sum(math.prod(scalar.shape) for scalar in found) < 2:
            return False
        cluster = cluster_of(record, names)
        widest = max(scalar.dtype.alignment for scalar in found)
        # Value structs of other compilers may be packed.
        are_aligned = all(
            step % scalar.dtype.alignment == 0
            for scalar in found
            for step in (scalar.offset, *scalar.strides)
        )
        return are_aligned and cluster.offset % widest == 0 and cluster.width % widest == 0

    def cluster(self, owner: ClassType, name: str) -> Cluster | None:
        """What the field of the class, which may have inherited it, lies in, if anything."""
        return self.addressing(owner, name).cluster

    def addressing(self, owner: ClassType, name: str) -> Addressing:
        """How the field of the class, which may have inherited it, lies in objects of the class and
        its subclasses; where in their records, says ``record``."""
        arrangement = self.arrangement(owner)
        return arrangement.addressing(arrangement.record.offsets[name])

    def dtype(self, type: Type) -> np.dtype[Any]:
        """How a value of ``type`` lies in memory (``storage_dtype``)."""
        return storage_dtype(type, self._references.dtype)

    def is_tiled(self, cls: ClassType) -> bool:
        """Whether objects of the class, and all of its family, lie in tiles."""
        if cls.foreign is not None:
            return False
        name = self.name if self.name != "auto" else cls.family.layout
        return self._tiles if name is None else name == "tile"

    def record(self, cls: ClassType) -> Record:
        return self.arrangement(cls).record

    def arrangement(self, cls: ClassType) -> Arrangement:
        """How objects of exactly this class lie in a region."""
        found = self._arrangements.get(cls)
        if found is None:
            found = self._arrangements[cls] = self._arrange(cls)
        return found

    def _arrange(self, cls: ClassType) -> Arrangement:
        if cls.foreign is not None:
            return Records(cls.foreign.record)
        if self.is_tiled(cls):
            record = self._lay_out(cls, WORD)
            return Tiles(record, self.header, list(self._clusters_in(cls, record)))
        return Records(self._lay_out(cls, self._references.unit))

    def _clusters_in(self, cls: ClassType, record: Record) -> Iterator[Cluster]:
        """The clusters of the class, inherited ones too."""
        for owner, groups in self.clusters:
            if cls.is_subclass_of(owner):
                for names in groups:
                    yield cluster_of(record, names)

    def _lay_out(self, cls: ClassType, least_alignment: int) -> Record:
        """The size is a multiple of ``least_alignment``, too."""
        offset, widest = self.header.size, max(self.header.alignment, least_alignment)
        offsets, dtypes = {}, {}
        for name, type in cls.fields.items():
            dtype = self.dtype(type)
            step = alignment(dtype)
            offset = -(-offset // step) * step
            offsets[name], dtypes[name] = offset, dtype
            offset += dtype.itemsize
            widest = max(widest, step)
        # Two objects never share an address, also when they have no fields at all.
        size = max(-(-offset // widest) * widest, 8)
        return Record(size, widest, offsets, dtypes)

    def object_alignment(self, cls: ClassType) -> int:
        """A power of two that divides the address of every object of the class and its subclasses:
        regions begin at multiples of more. 1 where nothing is known."""
        if not self._in_regions:
            return 1
        known = WIDEST_ACCESS
        for concrete in cls.concrete():
            if concrete.foreign is not None or not concrete.is_resolved:
                return 1
            known = math.gcd(known, self.record(concrete).size)
        return known

    def emit_field_address(
        self, builder: Any, object_address: Any, cls: ClassType, name: str
    ) -> Any:
        """LLVM i64: ``Addressing.begin`` of a field, given the object's address as i64."""
        object = Emitted(builder, object_address)
        return self.addressing(cls, name).begin(object, self.record(cls).offsets[name]).value

    def reaches_far(self, cls: ClassType, name: str) -> bool:
        """Whether a field of null may lie where somebody has memory (``NULL_REACH``)."""
        record = self.record(cls)
        end = record.offsets[name] + record.dtypes[name].itemsize
        return end * self.addressing(cls, name).lanes > NULL_REACH

    def alignment_in_cluster(self, cls: ClassType, name: str) -> int | None:
        """A power of two that divides the address of a field of every object, if it lies in a
        cluster."""
        addressing = self.addressing(cls, name)
        if addressing.cluster is None:
            return None
        return addressing.multiple(self.record(cls).offsets[name], 1)

    def emit_neighbour(self, builder: Any, reference: Any, position: Any, form: RunForm) -> Any:
        """LLVM i64: what ``ReferenceEncoding.origin`` is for the object ``position`` (i64) slots
        after the first of a run, from ``reference``, which it is for that one."""
        size = self.record(form.cls).size
        if self.is_tiled(form.cls):
            return emit_neighbour(builder, reference, position, size, form.near)
        constant = reference.type
        if form.near:
            offset = builder.mul(builder.trunc(position, _I32), _I32(size))
            return builder.add(reference, builder.zext(offset, constant))
        return builder.add(reference, builder.mul(position, constant(size)))

    def emit_vtable_address(self, builder: Any, object_address: Any, cls: ClassType) -> Any:
        """LLVM i64: where the vtable pointer of an object of the class or a subclass lies."""
        header = ROWS if self.is_tiled(cls) else RECORDS
        return header.address(Emitted(builder, object_address), 0, 8).value


def cluster_of(record: Record, names: Sequence[str]) -> Cluster:
    """The bytes of consecutive fields."""
    first, last = names[0], names[-1]
    stop = record.offsets[last] + record.dtypes[last].itemsize
    return Cluster(record.offsets[first], stop - record.offsets[first])

"""Shared classes for the classes of a C++ program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch.dataclass import dataclass
from dispatch.mode import Mode

from ..errors import ClassError
from ..model.classes import ClassType, take_type_indices
from ..model.foreign import declare_foreign
from ..model.record import Record
from ..model.scalars import ScalarType, from_dtype
from ..model.structs import foreign_value
from ..model.types import InlineType, ReferenceType, Type, ValueType
from .description import Description
from .specification import VTABLE_POINTER, ClassSpecification, FieldSpecification, spelling

if TYPE_CHECKING:
    from .program import Program

_REGION_ALIGNMENT = 256
_ALLOCATOR_ALIGNMENT = 16
"""Bytes to which the device's own malloc aligns."""


@dataclass(frozen=True, eq=False)
class CxxClass:
    """What the model knows of a C++ class (``model.foreign.ForeignClass``)."""

    program: Program
    name: str
    record: Record
    is_abstract: bool
    vtable: str | None

    def header(self, mode: Mode, backend: Any) -> bytes:
        """The vtable pointer: that of the module which this mode loads on the device. Where nothing
        can be launched nobody reads it."""
        if mode.placement == "scattered" and self.record.alignment > _ALLOCATOR_ALIGNMENT:
            raise ClassError(
                f"{self.name} is aligned to {self.record.alignment} bytes, and mode {mode.name} "
                f"places objects by malloc, which aligns to {_ALLOCATOR_ALIGNMENT}",
                "use a mode that places objects by type (any but cuda and concord)",
            )
        if backend.name != "cuda":
            return bytes(VTABLE_POINTER)
        assert self.vtable is not None
        address = self.program.loaded(mode, backend).vtables[self.vtable]
        return address.to_bytes(VTABLE_POINTER, "little")


def declare_classes(
    program: Program,
    specifications: Sequence[ClassSpecification],
    descriptions: dict[str, Description],
) -> dict[str, type]:
    """By the user's names. Raises ClassError, having declared none."""
    known = [_described(program, s, descriptions) for s in specifications]
    bases = _nearest_bases(specifications, known)
    order = _bases_first(bases)
    values = _ValueTypes(program.name)
    records: dict[int, Record] = {}
    own: dict[int, list[_Field]] = {}
    for number in order:
        above = bases[number]
        own[number] = [
            _field(specifications[number], field, known[number], values)
            for field in specifications[number].fields
        ]
        records[number] = _record(
            specifications[number],
            known[number],
            own[number],
            None if above is None else records[above],
        )
    _check_pointees(specifications)
    made: dict[str, type] = {}
    indices = take_type_indices(len(order))
    for number, type_index in zip(order, indices, strict=True):
        specification, description = specifications[number], known[number]
        above = bases[number]
        foreign = CxxClass(
            program,
            specification.name,
            records[number],
            description.is_abstract,
            description.vtable,
        )
        made[specification.name] = declare_foreign(
            specification.name,
            program.name,
            None if above is None else made[specifications[above].name],
            [field.name for field in specification.fields],
            _resolver(own[number], made),
            specification.members,
            foreign,
            type_index,
        )
    return {s.name: made[s.name] for s in specifications}


def _described(
    program: Program,
    specification: ClassSpecification,
    descriptions: dict[str, Description],
) -> Description:
    name = specification.name
    found = descriptions.get(spelling(name))
    if found is None:
        raise ClassError(
            f"{program.name} says nothing of class {name}",
            f'add `#include "sharedoa_class.h"` and SHAREDOA_CLASS(identifier, {name}) to the '
            "source that it was compiled from; cxx.declarations(classes) writes these lines, "
            "cxx.include_folder() is where the header lies",
        )
    if not found.is_polymorphic:
        raise ClassError(
            f"class {name} has no virtual functions, so its objects do not know their class",
            "make a function virtual, or pass plain structures as arrays: oa.array",
        )
    if found.alignment > _REGION_ALIGNMENT:
        raise ClassError(
            f"class {name} is aligned to {found.alignment} bytes; at most {_REGION_ALIGNMENT} are "
            "possible",
            "align it less",
        )
    if not found.inherits_once:
        raise ClassError(
            f"class {name} inherits from several classes with virtual functions, or from a virtual "
            "base: a pointer to its second base is no pointer to the object",
            "inherit from one class, and hold references to objects of the others",
        )
    return found


# ---------------------------------------------------------------- hierarchy


def _nearest_bases(
    specifications: Sequence[ClassSpecification], known: Sequence[Description]
) -> list[int | None]:
    """For each class the number of its most derived declared base, or None."""
    numbers = {spelling(s.name): number for number, s in enumerate(specifications)}
    above = [{numbers[b] for b in description.bases if b in numbers} for description in known]
    for number, bases in enumerate(above):
        for base in bases:
            if number in above[base]:
                raise ClassError(
                    f"{specifications[number].name} and {specifications[base].name} are the same "
                    "class",
                    "declare it once",
                )
    return [max(bases, key=lambda b: len(above[b]), default=None) for bases in above]


def _bases_first(bases: Sequence[int | None]) -> list[int]:
    """Every class after its base, and next to what is derived from it."""
    order: list[int] = []

    def visit(number: int) -> None:
        order.append(number)
        for other, base in enumerate(bases):
            if base == number:
                visit(other)

    for number, base in enumerate(bases):
        if base is None:
            visit(number)
    return order


# ---------------------------------------------------------------- fields


@dataclass(frozen=True)
class _Field:
    """A field as it lies in memory; ``pointee`` as in ``FieldSpecification``."""

    name: str
    offset: int
    dtype: np.dtype[Any]
    type: Type
    pointee: str | None


def _field(
    cls: ClassSpecification,
    field: FieldSpecification,
    description: Description,
    values: _ValueTypes,
) -> _Field:
    dtype, offset = field.dtype, field.offset
    if offset is None:
        offset, dtype = _laid_out(cls, field, description)
    where = f"class {cls.name}, field {field.name}"
    return _Field(field.name, offset, dtype, values.type(dtype, where), field.pointee)


def _laid_out(
    cls: ClassSpecification, field: FieldSpecification, description: Description
) -> tuple[int, np.dtype[Any]]:
    """Offset and dtype of a field with the offsets and sizes that the program tells."""
    where = f"class {cls.name}, field {field.name}"
    for label, expression in field.members():
        if label not in description.fields:
            raise ClassError(
                f"{where}: the program says nothing of {expression}",
                f"add SHAREDOA_FIELD(identifier, {field.name}) after its SHAREDOA_CLASS "
                "(cxx.declarations(classes) writes these lines), or " + EXPLICIT_OFFSETS,
            )

    def arrange(label: str, dtype: np.dtype[Any], shown: str) -> np.dtype[Any]:
        offset, size = description.fields[label]
        count = int(np.prod(dtype.shape)) if dtype.subdtype is not None else 1
        base = dtype.base
        if base.names is not None:
            assert base.fields is not None
            parts = {n: arrange(f"{label}__{n}", base.fields[n][0], n) for n in base.names}
            offsets = [description.fields[f"{label}__{n}"][0] - offset for n in base.names]
            ends = [o + part.itemsize for o, part in zip(offsets, parts.values(), strict=True)]
            if size % count == 0 and max(ends) <= size // count:
                base = np.dtype(
                    {
                        "names": list(parts),
                        "formats": list(parts.values()),
                        "offsets": offsets,
                        "itemsize": size // count,
                    }
                )
        if base.itemsize * count != size:
            raise ClassError(
                f"{where}: {shown} is {base.itemsize * count} bytes as {dtype}, and {size} in C++",
                "give the dtype of the C++ member's type",
            )
        return np.dtype((base, dtype.shape)) if dtype.subdtype is not None else base

    return description.fields[field.name][0], arrange(field.name, field.dtype, "it")


EXPLICIT_OFFSETS = (
    'give the offsets yourself: np.dtype({"names": [...], "formats": [...], "offsets": [...]})'
)


class _ValueTypes:
    """Types for dtypes; equal structures of one program have one type."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._found: dict[np.dtype[Any], ValueType] = {}

    def type(self, dtype: np.dtype[Any], where: str, nested: bool = False) -> Type:
        """Raises ClassError for what has no type here."""
        if dtype.subdtype is not None:
            if len(dtype.shape) != 1 or nested:
                kind = "an array inside a structure" if nested else "an array of arrays"
                raise ClassError(
                    f"{where}: {kind} has no type in Python",
                    "give the whole as one array of its elements: the dtype's size must be the "
                    "member's, or " + EXPLICIT_OFFSETS,
                )
            return InlineType(self._element(dtype.base, where), dtype.shape)
        return self._element(dtype, where)

    def _element(self, dtype: np.dtype[Any], where: str) -> ScalarType | ValueType:
        if dtype.names is None:
            scalar = from_dtype(dtype)
            if scalar is None:
                raise ClassError(
                    f"{where}: {dtype} is no type that shared objects have",
                    "use integers of 1 to 8 bytes, f4, f8 or bool; for others their bytes, as "
                    '("u1", size)',
                )
            return scalar
        if dtype not in self._found:
            assert dtype.fields is not None
            fields = {n: self.type(dtype.fields[n][0], where, True) for n in dtype.names}
            name = where.removeprefix("class ").replace(", field ", ".")
            self._found[dtype] = foreign_value(name, self._module, fields, dtype)
        return self._found[dtype]


def _record(
    cls: ClassSpecification, description: Description, own: list[_Field], base: Record | None
) -> Record:
    offsets = dict(base.offsets) if base else {}
    dtypes = dict(base.dtypes) if base else {}
    for field in own:
        where = f"class {cls.name}, field {field.name}"
        if field.name in offsets:
            raise ClassError(
                f"{where}: its base class declares it already", "leave it out of this class"
            )
        end = field.offset + field.dtype.itemsize
        if field.offset < VTABLE_POINTER:
            raise ClassError(
                f"{where} begins at byte {field.offset}, inside the vtable pointer, which is the "
                f"first {VTABLE_POINTER} bytes of every object",
                "give offsets from the start of the object",
            )
        if end > description.size:
            raise ClassError(
                f"{where} ends at byte {end}, and an object has {description.size}",
                "give the offset and type that the member has in C++",
            )
        offsets[field.name], dtypes[field.name] = field.offset, field.dtype
    return Record(description.size, description.alignment, offsets, dtypes)


def _check_pointees(specifications: Sequence[ClassSpecification]) -> None:
    declared = {spelling(s.name) for s in specifications}
    for cls in specifications:
        for field in cls.fields:
            if field.pointee is not None and spelling(field.pointee) not in declared:
                raise ClassError(
                    f"class {cls.name}, field {field.name}: {field.pointee} is not declared",
                    "declare that class too, or give a pointer to anything else as u8",
                )


def _resolver(own: list[_Field], made: dict[str, type]) -> Callable[[], dict[str, Type]]:
    """Types of the fields, when all classes exist that they refer to."""

    def resolve() -> dict[str, Type]:
        by_spelling = {spelling(name): python_class for name, python_class in made.items()}
        found: dict[str, Type] = {}
        for field in own:
            found[field.name] = field.type
            if field.pointee is not None:
                cls: ClassType = by_spelling[spelling(field.pointee)].__sharedoa__  # type: ignore[attr-defined]
                reference = ReferenceType(cls)
                is_array = isinstance(field.type, InlineType)
                length = field.dtype.shape[0] if is_array else 0
                found[field.name] = InlineType(reference, (length,)) if is_array else reference
        return found

    return resolve

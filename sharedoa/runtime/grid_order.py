"""How objects are brought into the order of their cells: a stable counting sort, of kernels.

Each object counts itself in its cell, and remembers as which it came; prefix sums of the counts say
where cells begin. As which an object came depends on the order of threads, so it is no order: in
the end each looks which of its cell come before it in what the grid is built of, and takes its
place after them. That takes as many steps as there are objects in the cell, as finding them does.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..frontend import Translation, tree
from ..frontend.program import ProgramBuilder, kernel_symbol
from ..heap.arrays import Array
from ..model import scalars
from ..model.classes import ClassType, Signature
from ..model.functions import DeviceFunction, func
from ..model.grid_search import NOWHERE, SOLID, GridShape, cell_at, inside32, inside64
from ..model.intrinsics import atomic_add, grid
from ..model.kept_by_class import kept_by_class
from ..model.scalars import ScalarType, boolean, weak_int
from ..model.type_names import f32, f64, i32, i64, u32, u64
from ..model.types import VOID, ArrayType, ReferenceType, Type, ValueType
from .kernel import kernel
from .launch import Program
from .program_source import Source

# ---------------------------------------------------------------------- kernels


@kernel
def kernel_clear_cells(counts: Array[i32]) -> None:
    counts[grid(1)] = 0


def _counting(T: Any, inside: Any) -> DeviceFunction[..., Any]:
    """For positions of one precision."""

    @func
    def count(
        i: u64, x: T, y: T, z: T, shape: GridShape, points: Array[T], cells: Array[u32],
        ranks: Array[i32], counts: Array[i32],
    ) -> None:  # fmt: skip
        """Object ``i`` notes where in the box it is, in which cell, and as which it came there."""
        x, y, z = inside(x, shape.period_x), inside(y, shape.period_y), inside(z, shape.period_z)
        if shape.form >= SOLID:
            points[3 * i], points[3 * i + 1], points[3 * i + 2] = x, y, z
        else:
            points[2 * i], points[2 * i + 1] = x, y
        cell = cell_at(shape, f64(x), f64(y), f64(z))
        cells[i] = cell
        if cell != NOWHERE:
            ranks[i] = atomic_add(counts, cell, 1)

    return count


@kernel
def kernel_gather_members(
    cells: Array[u32], ranks: Array[i32], starts: Array[i32], members: Array[i32]
) -> None:
    """The objects of each cell side by side, in the order in which they came."""
    i = grid(1)
    cell = cells[i]
    if cell != NOWHERE:
        members[starts[cell] + ranks[i]] = i


@func
def place_of(i: u64, cells: Array[u32], starts: Array[i32], members: Array[i32]) -> i64:
    """Where object ``i`` belongs: after those of its cell that come before it. -1: nowhere."""
    cell = cells[i]
    if cell == NOWHERE:
        return -1
    first, before = starts[cell], i32(0)
    for k in range(first, starts[cell + 1]):
        if u64(members[k]) < i:
            before += 1
    return first + before


def _placing(T: Any) -> DeviceFunction[..., Any]:
    """For positions of one precision."""

    @func
    def place(
        i: u64, shape: GridShape, points: Array[T], cells: Array[u32], starts: Array[i32],
        members: Array[i32], placed: Array[T],
    ) -> i64:  # fmt: skip
        """Where object ``i`` belongs, or -1; its position is put there."""
        found = place_of(i, cells, starts, members)
        if found >= 0:
            numbers = 3 if shape.form >= SOLID else 2
            for k in range(numbers):
                placed[u64(found) * u64(numbers) + u64(k)] = points[i * u64(numbers) + u64(k)]
        return found

    return place


#: By the bits of positions.
COUNT = {32: _counting(f32, inside32), 64: _counting(f64, inside64)}
PLACE = {32: _placing(f32), 64: _placing(f64)}

# ---------------------------------------------------------------------- positions


class Positions(NamedTuple):
    """Where the positions of objects are: the names of the fields that lead to each coordinate (a
    vector and its component, or the coordinate itself), and what these are."""

    paths: tuple[tuple[str, ...], ...]
    type: ScalarType


def positions_of(cls: ClassType, field: str | None, dimensions: int) -> Positions:
    """The positions of objects of ``cls`` in a box of so many dimensions: in ``field``, or in
    fields x, y, z of the objects. Raises ArgumentError if there are none."""
    names = ("x", "y", "z")[:dimensions]
    fields, before = cls.fields, cls.name
    if field is not None:
        struct = cls.fields.get(field)
        before = f"{cls.name}.{field}"
        if struct is None:
            raise ArgumentError(
                f"{cls.name} has no field {field!r}", f"its fields are {', '.join(cls.fields)}"
            )
        if not isinstance(struct, ValueType):
            raise ArgumentError(
                f"{before} is {struct!r}, and no vector",
                "a position is a value with x and y, or fields x and y of the objects: "
                "grid.build(objects)",
            )
        fields = struct.fields
        if "z" in fields and dimensions == 2:
            raise ArgumentError(
                f"{before} has three coordinates, and the grid has a size of two",
                "give the size along z, too: oa.HashGrid(cell=..., size=(width, height, depth))",
            )
    types = [fields.get(name) for name in names]
    found = types[0]
    if not isinstance(found, ScalarType) or not found.is_float or len({*types}) != 1:
        listed = ", ".join(f"{n}: {t!r}" for n, t in zip(names, types, strict=True) if t)
        raise ArgumentError(
            f"{before} gives no position in {dimensions} dimensions"
            + (f": it has {listed}" if listed else ""),
            f"give it {', '.join(names)}, all f32 or all f64, or name the field that has them: "
            'grid.build(objects, "pos")',
        )
    prefix = () if field is None else (field,)
    return Positions(tuple((*prefix, name) for name in names), found)


# ---------------------------------------------------------------------- kernels of a class


@kept_by_class
def counting(cls: ClassType, positions: Positions) -> Program:
    """The kernel that calls ``count`` for objects of ``cls``; the first of them
    has the number ``first``."""
    count = COUNT[positions.type.bits]
    signature = _signature(cls, count, 4)

    def in_cpython(objects: Any, first: Any, *rest: Any) -> None:
        thread = grid(1)
        found = []
        for path in positions.paths:
            value = objects[thread]
            for name in path:
                value = getattr(value, name)
            found.append(value)
        count(u64(first + thread), *_filled(found, positions.type(0)), *rest)

    def body(made: _Kernel) -> list[tree.Statement]:
        one = made.object(cls)
        found = [made.coordinate(one, cls, path) for path in positions.paths]
        zero = tree.Constant(positions.type, made.location, 0.0)
        call = made.call(count, [made.number(), *_filled(found, zero), *made.rest])
        return [*made.before, tree.Evaluate(made.location, call)]

    return _program(f"HashGrid[{cls.name}].count", signature, body, in_cpython)


@kept_by_class
def placing(cls: ClassType, listed: ClassType, bits: int) -> Program:
    """The kernel that calls ``place`` for objects of ``cls``, and puts each into
    its place of the last argument, an array of ``listed``."""
    place = PLACE[bits]
    signature = _signature(cls, place, 1)
    to: Type = ArrayType(ReferenceType(listed))
    signature = Signature((*signature.names, "sorted"), (*signature.types, to), VOID)

    def in_cpython(objects: Any, first: Any, *rest: Any) -> None:
        thread = grid(1)
        found = place(u64(first + thread), *rest[:-1])
        if found >= 0:
            rest[-1][int(found)] = objects[thread]

    def body(made: _Kernel) -> list[tree.Statement]:
        location = made.location
        found = made.named(made.call(place, [made.number(), *made.rest[:-1]]))
        index = tree.Convert(weak_int, location, found)
        zero = tree.Constant(scalars.i64, location, 0)
        target = tree.ElementPlace(ReferenceType(listed), location, made.rest[-1], index, False)
        one = tree.Convert(ReferenceType(listed), location, made.object(cls))
        stored = tree.If(
            location,
            tree.Compare(boolean, location, "ge", found, zero),
            [tree.Store(location, target, one)],
            [],
        )
        return [*made.before, stored]

    return _program(f"HashGrid[{cls.name}].place", signature, body, in_cpython)


def _filled(coordinates: list[Any], zero: Any) -> list[Any]:
    return [*coordinates, zero] if len(coordinates) == 2 else coordinates


def _signature(cls: ClassType, function: DeviceFunction[..., Any], own: int) -> Signature:
    """Objects, the number of the first one, and the parameters of ``function`` without its first
    ``own``."""
    names, types = function.signature.names[own:], function.signature.types[own:]
    objects: Type = ArrayType(ReferenceType(cls))
    return Signature(("objects", "first", *names), (objects, scalars.i64, *types), VOID)


def _program(
    name: str,
    signature: Signature,
    body: Callable[[_Kernel], list[tree.Statement]],
    in_cpython: Callable[..., None],
) -> Program:
    return Program(
        Source(
            name,
            signature,
            lambda: _Kernel(name, signature).made(body),
            in_cpython,
            uses_barrier=False,
            receivers=1,
            keeps_arrays=True,
        )
    )


class _Kernel:
    """A kernel in the making, of a class that only its caller knows: each thread has an object."""

    def __init__(self, name: str, signature: Signature) -> None:
        code = unwrap(counting).__code__
        line = code.co_firstlineno
        self.location = tree.Location(code.co_filename, line, 0, line, 0, name)
        self.before: list[tree.Statement] = []
        self._name, self._builder = name, ProgramBuilder()
        pairs = zip(signature.names, signature.types, strict=True)
        self._parameters = [tree.Variable(*pair) for pair in pairs]
        self._objects, self._first, *self.rest = (
            tree.Local(each.type, self.location, each) for each in self._parameters
        )
        self._thread = self.named(tree.ThreadIndex(weak_int, self.location, 0))

    def made(self, body: Callable[[_Kernel], list[tree.Statement]]) -> Translation:
        kernel = tree.Function(
            kernel_symbol(self._name), self._name, "kernel", self._parameters, VOID, body(self),
            self.location,
        )  # fmt: skip
        program = self._builder.complete(kernel)
        return Translation(program, list(dict.fromkeys(self._builder.dependencies)))

    def named(self, value: tree.Expression) -> tree.Expression:
        """``value``, computed by the last of the statements that stand before."""
        variable = tree.Variable("", value.type)
        self.before.append(tree.Assign(self.location, variable, value))
        return tree.Local(value.type, self.location, variable)

    def number(self) -> tree.Expression:
        """The number of the thread's object among all."""
        first = tree.Convert(weak_int, self.location, self._first)
        number = tree.Binary(weak_int, self.location, "add", first, self._thread)
        return tree.Convert(scalars.u64, self.location, number)

    def object(self, cls: ClassType) -> tree.Expression:
        self._builder.depend_on_subclasses(cls)
        type = ReferenceType(cls)
        place = tree.ElementPlace(type, self.location, self._objects, self._thread, False)
        return self.named(tree.Load(type, self.location, place))

    def coordinate(
        self, object: tree.Expression, cls: ClassType, path: tuple[str, ...]
    ) -> tree.Expression:
        owner = cls.field_owner(path[0])
        assert owner is not None
        type = owner.own_fields[path[0]]
        place: tree.Place = tree.FieldPlace(type, self.location, object, owner, path[0])
        for name in path[1:]:
            assert isinstance(type, ValueType)
            type = type.fields[name]
            place = tree.MemberPlace(type, self.location, place, name)
        return tree.Load(type, self.location, place)

    def call(
        self, function: DeviceFunction[..., Any], arguments: list[tree.Expression]
    ) -> tree.Expression:
        symbol = self._builder.require_function(function)
        return tree.DirectCall(function.signature.result, self.location, symbol, arguments)

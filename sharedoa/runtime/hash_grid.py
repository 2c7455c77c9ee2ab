"""``oa.HashGrid``: finds the objects near a position, in the plane and in space."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np

from ..errors import ArgumentError, HeapError
from ..forks import renew_in_child
from ..heap.arrays import Array, FieldView, ObjectArray
from ..heap.objects import ManyObjects
from ..heap.population import Population
from ..heap.recording import can_wait, is_recorded, recorder, with_listed
from ..model.annotations import GridAnnotation
from ..model.scalars import ScalarType, f32, f64, i32, promote, u32
from ..model.type_names import T_co
from ..model.types import ReferenceType
from ..model.values import describe, scalar_type_of
from .host_intrinsics import current_thread

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from ..model.classes import ClassType
    from ..model.grid_search import GridShape
    from ..model.grid_type import GridType
    from .prefix_sum import ExclusivePrefixSum

#: Kernels number cells and objects by i32.
_MOST_CELLS = (1 << 31) - 2
_MOST_OBJECTS = (1 << 31) - 1
#: By which part of a length what is computed in f32 or f64 may be wrong, with room to spare.
_SLACK = {32: 2.0**-20, 64: 2.0**-48}


class HashGrid(Generic[T_co]):
    """A box that is cut into cells, and the objects in each.

    ``grid.build(birds, "pos")`` puts objects in; kernels and methods take it as
    ``grid: oa.HashGrid[Bird]``, and find those within ``radius`` (at most so far away) of a
    position:

        for bird in grid.near(self.pos, radius):

    They are found where they were when the grid was built: their positions are copied. The order
    is always the same: by cell, cells of a row from low to high x, rows from low to high y, layers
    from low to high z, and within a cell as in what the grid was built of.

    The distance is computed in the precision of the positions, f32 or f64, as the sum of squares
    in the order x, y, z, compared with the square of the radius. In a periodic box the nearest
    image of an object counts, and each object is found once, however large the radius is; positions
    outside of the box mean their images inside. In a box that is not periodic, objects outside of
    it belong to the cells at its border; they are found as any other. What has a position that is
    not finite is never found, and near such a position, or with a radius that is negative or NaN,
    nothing is.

    Cells should be about as large as the radius. Time and memory to build it grow with the number
    of cells; where a cell holds many objects, building and finding take time with their square.
    """

    __slots__ = (
        "_boxes",
        "_building",
        "_capacity",
        "_cells",
        "_cls",
        "_counts",
        "_deletions",
        "_heap",
        "_held_type",
        "_kernel_type",
        "_members",
        "_numbers",
        "_objects",
        "_packed",
        "_points32",
        "_points64",
        "_prefix_sum",
        "_ranks",
        "_shape",
        "_starts",
        "_unsorted",
        "cell",
        "periodic",
        "size",
    )
    #: What kernels take, beside numbers (``model.grid_type``).
    _objects: ObjectArray
    _starts: Array
    _points32: Array
    _points64: Array
    _shape: GridShape | None
    #: The type that it has as an argument, None before it is built; and how it travels then.
    _kernel_type: GridType | None
    _packed: bytes
    #: Of coordinates of positions.
    _held_type: ScalarType
    #: What only the kernels that build it use: of each object the position, the cell and as which
    #: it came there, and the objects of each cell; of each cell how many came.
    _unsorted: Array
    _cells: Array
    _ranks: Array
    _members: Array
    _counts: Array
    _prefix_sum: ExclusivePrefixSum

    def __init__(self, *, cell: float, size: tuple[float, ...], periodic: bool = False) -> None:
        """A grid without objects for the box from 0 to ``size`` (two or three lengths), whose cells
        have edges of ``cell`` or a little more. ``periodic``: what leaves the box at one side
        enters it at the other.

        Raises ArgumentError for lengths that are not positive, and for more cells than 2^31.
        """
        self.cell = _length(cell, "the edge of a cell")
        if not isinstance(size, (tuple, list, np.ndarray)) or len(size) not in (2, 3):
            raise ArgumentError(
                f"oa.HashGrid: size is {size!r}",
                "give two or three lengths: size=(width, height) or (width, height, depth)",
            )
        self.size = tuple(_length(each, "a length of the box") for each in size)
        self.periodic = bool(periodic)
        counts = [max(1, math.floor(min(each / self.cell, _MOST_CELLS))) for each in self.size]
        if math.prod(counts) > _MOST_CELLS:
            raise ArgumentError(
                f"oa.HashGrid: a box of {' x '.join(map(str, self.size))} has more than 2^31 cells "
                f"of {self.cell}",
                "take larger cells: about the radius that is searched",
            )
        self._numbers = (*counts, 1)[:3]
        #: Held while it is built: arrays that only these kernels use are one build's.
        self._building = renew_in_child(threading.RLock())
        self._shape = self._kernel_type = None
        self._heap: Heap | None = None
        self._cls: ClassType | None = None
        self._boxes: dict[ScalarType, GridShape] = {}
        self._capacity = 0
        self._deletions = 0

    if not TYPE_CHECKING:

        def __class_getitem__(cls, element: Any) -> Any:
            return GridAnnotation(cls, element)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a HashGrid lies in the memory of a heap and cannot be copied or pickled: make another "
            f"one, oa.HashGrid(cell={self.cell}, size={self.size}, periodic={self.periodic}), and "
            "build it"
        )

    # ---------------------------------------------------------------- building

    def build(self, objects: Any, field: str | None = None) -> None:
        """Put these objects in, in place of those before: ``grid.build(birds, "pos")`` or
        ``grid.build(birds.pos)``, where ``pos`` is a value with ``x`` and ``y`` (and ``z``), or
        ``grid.build(birds)`` of objects with such fields, all f32 or all f64.

        ``objects`` are an array of references, or ``oa.all(Bird)``. Returns at once where the
        backend can. In a block of ``oa.capture()`` each run builds the grid of who lives then.

        Raises ArgumentError for anything else, and for None among the objects, HeapError for
        deleted ones.
        """
        objects, field = _objects_and_field(objects, field)
        heap = objects._heap
        from .grid_order import positions_of

        positions_of(objects._cls, field, len(self.size))
        if is_recorded(heap):
            found = recorder()
            assert found is not None
            deletions = heap.placement.deletions
            with self._building:
                if deletions != self._deletions:
                    self._heap = None  # until it runs it is empty, as who is in it may be gone
                self._make_room(objects, field)
                self._deletions = deletions
            found.record_call(lambda: self._build(objects, field))
            return
        self._build(objects, field)

    def _build(self, objects: Any, field: str | None) -> None:
        with self._building:
            with_listed(objects._heap, lambda: self._build_listed(objects, field))

    def _build_listed(self, objects: Any, field: str | None) -> None:
        from . import grid_order
        from .geometry import parse_geometry

        # Those that were asked for before use the grid that there is.
        objects._heap.launch_deferred()
        if not isinstance(objects, Population):
            objects._refuse_receivers("HashGrid.build")
        self._make_room(objects, field)
        heap, shape = objects._heap, self._shape
        positions = grid_order.positions_of(objects._cls, field, len(self.size))
        bits = positions.type.bits
        placed = self._points32 if bits == 32 else self._points64
        deletions = heap.placement.deletions  # before they are listed
        if isinstance(objects, Population):
            parts = [*objects._stretches()]
        else:
            parts = [objects]
        numbers = np.cumsum([0, *map(len, parts)]).tolist()
        count = numbers[-1]
        kernel_type, self._kernel_type = self._kernel_type, None
        self._deletions = deletions
        _launch(grid_order.kernel_clear_cells, len(self._counts), self._counts)
        between = self._unsorted, self._cells, self._ranks
        for part, first in zip(parts, numbers, strict=False):
            program = grid_order.counting(part._cls, positions)
            start = program.launcher(parse_geometry(len(part), 1))
            start(part, first, shape, *between, self._counts)
        self._prefix_sum.launch(_launch, self._counts, self._starts)
        ordered = self._cells, self._ranks, self._starts, self._members
        _launch(grid_order.kernel_gather_members, count, *ordered)
        given = shape, self._unsorted, self._cells, self._starts, self._members, placed
        storage = self._objects._storage
        try:
            for part, first in zip(parts, numbers, strict=False):
                program = grid_order.placing(part._cls, objects._cls, bits)
                start = program.launcher(parse_geometry(len(part), 1))
                start(part, first, *given, self._objects)
        finally:
            # These launches note no references (``keeps_arrays``). Copies that a tape made before
            # the first of them have others from now on.
            if storage is not None:
                storage.version += 1
        if storage is not None:
            storage.known, storage.lived = heap.known_now(), self._deletions
        self._kernel_type = kernel_type

    def _make_room(self, objects: ManyObjects, field: str | None) -> None:
        """Have arrays for these objects, with room to grow if there were too many before. New ones
        hold nothing, and no cell does."""
        from ..model.grid_type import grid_type
        from .arguments import packed
        from .grid_order import positions_of

        heap, cls, count = objects._heap, objects._cls, len(objects)
        type = positions_of(cls, field, len(self.size)).type
        if count > _MOST_OBJECTS:
            raise ArgumentError(f"a grid cannot hold {count} objects", "build one of fewer")
        cells = math.prod(self._numbers) + 1
        if heap is not self._heap:
            from .prefix_sum import exclusive_prefix_sum

            self._kernel_type = None
            self._counts = heap.blank(i32, cells)
            self._prefix_sum = exclusive_prefix_sum(heap, cells)
            self._heap, self._capacity, self._cls = heap, -1, None
        shape = self._shape_of(type)
        is_whole = self._kernel_type is not None
        if is_whole and cls is self._cls and shape is self._shape and count <= self._capacity:
            return
        grown = 3 * self._capacity // 2 if count > self._capacity >= 0 else self._capacity
        capacity = min(max(count, grown, 1), _MOST_OBJECTS)
        length = capacity * len(self.size)
        # An error on the way leaves a grid that was not built.
        self._kernel_type = self._cls = None
        self._shape, self._held_type = shape, type
        self._starts = heap.blank(i32, cells)
        self._objects = heap.blank(ReferenceType(cls), capacity)  # type: ignore[assignment]
        self._points32 = heap.blank(f32, length if type.bits == 32 else 0)
        self._points64 = heap.blank(f64, length if type.bits == 64 else 0)
        self._unsorted = heap.blank(type, length)
        self._cells = heap.blank(u32, capacity)
        self._ranks, self._members = (heap.blank(i32, capacity) for _ in range(2))
        self._capacity, self._cls = capacity, cls
        self._deletions = heap.placement.deletions
        self._kernel_type = grid_type(cls, HashGrid)
        self._packed = packed(self._kernel_type, self, "a grid")
        # Captured steps that have the arrays before look at their arguments again.
        heap.placement.change_layout()

    def _shape_of(self, type: ScalarType) -> GridShape:
        """The numbers of the grid for positions of this type."""
        from ..model.grid_search import GridShape, form_of

        if type not in self._boxes:
            with np.errstate(over="ignore"):
                size = [float(type(each)) for each in self.size]
            if not all(0 < each < math.inf for each in size):
                raise ArgumentError(
                    f"a box of {' x '.join(map(str, self.size))} has lengths that {type} cannot "
                    "hold, which the positions are of",
                    "measure in another unit, or give positions of f64",
                )
            periods = size if self.periodic else [math.inf] * len(size)
            densities = [n / each for n, each in zip(self._numbers, size, strict=False)]
            if len(size) == 2:
                periods, densities = [*periods, math.inf], [*densities, 0.0]
            form, slack = form_of(len(size), type.bits), _SLACK[type.bits]
            numbers: list[Any] = [form, *self._numbers, *densities, *periods, slack]
            self._boxes[type] = GridShape(*numbers)
        return self._boxes[type]

    # ---------------------------------------------------------------- searching

    @overload
    def near(self, position: Any, radius: float, /) -> Iterator[T_co]: ...
    @overload
    def near(self, x: float, y: float, radius: float, /) -> Iterator[T_co]: ...
    @overload
    def near(self, x: float, y: float, z: float, radius: float, /) -> Iterator[T_co]: ...

    def near(self, *given: Any) -> Iterator[T_co]:
        """The objects within ``radius`` of a position: ``near(position, radius)`` or
        ``near(x, y, radius)``, in space ``near(x, y, z, radius)``. The coordinates must be of as
        many bits as those that the grid was built of; on the host Python's own numbers may be, too.

        Raises ArgumentError for other coordinates and a grid that was not built, HeapError if an
        object in it was deleted since.
        """
        self._refuse_unusable("grid.near")
        return self._found(*_coordinates(given))

    def _found(self, coordinates: list[Any], radius: Any) -> Iterator[Any]:
        from ..model.grid_search import NEAR, SEARCHES, form_of, members_of, other_form

        assert self._shape is not None
        type = _common_type(coordinates)
        if type.weak:
            # Of no width: on the host any will do; kernels are compiled before there is a grid.
            type = self._held_type if current_thread.get() is None else f64
        form = form_of(len(coordinates), type.bits)
        if form != self._shape.form:
            raise ArgumentError(other_form(form), "convert the coordinates: f32(x), f64(x)")
        begin, points = SEARCHES[type.bits]
        given = [type(each) for each in [*coordinates, 0.0][:3]]
        with np.errstate(all="ignore"):
            search = begin(self._shape, form, *given, type(radius))
            for piece in range(search.window.pieces):
                first, stop = members_of(search.window, self._shape, self._starts, u32(piece))
                for k in range(first, stop):
                    if NEAR[form](getattr(self, points), u32(k), search):
                        yield self._objects[k]

    # ---------------------------------------------------------------- as an argument

    @staticmethod
    def __sharedoa_accept__(type: GridType, grid: Any, what: str) -> None:
        """Raise unless ``grid`` may be the argument ``what`` of this type."""
        if not isinstance(grid, HashGrid):
            raise ArgumentError(
                f"{what} takes {type!r}, not {describe(grid)}",
                "pass a grid: oa.HashGrid(cell=..., size=...)",
            )
        grid._refuse_unusable(what)
        assert grid._cls is not None
        if not grid._cls.is_subclass_of(type.cls):
            raise ArgumentError(
                f"{what} takes {type!r}, and this grid was built of {grid._cls.name}",
                f"build another one of {type.cls.name}",
            )

    def _refuse_unusable(self, what: str) -> None:
        if self._kernel_type is None:
            self._wait_for_builder(what)
        heap = self._heap
        if heap is None or self._cls is None or self._kernel_type is None:
            raise ArgumentError(
                f"{what}: nothing was put into this grid",
                'build it before: grid.build(objects, "pos")',
            )
        placement = heap.placement
        if placement.deletions == self._deletions or is_recorded(heap):
            return
        if placement.has_deleted(self._cls, self._deletions):
            now = placement.deletions
            references = self._objects._values()[: int(self._starts[-1])]
            # Where objects have moved since, references to deleted ones are null.
            has_gone = not references.all()
            try:
                placement.refuse_replaced(references, self._deletions)
            except HeapError:
                has_gone = True
            if has_gone:
                raise HeapError(
                    f"{what}: an object in this grid was deleted since it was built",
                    "build it again after objects were deleted",
                )
            self._deletions = now

    def _wait_for_builder(self, what: str) -> None:
        """Another thread may be about to have built it. Raises HeapError for a caller that may hold
        what a build needs: launches that wait or are under way were given a grid that was built."""
        heap = self._heap
        may_wait = current_thread.get() is None
        if heap is not None and may_wait:
            deferred = heap.memory.deferred
            is_launching = deferred is not None and deferred.is_launching_here()
            may_wait = can_wait(heap) and not is_launching
        if not may_wait:
            raise HeapError(
                f"{what}: another thread builds this grid while a launch that uses it is under way",
                "let one thread wait for the other",
            )
        with self._building:
            pass

    def __repr__(self) -> str:
        box = " x ".join(map(str, self.size))
        of = f" of {self._cls.name}" if self._cls is not None else ""
        return f"<HashGrid{of}, {box} in cells of {self.cell}>"


def _launch(kernel: Any, threads: Any, *arguments: Any) -> None:
    kernel[threads](*arguments)


def _length(value: Any, what: str) -> float:
    type = scalar_type_of(value)
    if type is None or type.kind == "bool" or not 0 < value < math.inf:
        raise ArgumentError(f"oa.HashGrid: {what} is {value!r}", "give a positive number")
    return float(value)


def _objects_and_field(objects: Any, field: str | None) -> tuple[Any, str | None]:
    """What ``build`` is given: objects, and the field that has their positions, if it is one."""
    if isinstance(objects, FieldView):
        is_whole = objects.source is not None and str(objects.path) == objects.path.name
        if field is not None or not is_whole:
            raise ArgumentError(
                "HashGrid.build is given a part of a view, or a view and a field",
                'name the objects and their field: grid.build(birds[:100], "pos")',
            )
        return objects.source, objects.path.name
    if isinstance(objects, (ObjectArray, Population)):
        return objects, field
    raise ArgumentError(
        f"HashGrid.build takes objects, not {describe(objects)}",
        'pass an array of objects or oa.all(C), and where their positions are: "pos"',
    )


def _coordinates(given: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """The coordinates and the radius that ``near`` is given."""
    *coordinates, radius = given if len(given) in (2, 3, 4) else (None, None)
    if len(coordinates) == 1:
        position = coordinates[0]
        names = [name for name in ("x", "y", "z") if hasattr(position, name)]
        coordinates = [getattr(position, name) for name in names]
    types = [scalar_type_of(each) for each in [*coordinates, radius]]
    if len(coordinates) < 2 or any(each is None or each.kind == "bool" for each in types):
        raise ArgumentError(
            f"grid.near is given {', '.join(map(describe, given)) or 'nothing'}",
            "write grid.near(position, radius), grid.near(x, y, radius) or "
            "grid.near(x, y, z, radius)",
        )
    return coordinates, radius


def _common_type(coordinates: list[Any]) -> ScalarType:
    """In which coordinates are compared: as where kernels are compiled. Weak if all are."""
    types = [scalar_type_of(each) for each in coordinates]
    found: ScalarType | None = None
    for each in types:
        assert each is not None
        found = each if found is None else promote(found, each)
    assert found is not None
    return found if found.is_float or found.weak else f64

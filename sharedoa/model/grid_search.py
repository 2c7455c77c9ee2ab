"""What a grid of cells knows of its box, and how objects near a position are found in it.

The box is cut into cells, numbered along x, then y, then z. The objects of a cell lie one after
another, cell by cell, with their positions beside them: ``starts[c]`` is the first of cell c. Those
within a radius lie in a *window* of cells, which is cut into *pieces*: cells of one row, whose
objects are one stretch. In a periodic box a row that leaves the box at one side goes on at the
other, and is two pieces. All are looked at in ascending order.

All of it is written in the subset that kernels are compiled from, so it is the same everywhere, bit
by bit: cells are computed in f64, distances in the precision of the positions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .annotations import ArrayAnnotation
from .functions import DeviceFunction, func
from .structs import value
from .type_names import f32, f64, i32, u32

if TYPE_CHECKING:

    class Indices(Protocol):
        """An array, as far as it is asked here: arrays are of the heap, which rests on this
        package."""

        def __getitem__(self, index: Any) -> i32: ...

else:
    Indices = ArrayAnnotation(i32)
INFINITY = math.inf
#: In the place of a cell, that of a position which is not finite.
NOWHERE = (1 << 32) - 1
#: A third dimension is told from ``form`` by this.
SOLID = 300


def form_of(dimensions: int, bits: int) -> int:
    """What tells grids that are searched in different ways apart: how many coordinates a position
    has, and of how many bits each is."""
    return 100 * dimensions + bits


@value
class GridShape:
    """Numbers of a grid, the same for all objects. In the plane there is one layer of cells.

    ``form``: see ``form_of``; 0 before the grid was built. ``density``: cells in a unit of length.
    ``period``: after which length the box repeats, else infinite. ``slack``: by which part of a
    length what is computed of it in the precision of positions may be wrong, and more.
    """

    form: i32
    cells_x: u32
    cells_y: u32
    cells_z: u32
    density_x: f64
    density_y: f64
    density_z: f64
    period_x: f64
    period_y: f64
    period_z: f64
    slack: f64


@value
class Window:
    """The cells to look at: along each axis the first, and how many. ``parts``: pieces of a row."""

    pieces: u32
    parts: u32
    first_x: u32
    first_y: u32
    first_z: u32
    count_x: u32
    count_y: u32
    count_z: u32


@value
class Search32:
    """A search among positions of f32. ``square``: of the radius."""

    window: Window
    x: f32
    y: f32
    z: f32
    square: f32
    period_x: f32
    period_y: f32
    period_z: f32


@value
class Search64:
    """A search among positions of f64."""

    window: Window
    x: f64
    y: f64
    z: f64
    square: f64
    period_x: f64
    period_y: f64
    period_z: f64


# ---------------------------------------------------------------------- cells


@func
def inside64(x: f64, period: f64) -> f64:
    """The coordinate of the image in the box, from 0 to less than the period. What is not finite
    has none and becomes NaN."""
    if period == INFINITY or (x >= 0.0 and x < period):
        return x
    moved = x - np.floor(x / period) * period
    if moved < 0.0 or moved >= period:  # by rounding
        return 0.0
    return f64(moved)


@func
def inside32(x: f32, period: f64) -> f32:
    """The same of an f32, where the period is one, too."""
    moved = f32(inside64(f64(x), period))
    if moved < f32(period) or period == INFINITY or moved != moved:
        return moved
    return 0.0  # by rounding


@func
def cell_along(x: f64, cells: u32, density: f64) -> u32:
    """The cell of a coordinate along one axis; beyond the border, the cell at the border."""
    place = x * density
    if place >= f64(cells):
        return cells - 1
    if place > 0.0:
        return u32(place)
    return 0


@func
def cell_at(shape: GridShape, x: f64, y: f64, z: f64) -> u32:
    """The number of the cell of a position inside of the box."""
    if not (x - x == 0.0 and y - y == 0.0 and z - z == 0.0):
        return NOWHERE
    row = cell_along(z, shape.cells_z, shape.density_z) * shape.cells_y
    row += cell_along(y, shape.cells_y, shape.density_y)
    return row * shape.cells_x + cell_along(x, shape.cells_x, shape.density_x)


@func
def cells_around(
    x: f64, radius: f64, cells: u32, density: f64, period: f64, slack: f64
) -> tuple[u32, u32]:
    """Along one axis the first of the cells that positions within ``radius`` of ``x`` may be in,
    and how many these are. In a periodic box they may go on at the other side."""
    # A position counts as near by a distance that was rounded, so cells a little farther are taken.
    reach = radius + radius * slack
    if period == INFINITY:
        first = cell_along(x - reach, cells, density)
        return first, cell_along(x + reach, cells, density) - first + 1
    reach += period * slack
    low, high = np.floor((x - reach) * density), np.floor((x + reach) * density)
    if not (high - low + 1.0 < f64(cells)):
        return 0, cells
    wrapped = low + f64(cells) if low < 0.0 else low
    return u32(wrapped), u32(high - low) + 1


# ---------------------------------------------------------------------- windows


@func
def window_around(shape: GridShape, form: i32, x: f64, y: f64, z: f64, radius: f64) -> Window:
    """Cells in which everything lies that is within ``radius`` of a position inside of the box.
    There are none for a grid of another form, and for numbers that are no position or radius."""
    is_position = x - x == 0.0 and y - y == 0.0 and z - z == 0.0
    if shape.form != form or not (radius >= 0.0 and is_position):
        return Window(0, 1, 0, 0, 0, 0, 1, 1)
    first_x, count_x = cells_around(
        x, radius, shape.cells_x, shape.density_x, shape.period_x, shape.slack
    )
    first_y, count_y = cells_around(
        y, radius, shape.cells_y, shape.density_y, shape.period_y, shape.slack
    )
    first_z, count_z = cells_around(
        z, radius, shape.cells_z, shape.density_z, shape.period_z, shape.slack
    )
    parts = u32(2) if first_x + count_x > shape.cells_x else u32(1)
    pieces = parts * count_y * count_z
    return Window(pieces, parts, first_x, first_y, first_z, count_x, count_y, count_z)


@func
def cell_of_window(number: u32, first: u32, count: u32, cells: u32) -> u32:
    """The cell of that number, in ascending order, of ``count`` cells from ``first`` on, which may
    go on at the other side of the box."""
    beyond = first + count - cells if first + count > cells else u32(0)
    return number if number < beyond else first + number - beyond


@func
def members_of(window: Window, shape: GridShape, starts: Indices, piece: u32) -> tuple[i32, i32]:
    """The objects of a piece: the first, and the one after the last."""
    row, part = piece // window.parts, piece % window.parts
    y = cell_of_window(row % window.count_y, window.first_y, window.count_y, shape.cells_y)
    z = cell_of_window(row // window.count_y, window.first_z, window.count_z, shape.cells_z)
    before = (z * shape.cells_y + y) * shape.cells_x
    first, stop = window.first_x, window.first_x + window.count_x
    if window.parts == 2:
        if part == 0:
            first, stop = u32(0), stop - shape.cells_x
        else:
            stop = shape.cells_x
    return starts[before + first], starts[before + stop]


# ---------------------------------------------------------------------- searches


def _searching(T: Any, Search: Any, inside: Any) -> tuple[DeviceFunction[..., Any], ...]:
    """For positions of one precision: what begins a search, and what tells whether the object of
    number ``k`` is within the radius, in the plane and in space."""
    Points = ArrayAnnotation(T)

    @func
    def search(shape: GridShape, form: i32, x: T, y: T, z: T, radius: T) -> Search:
        x, y, z = inside(x, shape.period_x), inside(y, shape.period_y), inside(z, shape.period_z)
        window = window_around(shape, form, f64(x), f64(y), f64(z), f64(radius))
        periods = T(shape.period_x), T(shape.period_y), T(shape.period_z)
        return Search(window, x, y, z, radius * radius, periods[0], periods[1], periods[2])

    @func
    def apart(a: T, b: T, period: T) -> T:
        """How far two coordinates are apart, or one and the nearest image of the other."""
        distance = abs(a - b)
        return min(distance, period - distance)

    @func
    def is_near_2(points: Points, k: u32, search: Search) -> bool:
        x = apart(points[2 * int(k)], search.x, search.period_x)
        y = apart(points[2 * int(k) + 1], search.y, search.period_y)
        return x * x + y * y <= search.square

    @func
    def is_near_3(points: Points, k: u32, search: Search) -> bool:
        x = apart(points[3 * int(k)], search.x, search.period_x)
        y = apart(points[3 * int(k) + 1], search.y, search.period_y)
        z = apart(points[3 * int(k) + 2], search.z, search.period_z)
        return x * x + y * y + z * z <= search.square

    return search, is_near_2, is_near_3


_single = _searching(f32, Search32, inside32)
_double = _searching(f64, Search64, inside64)
#: By the bits of positions: what begins a search, and the grid's array of positions.
SEARCHES = {32: (_single[0], "_points32"), 64: (_double[0], "_points64")}
#: By form: what tells whether an object is near.
NEAR = {232: _single[1], 332: _single[2], 264: _double[1], 364: _double[2]}


def other_form(form: int) -> str:
    """What to say where a grid is searched that is not of this form."""
    dimensions, bits = divmod(form, 100)
    return (
        f"grid.near is given {dimensions} coordinates of f{bits}, and the grid was built of others"
    )

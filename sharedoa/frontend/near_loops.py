"""``for other in grid.near(...)``: loops over pieces of a window of cells, and over their objects.

A ``break`` in the body leaves the inner loop; a variable of ours tells the outer one to end, too.
"""

from __future__ import annotations

import ast
from typing import Any

from ..model.functions import DeviceFunction
from ..model.grid_search import NEAR, SEARCHES, form_of, members_of, other_form
from ..model.grid_type import GridType, objects_of
from ..model.scalars import ScalarType, boolean, f64, i32, promote, u32, weak_int
from ..model.types import Type, ValueType
from . import tree
from .context import Context, Rejected
from .conversions import constant, convert_scalar, require_value
from .expressions import expression, translate

_HOW = "write grid.near(position, radius), grid.near(x, y, radius) or grid.near(x, y, z, radius)"


def near_call(context: Context, node: ast.expr) -> tuple[tree.Expression, ast.Call] | None:
    """The grid and the call, if an expression is ``grid.near(...)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "near":
        return None
    before = len(context.diagnostics)
    try:
        grid = translate(context, node.func.value)
    except Rejected:
        del context.diagnostics[before:]
        return None
    is_grid = isinstance(grid, tree.Expression) and isinstance(grid.type, GridType)
    return (grid, node) if is_grid else None  # type: ignore[return-value]


class NearSearch:
    """A search: what is computed before its loops, and these."""

    def __init__(self, context: Context, grid: tree.Expression, call: ast.Call) -> None:
        assert isinstance(grid.type, GridType)
        self._context, self._call = context, call
        self._location = context.locate(call)
        self._before: list[tree.Statement] = []
        self._grid = self._held(grid)
        coordinates, radius = self._numbers()
        number = self._common_type(coordinates)
        form = form_of(len(coordinates), number.bits)
        begin, points = SEARCHES[number.bits]
        self._points, self._is_near = self._part(self._grid, points), NEAR[form]
        shape = self._part(self._grid, "_shape")
        fits = tree.Compare(
            boolean, self._location, "eq", self._part(shape, "form"), self._integer(form)
        )
        self._before.append(tree.Assert(self._location, fits, other_form(form)))
        while len(coordinates) < 3:
            coordinates.append(constant(0.0, number, self._location))
        given = [convert_scalar(context, each, number, call) for each in [*coordinates, radius]]
        search = self._call_of(begin, [shape, self._integer(form), *given])
        self._shape, self._search = shape, self._held(search)
        self._index = tree.Local(weak_int, self._location, context.temporary(weak_int))
        objects = self._part(self._grid, "_objects")
        element = objects_of(grid.type)
        place = tree.ElementPlace(element, self._location, objects, self._index, False)
        #: In the body, the object that was found.
        self.found = tree.Load(element, self._location, place)

    def loops(
        self,
        body: list[tree.Statement],
        otherwise: list[tree.Statement],
        left: tree.Variable | None,
    ) -> list[tree.Statement]:
        """The statements that run ``body`` for each object that is found, then ``otherwise``, or
        none of it any more if ``left`` has become true."""
        context, location = self._context, self._location
        zero, one = (constant(number, weak_int, location) for number in (0, 1))
        piece = tree.Local(weak_int, location, context.temporary(weak_int))
        window = self._part(self._search, "window")
        starts = self._part(self._grid, "_starts")
        members_in: list[tree.Statement] = []
        number = self._converted(piece, u32)
        called = self._call_of(members_of, [window, self._shape, starts, number])
        members = self._held(called, members_in)
        first, stop = (
            self._converted(tree.TupleItem(i32, location, members, item), weak_int)
            for item in range(2)
        )
        place = self._converted(self._index, u32)
        is_near = self._call_of(self._is_near, [self._points, place, self._search])
        test = tree.If(location, is_near, body, [])
        inner = tree.ForRange(location, self._index.variable, first, stop, one, [test], [])
        rounds = [*members_in, inner]
        before = list(self._before)
        if left is not None:
            before.append(tree.Assign(location, left, constant(False, boolean, location)))
            was_left = tree.Local(boolean, location, left)
            rounds.append(tree.If(location, was_left, [tree.Break(location)], []))
        pieces = self._converted(self._part(window, "pieces"), weak_int)
        outer = tree.ForRange(location, piece.variable, zero, pieces, one, rounds, otherwise)
        return [*before, outer]

    # ------------------------------------------------------------ what the call is given

    def _numbers(self) -> tuple[list[tree.Expression], tree.Expression]:
        """The coordinates and the radius, each computed once."""
        arguments = self._call.args
        if self._call.keywords or not 2 <= len(arguments) <= 4:
            self._context.reject(self._call, "grid.near takes a position and a radius", _HOW)
        is_position = len(arguments) == 2
        values = []
        for number, node in enumerate(arguments):
            value = expression(self._context, node)
            is_number = isinstance(value.type, ScalarType) and value.type != boolean
            if not is_number and not (is_position and number == 0):
                self._context.reject(node, f"this is {value.type!r}, and no number", _HOW)
            values.append(self._held(require_value(self._context, value, node)))
        *given, radius = values
        return self._coordinates(given[0]) if is_position else given, radius

    def _coordinates(self, position: tree.Expression) -> list[tree.Expression]:
        struct = position.type
        fields = struct.fields if isinstance(struct, ValueType) else {}
        names = [name for name in ("x", "y", "z") if name in fields]
        if names[:2] != ["x", "y"] or not all(_is_float(fields[name]) for name in names):
            self._context.reject(
                self._call.args[0], f"{struct!r} has no x and y of f32 or f64", _HOW
            )
        return [self._part(position, name) for name in names]

    def _common_type(self, coordinates: list[tree.Expression]) -> ScalarType:
        """In which coordinates are compared: what they promote to, f64 for numbers of no width."""
        found = None
        for each in coordinates:
            assert isinstance(each.type, ScalarType)
            found = each.type if found is None else promote(found, each.type)
        assert found is not None
        return found if found.is_float and not found.weak else f64

    # ------------------------------------------------------------ small parts of trees

    def _held(
        self, value: tree.Expression, statements: list[tree.Statement] | None = None
    ) -> tree.Expression:
        """``value``, computed before the loops, or by the last of ``statements``."""
        variable = self._context.temporary(value.type)
        into = self._before if statements is None else statements
        into.append(tree.Assign(self._location, variable, value))
        return tree.Local(value.type, self._location, variable)

    def _part(self, struct: tree.Expression, name: str) -> tree.Expression:
        assert isinstance(struct.type, ValueType)
        return tree.ValueField(struct.type.fields[name], self._location, struct, name)

    def _integer(self, value: int) -> tree.Expression:
        return constant(value, i32, self._location)

    def _converted(self, value: tree.Expression, type: ScalarType) -> tree.Expression:
        return convert_scalar(self._context, value, type, self._call)

    def _call_of(
        self, function: DeviceFunction[..., Any], arguments: list[tree.Expression]
    ) -> tree.Expression:
        symbol = self._context.program.require_function(function)
        return tree.DirectCall(function.signature.result, self._location, symbol, arguments)


def _is_float(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.is_float

"""Typed tree to SSA form: variables become values, and what branches and loops change of them
becomes results of the operations that hold them.

Every variable that a statement within a loop assigns to is carried from round to round; those that
nobody needs are dropped afterwards (``ir.passes.unused``). Evaluation order is the tree's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from dispatch.dataclass import dataclass, field

from .. import ir
from ..errors import InternalError
from ..ir.core import LvalueType, Operation, Region, Value, constant_of
from ..location import Location
from ..model.scalars import boolean, weak_int
from ..model.types import VOID, InlineType, ListType, Type
from . import tree
from .walk import found_below

_EXPRESSIONS: dict[type, Callable[[_Converter, Any], Value]] = {}
_STATEMENTS: dict[type, Callable[[_Converter, Any], None]] = {}


def to_ir(program: tree.Program) -> ir.Program:
    """The program in SSA form, each function with the symbol it has in the tree.

    Raises InternalError for a malformed tree.
    """
    functions = {symbol: _convert_function(f) for symbol, f in program.functions.items()}
    return ir.Program(functions[program.kernel.symbol], functions)


def _convert_function(function: tree.Function) -> ir.Function:
    body = Region([Value(v.type, v.name) for v in function.parameters])
    values = dict(zip(function.parameters, body.arguments, strict=True))
    converter = _Converter(body, values, _Assigned(function.body))
    converter.run(function.body)
    if not converter.is_dead:
        at = function.location
        results = [] if function.result == VOID else [converter.zero(function.result, at)]
        converter.add("return", results, at)
    return ir.Function(
        function.symbol, function.name, function.kind, function.result, body, function.location,
        function.owner, gradient=function.gradient,
    )  # fmt: skip


class _Assigned:
    """Which variables the statements of a function assign to."""

    def __init__(self, body: list[tree.Statement]) -> None:
        self._body = body

    @cached_property
    def _below(self) -> dict[int, Sequence[tree.Variable]]:
        # Once for all, as branches lie in branches; few functions have any.
        return found_below(
            self._body, lambda node: node.variable if isinstance(node, _ASSIGNS) else None
        )

    def within(self, parts: Iterable[Any]) -> list[tree.Variable]:
        """Those of ``parts``, nodes or lists of them, in the order of their names: it shows in the
        code, and so in the keys of its cache."""
        found = {variable: None for part in parts for variable in self._below[id(part)]}
        return sorted(found, key=lambda variable: variable.name)


_ASSIGNS = (tree.Assign, tree.ForRange)


@dataclass
class _Loop:
    """The innermost loop: what it carries."""

    carried: list[tree.Variable]


@dataclass
class _Converter:
    """One function on its way. ``values`` says what each variable is at this point."""

    region: Region
    values: dict[tree.Variable, Value]
    assigned: _Assigned
    loops: list[_Loop] = field(default_factory=list)
    is_dead: bool = False

    # ------------------------------------------------------------ operations

    def add(
        self,
        kind: str,
        operands: Sequence[Value],
        location: Location,
        type: Any = None,
        regions: Sequence[Region] = (),
        results: Sequence[Value] = (),
        **attributes: Any,
    ) -> Operation:
        """Append an operation; with a ``type`` it has one result."""
        made = [*results] if type is None else [Value(type)]
        operation = Operation(kind, [*operands], location, attributes, made, [*regions])
        for result in made:
            result.source = operation
        self.region.operations.append(operation)
        return operation

    def value(
        self, kind: str, operands: Sequence[Value], node: tree.Expression, **attributes: Any
    ) -> Value:
        """The result of an operation for ``node``, of its type."""
        return self.add(kind, operands, node.location, node.type, **attributes).result

    def zero(self, type: Type, location: Location) -> Value:
        return self.add("zero", [], location, type).result

    # ------------------------------------------------------------ nodes

    def run(self, statements: Sequence[tree.Statement]) -> None:
        """Statements in order, up to one that goes elsewhere."""
        for node in statements:
            if self.is_dead:
                return
            convert = _STATEMENTS.get(type(node))
            if convert is None:
                raise InternalError(f"no operation for {type(node).__name__}")
            convert(self, node)

    def evaluate(self, node: Any) -> Value:
        convert = _EXPRESSIONS.get(type(node))
        if convert is None:
            raise InternalError(f"no operation for {type(node).__name__}")
        return convert(self, node)

    def read(self, variable: tree.Variable, location: Location) -> Value:
        """What a variable is; before its first assignment, zero or null."""
        found = self.values.get(variable)
        if found is None:
            found = self.values[variable] = self.zero(variable.type, location)
        return found

    def begin(self, lvalue: Value, type: Type, value: Value | None, location: Location) -> None:
        """Store what a new object's field begins with: ``value``, else zero or null."""
        if not isinstance(type, InlineType):
            given = self.zero(type, location) if value is None else value
            self.add("store", [given, lvalue], location)
            return
        for number in range(type.shape[0]):
            index = self.add("constant", [], location, weak_int, value=number).result
            element = LvalueType(type.item)
            place = self.add(
                "inline_element", [lvalue, index], location, element, may_be_negative=False
            )
            self.begin(place.result, type.item, None, location)

    # ------------------------------------------------------------ regions

    def within(
        self, arguments: Sequence[Value], values: dict[tree.Variable, Value]
    ) -> tuple[_Converter, Region]:
        region = Region([*arguments])
        return _Converter(region, dict(values), self.assigned, self.loops), region

    def leave(self, kind: str, operands: Sequence[Value], location: Location) -> None:
        self.add(kind, operands, location)
        self.is_dead = True

    def choose(
        self,
        test: Value,
        location: Location,
        type: Type,
        then: Callable[[_Converter], Value],
        otherwise: Callable[[_Converter], Value],
        parts: Sequence[tree.Expression],
    ) -> Value:
        """``then`` or ``otherwise``, of which only one is evaluated; ``parts`` are the expressions
        that they may evaluate."""
        changed, regions = self.assigned.within(parts), []
        for produce in (then, otherwise):
            arm, region = self.within([], self.values)
            produced = produce(arm)
            arm.add("yield", [produced, *_now(arm, changed, location)], location)
            regions.append(region)
        if changed:
            results = [Value(type), *(Value(v.type, v.name) for v in changed)]
            self.add("if", [test], location, regions=regions, results=results)
            self.values.update(zip(changed, results[1:], strict=True))
            return results[0]
        if all(len(region.operations) == 1 for region in regions):
            picked = [region.terminator.operands[0] for region in regions]
            return self.add("select", [test, *picked], location, type).result
        return self.add("if", [test], location, type, regions=regions).result

    def merge(
        self,
        location: Location,
        test: Value,
        arms: Sequence[tuple[_Converter, Region]],
        variables: Sequence[tree.Variable],
    ) -> None:
        """An ``if`` of two arms that may have changed ``variables``."""
        alive = [arm for arm, _ in arms if not arm.is_dead]
        changed = [
            v
            for v in variables
            if any(arm.values.get(v) is not self.values.get(v) for arm in alive)
        ]
        for arm, _ in arms:
            if not arm.is_dead:
                arm.add("yield", [arm.read(v, location) for v in changed], location)
        results = [Value(v.type, v.name) for v in changed] if alive else []
        regions = [region for _, region in arms]
        self.add("if", [test], location, regions=regions, results=results)
        self.values.update(zip(changed, results, strict=True))
        if not alive:
            self.leave("unreachable", [], location)


def _expression(node: type) -> Callable[[Any], Any]:
    def register(convert: Any) -> Any:
        _EXPRESSIONS[node] = convert
        return convert

    return register


def _statement(node: type) -> Callable[[Any], Any]:
    def register(convert: Any) -> Any:
        _STATEMENTS[node] = convert
        return convert

    return register


# ---------------------------------------------------------------- expressions


@_expression(tree.Constant)
def _constant(to: _Converter, node: tree.Constant) -> Value:
    return to.value("constant", [], node, value=node.value)


@_expression(tree.Null)
def _null(to: _Converter, node: tree.Null) -> Value:
    return to.value("zero", [], node)


@_expression(tree.Local)
def _local(to: _Converter, node: tree.Local) -> Value:
    return to.read(node.variable, node.location)


@_expression(tree.Let)
def _let(to: _Converter, node: tree.Let) -> Value:
    to.values[node.variable] = to.evaluate(node.value)
    return to.evaluate(node.body)


@_expression(tree.Sequence)
def _sequence(to: _Converter, node: tree.Sequence) -> Value:
    to.run(node.statements)
    return to.evaluate(node.value)


def _simple(
    kind: str, parts: Sequence[str], *attributes: str
) -> Callable[[_Converter, Any], Value]:
    """An operation of the values of ``parts``, in order; a part may be a list of them."""

    def convert(to: _Converter, node: Any) -> Value:
        operands = []
        for part in parts:
            given = getattr(node, part)
            operands += [
                to.evaluate(each) for each in (given if isinstance(given, list) else [given])
            ]
        return to.value(kind, operands, node, **{name: getattr(node, name) for name in attributes})

    return convert


_EXPRESSIONS.update({
    tree.Convert: _simple("convert", ["value"]),
    tree.Truth: _simple("truth", ["value"]),
    tree.Unary: _simple("unary", ["operand"], "operator"),
    tree.Binary: _simple("binary", ["left", "right"], "operator"),
    tree.Compare: _simple("compare", ["left", "right"], "operator"),
    tree.ArrayLength: _simple("length", ["array"]),
    tree.ArraySlice: _simple("slice", ["array", "start", "count"]),
    tree.ArrayRow: _simple("row", ["array", "index", "rows", "columns"], "may_be_negative"),
    tree.MakeValue: _simple("make_value", ["fields"]),
    tree.ValueField: _simple("value_field", ["value"], "name"),
    tree.MakeInline: _simple("make_inline", ["items"]),
    tree.InlineItem: _simple("inline_item", ["value", "indices"], "may_be_negative"),
    tree.MakeList: _simple("list", ["items"], "repeat"),
    tree.MakeTuple: _simple("make_tuple", ["items"]),
    tree.TupleItem: _simple("tuple_item", ["value"], "index"),
    tree.MathCall: _simple("math", ["arguments"], "name"),
    tree.TableElement: _simple("table_element", ["indices"], "table", "may_be_negative"),
    tree.ThreadIndex: _simple("thread_index", [], "axis"),
    tree.GridSize: _simple("grid_size", [], "axis"),
    tree.TypeTest: _simple("type_test", ["value"], "cls", "matching"),
    tree.DirectCall: _simple("call", ["arguments"], "symbol"),
    tree.Delete: _simple("delete", ["object"]),
    tree.IsAlive: _simple("is_alive", ["object"]),
})  # fmt: skip


@_expression(tree.Logical)
def _logical(to: _Converter, node: tree.Logical) -> Value:
    left = to.evaluate(node.left)

    def right(arm: _Converter) -> Value:
        return arm.evaluate(node.right)

    def known(arm: _Converter) -> Value:
        value = node.operator == "or"
        return arm.add("constant", [], node.location, boolean, value=value).result

    ways = (right, known) if node.operator == "and" else (known, right)
    return to.choose(left, node.location, node.type, *ways, [node.right])


@_expression(tree.Conditional)
def _conditional(to: _Converter, node: tree.Conditional) -> Value:
    return to.choose(
        to.evaluate(node.test),
        node.location,
        node.type,
        lambda arm: arm.evaluate(node.then),
        lambda arm: arm.evaluate(node.otherwise),
        [node.then, node.otherwise],
    )


@_expression(tree.VirtualCall)
def _virtual_call(to: _Converter, node: tree.VirtualCall) -> Value:
    operands = [to.evaluate(part) for part in (node.receiver, *node.arguments)]
    return to.value(
        "call_virtual",
        operands,
        node,
        cls=node.static_class,
        method=node.method,
        slot=node.slot,
        candidates=tuple(ir.Candidate(each.cls, each.symbol) for each in node.candidates),
    )


@_expression(tree.New)
def _new(to: _Converter, node: tree.New) -> Value:
    given = dict(zip(node.names, map(to.evaluate, node.values), strict=True))
    made = to.value("new", [], node, cls=node.cls)
    is_there = to.add("truth", [made], node.location, boolean).result
    there, then = to.within([], to.values)
    for name, type in node.cls.fields.items():
        owner = node.cls.field_owner(name)
        lvalue = there.add(
            "field", [made], node.location, LvalueType(type), owner=owner, name=name
        ).result
        there.begin(lvalue, type, given.get(name), node.location)
    there.add("yield", [], node.location)
    nowhere, otherwise = to.within([], to.values)
    nowhere.add("yield", [], node.location)
    to.add("if", [is_there], node.location, regions=[then, otherwise])
    return made


@_expression(tree.Load)
def _load(to: _Converter, node: tree.Load) -> Value:
    return to.value("load", [_lvalue(to, node.place)], node)


@_expression(tree.Atomic)
def _atomic(to: _Converter, node: tree.Atomic) -> Value:
    operands = [_lvalue(to, node.place)]
    # The call names what to compare with first.
    if node.compare is not None:
        operands.append(to.evaluate(node.compare))
    operands.append(to.evaluate(node.value))
    if node.operator == "count":
        return to.value("count", operands, node)
    return to.value("atomic", operands, node, operator=node.operator)


# -------------------------------------------------------------------- lvalues


def _lvalue(to: _Converter, place: tree.Place) -> Value:
    type, at = LvalueType(place.type), place.location
    match place:
        case tree.FieldPlace():
            object = to.evaluate(place.object)
            made = to.add("field", [object], at, type, owner=place.owner, name=place.name)
        case tree.TilePlace():
            made = to.add("tile", [], at, type, number=place.number, name=place.name)
        case tree.ElementPlace() if isinstance(place.array.type, ListType):
            operands = [to.evaluate(place.array), to.evaluate(place.index)]
            negative = place.may_be_negative
            made = to.add("list_element", operands, at, type, may_be_negative=negative)
        case tree.ElementPlace():
            operands = [to.evaluate(place.array), to.evaluate(place.index)]
            made = to.add("element", operands, at, type, may_be_negative=place.may_be_negative)
            if place.neighbour is not None:
                made.attributes["neighbour"] = place.neighbour
        case tree.InlinePlace():
            operands = [_lvalue(to, place.base), to.evaluate(place.index)]
            negative = place.may_be_negative
            made = to.add("inline_element", operands, at, type, may_be_negative=negative)
        case tree.MemberPlace():
            made = to.add("member", [_lvalue(to, place.base)], at, type, name=place.name)
    return made.result


# ----------------------------------------------------------------- statements


@_statement(tree.Assign)
def _assign(to: _Converter, node: tree.Assign) -> None:
    value = to.evaluate(node.value)
    if not value.name and value.source is not None and value.source.kind not in _NAMELESS:
        value.name = node.variable.name
    to.values[node.variable] = value


_NAMELESS = frozenset({"constant", "zero"})


@_statement(tree.Store)
def _store(to: _Converter, node: tree.Store) -> None:
    value = to.evaluate(node.value)
    to.add("store", [value, _lvalue(to, node.place)], node.location)


@_statement(tree.AugmentedStore)
def _augmented_store(to: _Converter, node: tree.AugmentedStore) -> None:
    lvalue = _lvalue(to, node.place)
    to.values[node.old] = to.add("load", [lvalue], node.location, node.place.type).result
    to.add("store", [to.evaluate(node.value), lvalue], node.location)


@_statement(tree.Evaluate)
def _evaluate(to: _Converter, node: tree.Evaluate) -> None:
    to.evaluate(node.value)


@_statement(tree.If)
def _if(to: _Converter, node: tree.If) -> None:
    test = to.evaluate(node.test)
    variables = to.assigned.within([node.then, node.otherwise])
    arms = []
    for statements in (node.then, node.otherwise):
        arm, region = to.within([], to.values)
        arm.run(statements)
        arms.append((arm, region))
    to.merge(node.location, test, arms, variables)


@_statement(tree.While)
def _while(to: _Converter, node: tree.While) -> None:
    _add_loop(to, "while", node, [], [])


@_statement(tree.ForRange)
def _for_range(to: _Converter, node: tree.ForRange) -> None:
    bounds = [to.evaluate(bound) for bound in (node.start, node.stop, node.step)]
    _add_loop(to, "for", node, bounds, [node.variable])


def _add_loop(
    to: _Converter,
    kind: str,
    node: tree.ForRange | tree.While,
    bounds: Sequence[Value],
    counters: Sequence[tree.Variable],
) -> None:
    """A loop, whose rounds are given ``counters`` besides what it carries, and its ``else``."""
    at, carried = node.location, to.assigned.within([node])
    first, loops = _now(to, carried, at), [*to.loops, _Loop(carried)]
    regions = []

    def part(given: Sequence[tree.Variable], loops: list[_Loop]) -> _Converter:
        arguments = [Value(v.type, v.name) for v in given]
        # A counter may be carried, too, for after the loop; a round begins with the counter.
        values = dict(reversed([*zip(given, arguments, strict=True)]))
        inner, region = to.within(arguments, {**to.values, **values})
        inner.loops = loops
        regions.append(region)
        return inner

    if isinstance(node, tree.While):
        test = part(carried, loops)
        answer = test.evaluate(node.test)
        test.leave("condition", [answer, *_now(test, carried, at)], at)
    body, after = part([*counters, *carried], loops), part(carried, to.loops)
    for inner, statements, end in ((body, node.body, "continue"), (after, node.otherwise, "yield")):
        inner.run(statements)
        if not inner.is_dead:
            inner.leave(end, _now(inner, carried, at), at)
    results = [Value(v.type, v.name) for v in carried]
    to.add(kind, [*bounds, *first], at, regions=regions, results=results)
    to.values.update(zip(carried, results, strict=True))


def _now(to: _Converter, variables: Sequence[tree.Variable], location: Location) -> list[Value]:
    return [to.read(variable, location) for variable in variables]


@_statement(tree.Break)
def _break(to: _Converter, node: tree.Break) -> None:
    to.leave("break", _now(to, to.loops[-1].carried, node.location), node.location)


@_statement(tree.Continue)
def _continue(to: _Converter, node: tree.Continue) -> None:
    to.leave("continue", _now(to, to.loops[-1].carried, node.location), node.location)


@_statement(tree.Return)
def _return(to: _Converter, node: tree.Return) -> None:
    values = [] if node.value is None else [to.evaluate(node.value)]
    to.leave("return", values, node.location)


@_statement(tree.Assert)
def _assert(to: _Converter, node: tree.Assert) -> None:
    test = to.evaluate(node.test)
    if _is_no_zero(test):
        return
    given, parts = _said(to, node.message)
    message = parts if given else "".join(parts)
    to.add("assert", [test, *given], node.location, message=message)


def _is_no_zero(test: Value) -> bool:
    """Whether a test compares a number with 0 that surely is another one: launches with asserts do
    not become one, and a loop's step is a constant or all threads, by whatever name."""
    compare = test.source
    if compare is None or compare.kind != "compare" or compare["operator"] != "ne":
        return False
    number, zero = compare.operands
    is_all_threads = number.source is not None and number.source.kind == "grid_size"
    return constant_of(zero) == 0 and (is_all_threads or bool(constant_of(number)))


@_statement(tree.Require)
def _require(to: _Converter, node: tree.Require) -> None:
    to.add("require", [to.evaluate(node.value)], node.location)


@_statement(tree.Print)
def _print(to: _Converter, node: tree.Print) -> None:
    given, items = _said(to, node.items)
    to.add("print", given, node.location, items=items, end=node.end)


def _said(to: _Converter, parts: Sequence[tree.Said]) -> tuple[list[Value], tuple[Any, ...]]:
    """The numbers in what is said, and the rest of it: text, None for a number as it is, and its
    format, in a tuple, for another."""
    given: list[Value] = []
    rest: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            rest.append(part)
        elif isinstance(part, tree.Formatted):
            given.append(to.evaluate(part.value))
            rest.append((part.spec,))
        else:
            given.append(to.evaluate(part))
            rest.append(None)
    return given, tuple(rest)


@_statement(tree.Barrier)
def _barrier(to: _Converter, node: tree.Barrier) -> None:
    to.add("barrier", [], node.location)


@_statement(tree.Fence)
def _fence(to: _Converter, node: tree.Fence) -> None:
    to.add("fence", [], node.location)

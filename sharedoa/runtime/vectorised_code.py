"""The kernels of vectorised calls: typed trees that nobody wrote as text.

The receivers come in *stretches*, each an array with objects of a class of its own. Stretch s has
the threads from ``first_thread_s`` on. Each takes one object, or the first ones a group of
neighbours each and those after them one object of the rest. Element ``position_s + n`` of every
array that has one element an object belongs to object n of the stretch. So every thread computes,
with the s that its index tells and its n,

    results[position_s + n] = objects_s[n].method(values[position_s + n] or value, ...)

Where a stretch is all slots of a region, the method is called on those in which objects live.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from dispatch.births import LIVED

from .. import ir
from ..errors import ClassError
from ..frontend import Translation, tree
from ..frontend.dependencies import Dependency, MethodDependency, ResolutionDependency
from ..frontend.program import ProgramBuilder, kernel_symbol
from ..ir.births import births_of
from ..ir.streaming import is_short, is_streaming
from ..model import intrinsics
from ..model.classes import ClassType, Method, Signature, attribute_name
from ..model.kept_by_class import kept_by_class
from ..model.object import shared_type
from ..model.scalars import boolean, i64, live_byte, weak_int
from ..model.types import VOID, ArrayType, ReferenceType, Type
from .chained_methods import members_of, overriding
from .device_errors import null_reference_used
from .host_intrinsics import current_thread
from .launch import Program
from .program_source import Source

Statements = list[tree.Statement]


class CallForm(NamedTuple):
    """What a kernel is made for, beside the classes and methods of its stretches.

    ``elementwise``: which arguments are arrays with one element an object; ``exact``: the objects
    of a stretch are of its class itself; ``each``: objects of a group, 1 or ``ir.core.NEIGHBOURS``;
    ``located``: it is told the position of each stretch, which else is 0; ``whole_warps``: there
    are threads after those of a stretch that have no object; ``counted``: of the one stretch the
    first ones alone are called on, and an array says how many; ``by_slot``: of each stretch those
    are called on that lived when the launch began, as an array of the slots' bytes says.
    """

    elementwise: tuple[bool, ...]
    exact: bool
    each: int = 1
    located: bool = False
    whole_warps: bool = False
    counted: bool = False
    by_slot: bool = False


@kept_by_class
def call_program(
    cls: ClassType, methods: tuple[tuple[ClassType, Method], ...], form: CallForm
) -> Program:
    """The program that calls on each stretch the method of its class, which overrides one of
    ``cls``. Its parameters are ``call_arguments``."""
    _, method = methods[0]
    signature = _launch_signature(methods, form)
    name = f"{cls.name}.{method.name}"
    return Program(
        Source(
            name,
            signature,
            lambda: _Kernel(name, [(c, as_now(c, m)) for c, m in methods], signature, form).made(),
            _in_cpython(methods, form),
            uses_barrier=False,
            receivers=len(methods),
            are_exact=form.exact,
            calls_all=not (form.exact or form.counted),
            add_to=lambda builder, symbol: _Kernel(
                name, [(c, as_now(c, m)) for c, m in methods], signature, form, builder
            ).add_to(symbol),
            origin=method.function,
        )
    )


class Cost(NamedTuple):
    """What a method is like (``ir.streaming``); ``changes``: whether it makes or ends objects."""

    is_short: bool
    is_streaming: bool
    changes: bool


_costs: WeakKeyDictionary[ir.Program, Cost] = WeakKeyDictionary()


def cost_of(cls: ClassType, method: Method) -> Cost:
    """Of the method on objects of exactly this class, with what it calls now."""
    elementwise = (False,) * len(method.signature.names)
    program = call_program(cls, ((cls, method),), CallForm(elementwise, exact=True))
    called = program.translation().ir
    if called not in _costs:
        _costs[called] = _cost(called)
    return _costs[called]


def _cost(called: ir.Program) -> Cost:
    calls = [each for each in ir.operations_in(called.kernel) if each.kind == "call"]
    short = is_short(called)
    streams = short and all(is_streaming(called, call["symbol"]) for call in calls)
    return Cost(short, streams, births_of(called).changes)


def call_arguments(
    objects: Sequence[Any], first_threads: Sequence[int], positions: Sequence[int], values: Any
) -> tuple[Any, ...]:
    """The arguments of a program: the stretches, where the threads of all but the first begin, the
    positions if it is told, then ``values``: arguments of the method and the results."""
    return *objects, *first_threads[1:], *positions, *values


def _launch_signature(methods: tuple[tuple[ClassType, Method], ...], form: CallForm) -> Signature:
    method = methods[0][1].signature
    numbers = range(len(methods))
    names = ["objects" if len(methods) == 1 else f"objects_{number}" for number in numbers]
    types: list[Type] = [ArrayType(ReferenceType(cls)) for cls, _ in methods]
    names += [f"first_thread_{number}" for number in numbers[1:]]
    names += [f"position_{number}" for number in numbers if form.located]
    types += [i64] * (len(names) - len(types))
    if form.counted:
        names.append("counts")
        types.append(ArrayType(i64))
    living = [f"living_{number}" for number in numbers if form.by_slot]
    names += living
    types += [ArrayType(live_byte)] * len(living)
    names += method.names
    types += [ArrayType(t) if e else t for t, e in zip(method.types, form.elementwise, strict=True)]
    if method.result != VOID:
        names.append("results")
        types.append(ArrayType(method.result))
    return Signature(tuple(names), tuple(types), VOID)


def _in_cpython(methods: tuple[tuple[ClassType, Method], ...], form: CallForm) -> Any:
    """What CPython runs for a thread, each of which has one object there."""
    count, elementwise = len(methods), form.elementwise

    def run(*given: Any) -> None:
        thread = intrinsics.grid(1)
        stretches, first_threads = given[:count], (0, *given[count : 2 * count - 1])
        positions = given[2 * count - 1 :][: count if form.located else 0]
        values = given[2 * count - 1 + len(positions) + int(form.counted) :]
        living, values = values[: count * form.by_slot], values[count * form.by_slot :]
        number = bisect_right(first_threads, thread) - 1
        objects = stretches[number]
        place = thread - first_threads[number]
        if place < len(objects) and not (living and not living[number][place] & LIVED):
            i = place + (positions[number] if positions else 0)
            pieces = [v[i] if e else v for v, e in zip(values, elementwise, strict=False)]
            method = methods[number][1]
            executing = current_thread.get()
            assert executing is not None
            # Errors name the user's method, not this function.
            executing.function = method.function
            receiver = objects[place]
            if receiver is None:
                raise null_reference_used()
            found = shared_type(type(receiver)).find_method(method.name)
            assert found is not None
            executing.function = found.function
            if found.kind == "setter":
                setattr(receiver, attribute_name(method.name), *pieces)
                return
            result = getattr(receiver, method.name)
            if found.kind != "property":
                most = found.signature.most_by_position
                named = zip(found.signature.names[most:], pieces[most:], strict=True)
                result = result(*pieces[:most], **dict(named))
            if len(values) > len(elementwise):
                values[-1][i] = result

    return run


def as_now(cls: ClassType, method: Method) -> Method:
    """What ``method`` is now; a call that was captured may be of one that was replaced since."""
    found, types = overriding(method, cls), _types(method)
    if found is None or _types(found) != types:
        raise ClassError(
            f"{cls.name}.{method.name}, which a captured step calls, is gone or has other types",
            "capture the step again",
        )
    return found


def _types(method: Method) -> tuple[Type, ...]:
    return *method.signature.types, method.signature.result


class _Kernel:
    """One kernel in the making."""

    def __init__(
        self,
        name: str,
        methods: list[tuple[ClassType, Method]],
        signature: Signature,
        form: CallForm,
        builder: ProgramBuilder | None = None,
    ) -> None:
        self._name, self._methods, self._form = name, methods, form
        code = methods[0][1].function.__code__
        line = code.co_firstlineno
        self._location = tree.Location(code.co_filename, line, 0, line, 0, name)
        self._builder = builder or ProgramBuilder()
        self._parameters = [
            tree.Variable(n, t) for n, t in zip(signature.names, signature.types, strict=True)
        ]
        count = len(methods)
        self._stretches = self._parameters[:count]
        self._first_threads = self._parameters[count : 2 * count - 1]
        rest = self._parameters[2 * count - 1 :]
        self._positions = rest[:count] if form.located else []
        rest = rest[len(self._positions) :]
        self._counts = rest[0] if form.counted else None
        rest = rest[int(form.counted) :]
        self._living = rest[:count] if form.by_slot else []
        rest = rest[len(self._living) :]
        self._values = rest[: len(form.elementwise)]
        self._results = rest[-1] if len(rest) > len(form.elementwise) else None
        self._thread = tree.Variable("thread", weak_int)

    def made(self) -> Translation:
        program = self._builder.complete(self._function("kernel", kernel_symbol(self._name)))
        return Translation(program, list(dict.fromkeys(self._builder.dependencies)))

    def add_to(self, symbol: str) -> None:
        """Make it a function of the builder's program instead."""
        self._builder.functions[symbol] = self._function("func", symbol)

    def _function(self, kind: Literal["kernel", "func"], symbol: str) -> tree.Function:
        location = self._location
        body: Statements = [
            tree.Assign(location, self._thread, tree.ThreadIndex(weak_int, location, 0)),
            *self._among(0, len(self._methods)),
        ]
        return tree.Function(symbol, self._name, kind, self._parameters, VOID, body, location)

    def _among(self, first: int, stop: int) -> Statements:
        """For a thread of one of these stretches; found by a binary search."""
        if stop - first == 1:
            return self._stretch(first)
        middle = (first + stop) // 2
        boundary = self._number(self._first_threads[middle - 1])
        test = self._less(self._local(self._thread), boundary)
        lower, upper = self._among(first, middle), self._among(middle, stop)
        return [tree.If(self._location, test, lower, upper)]

    def _stretch(self, number: int) -> Statements:
        own = self._local(self._thread)
        if number:
            own = self._binary("sub", own, self._number(self._first_threads[number - 1]))
        before: Statements = []
        own = self._named(before, own)
        length = tree.ArrayLength(weak_int, self._location, self._local(self._stretches[number]))
        if self._form.each > 1:
            return [*before, *self._groups(number, own, length)]
        return [*before, *self._alone(number, own, length)]

    def _groups(self, number: int, own: tree.Expression, length: tree.Expression) -> Statements:
        """The first threads take a group each, those after them one object of the rest."""
        each = self._form.each
        before: Statements = []
        shift = self._constant(each.bit_length() - 1)
        groups = self._named(before, self._binary("rshift", length, shift))
        group: Statements = []
        start = self._named(group, self._binary("mul", own, self._constant(each)))
        group += self._calls(number, start, range(each))
        rest: Statements = []
        skipped = self._binary("mul", groups, self._constant(each - 1))
        place = self._named(rest, self._binary("add", own, skipped))
        rest += self._alone(number, place, length)
        return [*before, tree.If(self._location, self._less(own, groups), group, rest)]

    def _alone(self, number: int, place: tree.Expression, length: tree.Expression) -> Statements:
        calls = self._calls(number, place, [None])
        if self._living:
            # A launch changes the other bits alone.
            byte = self._element(self._living[number], place, None)
            lived = tree.Binary(live_byte, self._location, "and", byte, self._byte(LIVED))
            test = tree.Compare(boolean, self._location, "ne", lived, self._byte(0))
            calls = [tree.If(self._location, test, calls, [])]
        if self._counts is not None:
            length = self._element(self._counts, self._constant(0), None)
            length = tree.Convert(weak_int, self._location, length)
        elif self._form.each == 1 and not self._form.whole_warps:
            return calls
        return [tree.If(self._location, self._less(place, length), calls, [])]

    def _calls(
        self, number: int, place: tree.Expression, neighbours: Sequence[int | None]
    ) -> Statements:
        """The calls on these neighbours of ``objects[place]``: first all that they are given is
        read, then come the calls, then all that they give is stored."""
        location = self._location
        at = place
        prepared: Statements = []
        if self._positions:
            position = self._number(self._positions[number])
            at = self._named(prepared, self._binary("add", position, place))
        called: Statements = []
        stored: Statements = []
        for neighbour in neighbours:
            values: list[tree.Expression] = []
            for variable, whole_array in zip(self._values, self._form.elementwise, strict=True):
                value: tree.Expression = self._local(variable)
                if whole_array:
                    value = self._element(variable, at, neighbour)
                    if neighbour is not None:
                        value = self._named(prepared, value)
                values.append(value)
            receiver = self._element(self._stretches[number], place, neighbour)
            cls, method = self._methods[number]
            members = members_of(method)
            if len(members) > 1:
                receiver = self._named(called, receiver)
            if self._results is None:
                for member in members:
                    count = len(member.signature.types)
                    own, values = values[:count], values[count:]
                    call = self._call(cls, member, receiver, own)
                    called.append(tree.Evaluate(location, call))
                continue
            call = self._call(cls, method, receiver, values)
            result = call if neighbour is None else self._named(called, call)
            stored.append(
                tree.Store(location, self._element_place(self._results, at, neighbour), result)
            )
        return [*prepared, *called, *stored]

    def _call(
        self,
        cls: ClassType,
        method: Method,
        receiver: tree.Expression,
        values: list[tree.Expression],
    ) -> tree.Expression:
        builder, location, name = self._builder, self._location, method.name
        result = method.signature.result
        builder.dependencies.append(_fact(cls, method, self._form.exact))
        if self._form.exact or not cls.is_overridden(name):
            symbol = builder.require_method(method)
            owner: Type = ReferenceType(method.owner)
            self_ = tree.Convert(owner, location, receiver) if owner != receiver.type else receiver
            return tree.DirectCall(result, location, symbol, [self_, *values])
        candidates = []
        for concrete in cls.concrete():
            found = concrete.find_method(name)
            assert found is not None
            candidates.append(tree.Candidate(concrete, builder.require_method(found)))
        return tree.VirtualCall(
            result, location, receiver, cls, name, cls.slots[name],
            list(method.signature.types), values, candidates,
        )  # fmt: skip

    # ------------------------------------------------------------ small parts of trees

    def _local(self, variable: tree.Variable) -> tree.Expression:
        return tree.Local(variable.type, self._location, variable)

    def _number(self, variable: tree.Variable) -> tree.Expression:
        return tree.Convert(weak_int, self._location, self._local(variable))

    def _constant(self, value: int) -> tree.Expression:
        return tree.Constant(weak_int, self._location, value)

    def _byte(self, value: int) -> tree.Expression:
        return tree.Constant(live_byte, self._location, value)

    def _binary(
        self, operator: tree.BinaryOperator, left: tree.Expression, right: tree.Expression
    ) -> tree.Expression:
        return tree.Binary(weak_int, self._location, operator, left, right)

    def _less(self, left: tree.Expression, right: tree.Expression) -> tree.Expression:
        return tree.Compare(boolean, self._location, "lt", left, right)

    def _element(
        self, array: tree.Variable, index: tree.Expression, neighbour: int | None
    ) -> tree.Expression:
        place = self._element_place(array, index, neighbour)
        return tree.Load(place.type, self._location, place)

    def _element_place(
        self, array: tree.Variable, index: tree.Expression, neighbour: int | None
    ) -> tree.ElementPlace:
        assert isinstance(array.type, ArrayType)
        return tree.ElementPlace(
            array.type.element,
            self._location,
            self._local(array),
            index,
            may_be_negative=False,
            neighbour=neighbour,
        )

    def _named(self, before: Statements, value: tree.Expression) -> tree.Expression:
        """``value``, computed by a statement after those of ``before``."""
        variable = tree.Variable("", value.type)
        before.append(tree.Assign(self._location, variable, value))
        return self._local(variable)


def _fact(cls: ClassType, method: Method, exact: bool) -> Dependency:
    if exact:
        return MethodDependency(cls, method.name, method)
    return ResolutionDependency.of(cls, method.name)

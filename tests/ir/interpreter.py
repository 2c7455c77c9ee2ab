"""Runs programs in SSA form in plain Python, by what ``ir.operations`` says of each kind.

Objects are ``Thing``s, arrays lists, value structs dicts that nobody changes, null is None. Threads
take turns at every access of memory, in an order that a seed chooses. Rounds of a loop that is
marked ``shared`` are run in any order, several at a time, by whichever thread, which is what
generated code may do and more. At a barrier all threads of the launch wait. Kinds that are not
declared do what the one who runs them says.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from sharedoa.ir.core import Function, Operation, Program, Region, Value, element_of
from sharedoa.ir.passes.shared_loops import Combination
from sharedoa.model.classes import ClassType
from sharedoa.model.scalars import ScalarType
from sharedoa.model.types import ArrayType, InlineType, TupleType, ValueType

from . import scalars

AT_ONCE = 3
"""Rounds of one shared loop that are under way."""
_MOST_STEPS = 200_000


@dataclass(eq=False)
class Thing:
    """An object: its class and its fields."""

    cls: ClassType
    fields: dict[str, Any]


class Lvalue(NamedTuple):
    """Element or field ``key`` of what ``holder`` is, then the members and indices within it."""

    holder: Any
    key: Any
    path: tuple[Any, ...] = ()


ANYTHING = object()
"""A value that nobody may look at."""


@dataclass(frozen=True)
class Part:
    """``count`` elements of an array from ``start`` on."""

    whole: Any
    start: int
    count: int

    def __len__(self) -> int:
        return self.count


class OutOfRangeError(Exception):
    """There is no such element."""


class EndlessError(Exception):
    """A program that seems to go on for ever."""


@dataclass(eq=False)
class Thread:
    number: int
    #: What it printed, and the assertions that failed.
    reported: list[Any] = field(default_factory=list)


class _End(NamedTuple):
    """How a region ended: its terminator's kind, and what that passes on."""

    kind: str
    values: list[Any]


Env = dict[Value, Any]
#: Pauses before every access of memory; "barrier" is waiting for the others.
Running = Generator[str, None, Any]
#: What an operation of an undeclared kind does; gives its results. If it has a region: arguments
#: for each time that it is run. What the last one yields is reported, too.
Undeclared = Callable[[Operation, Sequence[Any], Thread], Sequence[Any]]


class Machine:
    """``steps`` and ``helped`` count what was run: operations, and rounds that were run by another
    thread than theirs."""

    def __init__(
        self, program: Program, seed: int = 0, undeclared: Mapping[str, Undeclared] | None = None
    ) -> None:
        self._program, self._random = program, Random(seed)
        self._undeclared = undeclared or {}
        self._threads: list[Thread] = []
        self._block = 1
        #: Memory that threads of a block share, by block and number of the tile.
        self._tiles: dict[tuple[int, int], list[Any]] = {}
        self.steps = self.helped = 0

    def run(self, arguments: Sequence[Any], threads: int, block: int = 1) -> list[list[Any]]:
        """Launch the kernel in blocks of ``block`` threads; what each thread reported."""
        self._threads = [Thread(number) for number in range(threads)]
        self._block, self._tiles = block, {}
        running = [self._thread(arguments, thread) for thread in self._threads]
        waiting: list[Running] = []
        while running or waiting:
            if not running:
                running, waiting = waiting, []
            chosen = self._random.choice(running)
            try:
                if next(chosen) == "barrier":
                    running.remove(chosen)
                    waiting.append(chosen)
            except StopIteration:
                running.remove(chosen)
        return [thread.reported for thread in self._threads]

    # ---------------------------------------------------------------- control

    def _thread(self, arguments: Sequence[Any], thread: Thread) -> Running:
        """What a thread does that is asked first whether it does anything, if there are questions
        for that."""
        functions = self._program.functions.values()
        for question in [each for each in functions if each.kind == "question"]:
            answers = yield from self._call(question, arguments, thread)
            if answers == [False]:
                return
        yield from self._call(self._program.kernel, arguments, thread)

    def _call(self, function: Function, arguments: Sequence[Any], thread: Thread) -> Running:
        env = dict(zip(function.parameters, arguments, strict=True))
        end: _End = yield from self._region(function.body, env, thread)
        assert end.kind == "return"
        return end.values

    def _region(self, region: Region, env: Env, thread: Thread) -> Running:
        for operation in region.operations:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise EndlessError
            given = [env[operand] for operand in operation.operands]
            if operation is region.operations[-1]:
                assert operation.kind != "unreachable"
                return _End(operation.kind, given)
            execute = _EXECUTE.get(operation.kind)
            if operation.kind in self._undeclared:
                execute = Machine._unknown
            if execute is None:
                results: Any = [self._compute(operation, given, thread)]
            else:
                results = yield from execute(self, operation, given, env, thread)
            if isinstance(results, _End):
                return results
            env.update(zip(operation.results, results, strict=True))
        raise AssertionError("a region without a terminator")

    def _compute(self, operation: Operation, given: list[Any], thread: Thread) -> Any:
        if operation.kind == "thread_index":
            return 0 if operation["axis"] else thread.number
        if operation.kind == "grid_size":
            return 1 if operation["axis"] else len(self._threads)
        if operation.kind == "tile":
            key = thread.number // self._block, operation["number"]
            return Lvalue(self._tiles.setdefault(key, [zero(element_of(operation.result))]), 0)
        return _COMPUTE[operation.kind](operation, given)

    def _arm(self, region: Region, env: Env, thread: Thread) -> Running:
        end: _End = yield from self._region(region, env, thread)
        return end.values if end.kind == "yield" else end

    def _if(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        chosen = operation.regions[0 if given[0] else 1]
        return (yield from self._arm(chosen, env, thread))

    def _switch(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        numbers = [given[0] in each for each in operation["cases"]]
        chosen = operation.regions[numbers.index(True) if any(numbers) else -1]
        return (yield from self._arm(chosen, env, thread))

    def _for(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        start, stop, step, *carried = given
        numbers = range(start, stop, step) if step else range(0)
        body, otherwise = operation.regions
        if "shared" in operation.attributes:
            carried = yield from self._share(operation, numbers, carried, env, thread)
            numbers = range(0)
        for number in numbers:
            env.update(zip(body.arguments, [number, *carried], strict=True))
            end: _End = yield from self._region(body, env, thread)
            if end.kind == "break":
                return end.values
            if end.kind != "continue":
                return end
            carried = end.values
        env.update(zip(otherwise.arguments, carried, strict=True))
        return (yield from self._arm(otherwise, env, thread))

    def _while(self, operation: Operation, carried: list[Any], env: Env, thread: Thread) -> Running:
        test, body, otherwise = operation.regions
        while True:
            env.update(zip(test.arguments, carried, strict=True))
            end: _End = yield from self._region(test, env, thread)
            answer, *carried = end.values
            if not answer:
                break
            env.update(zip(body.arguments, carried, strict=True))
            end = yield from self._region(body, env, thread)
            if end.kind == "break":
                return end.values
            if end.kind != "continue":
                return end
            carried = end.values
        env.update(zip(otherwise.arguments, carried, strict=True))
        return (yield from self._arm(otherwise, env, thread))

    # ------------------------------------------------------------ shared loops

    def _share(
        self, loop: Operation, numbers: range, carried: list[Any], env: Env, owner: Thread
    ) -> Running:
        """Run the rounds in any order; what they and ``carried`` are together."""
        combined: Sequence[Combination] = loop["shared"]
        types = [result.type for result in loop.results]
        first = [_identity(how, type) for how, type in zip(combined, types, strict=True)]
        left = self._random.sample(numbers, len(numbers))
        running: list[Running] = []
        while left or running:
            begins = len(running) < AT_ONCE and self._random.random() < 0.5
            if left and (begins or not running):
                helper = self._random.choice(self._threads)
                self.helped += helper is not owner
                arguments = zip(loop.regions[0].arguments, [left.pop(), *first], strict=True)
                running.append(self._region(loop.regions[0], {**env, **dict(arguments)}, helper))
            chosen = self._random.choice(running)
            try:
                yield next(chosen)
            except StopIteration as done:
                running.remove(chosen)
                end: _End = done.value
                assert end.kind == "continue"
                parts = zip(combined, types, carried, end.values, strict=True)
                carried = [_combined(how, type, a, b) for how, type, a, b in parts]
        return carried

    # ----------------------------------------------------------- calls, memory

    def _direct(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        function = self._program.functions[operation["symbol"]]
        results = yield from self._call(function, given, thread)
        return results or [None] * len(operation.results)

    def _virtual(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        (symbol,) = [c.symbol for c in operation["candidates"] if c.cls is given[0].cls]
        results = yield from self._call(self._program.functions[symbol], given, thread)
        return results or [None] * len(operation.results)

    def _load(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        return [load(given[0])]

    def _store(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        store(given[1], given[0])
        return ()

    def _prefetch(
        self, operation: Operation, given: list[Any], env: Env, thread: Thread
    ) -> Running:
        yield ""
        return ()

    def _atomic(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        lvalue, *compare, value = given
        before, operator, type = load(lvalue), operation["operator"], operation.result.type
        if operator in ("add", "sub"):
            value = scalars.binary(operator, type, before, value)
        elif operator in ("min", "max"):
            value = min(before, value) if operator == "min" else max(before, value)
        elif operator == "cas" and not scalars.compare("eq", before, compare[0]):
            value = before
        store(lvalue, value)
        return [before]

    def _count(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        lvalue, value = given
        before = load(lvalue)
        store(lvalue, scalars.binary("add", operation.result.type, before, value))
        return [before]

    def _test(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        return [given[0] is not None and given[0].cls in operation["matching"]]

    def _report(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        if operation.kind == "print":
            thread.reported.append((operation["items"], given))
        elif not given[0]:
            thread.reported.append((operation["message"], given[1:]))
        return ()

    def _require(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        if given[0] is None:
            thread.reported.append("null")
        return ()

    def _barrier(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield "barrier"
        return ()

    def _fence(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        return ()

    def _unknown(self, operation: Operation, given: list[Any], env: Env, thread: Thread) -> Running:
        yield ""
        results: Any = self._undeclared[operation.kind](operation, given, thread)
        for region in operation.regions:
            for arguments in [*results]:
                env.update(zip(region.arguments, arguments, strict=True))
                results = yield from self._arm(region, env, thread)
                if isinstance(results, _End):
                    return results
            thread.reported.append([each for each in results if isinstance(each, (int, float))])
        return results


_EXECUTE: dict[str, Any] = {
    "if": Machine._if, "switch": Machine._switch, "for": Machine._for, "while": Machine._while,
    "call": Machine._direct, "call_virtual": Machine._virtual, "load": Machine._load,
    "store": Machine._store, "atomic": Machine._atomic, "count": Machine._count,
    "type_test": Machine._test,
    "print": Machine._report, "require": Machine._require, "assert": Machine._report,
    "barrier": Machine._barrier, "fence": Machine._fence, "prefetch": Machine._prefetch,
}  # fmt: skip

# --------------------------------------------------------------------- memory


def load(lvalue: Lvalue) -> Any:
    found = _holding(lvalue)[lvalue.key]
    for part in lvalue.path:
        found = found[part]
    return found


def store(lvalue: Lvalue, value: Any) -> None:
    holding = _holding(lvalue)
    holding[lvalue.key] = _with(holding[lvalue.key], lvalue.path, value)


def _holding(lvalue: Lvalue) -> Any:
    return lvalue.holder.fields if isinstance(lvalue.holder, Thing) else lvalue.holder


def _with(whole: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The compound with another value for a part of it."""
    if not path:
        return value
    part, *rest = path
    inner = _with(whole[part], tuple(rest), value)
    if isinstance(whole, dict):
        return {**whole, part: inner}
    return (*whole[:part], inner, *whole[part + 1 :])


def _table_element(operation: Operation, given: list[Any]) -> Any:
    table, flat = operation["table"], 0
    for index, wraps, length in zip(given, operation["may_be_negative"], table.shape, strict=True):
        position = index + length * (wraps and index < 0)
        if not 0 <= position < length:
            raise OutOfRangeError(f"{operation!r}: element {index} of {length}")
        flat = flat * length + position
    return table.values[flat].item()


def _index(operation: Operation, index: int, length: int) -> int:
    if operation["may_be_negative"] and index < 0:
        index += length
    index += operation.attributes.get("neighbour", operation.attributes.get("lane", 0))
    if not 0 <= index < length:
        raise OutOfRangeError(f"{operation!r}: element {index} of {length}")
    return index


# -------------------------------------------------------------------- compute


def zero(type: Any) -> Any:
    if isinstance(type, ScalarType):
        return convert(0, type)
    if isinstance(type, ValueType):
        return {name: zero(each) for name, each in type.fields.items()}
    if isinstance(type, TupleType):
        return tuple(zero(each) for each in type.items)
    if isinstance(type, InlineType):
        return (zero(type.item),) * type.shape[0]
    return [] if isinstance(type, ArrayType) else None


def convert(value: Any, type: Any) -> Any:
    return scalars.convert(value, type) if isinstance(type, ScalarType) else value


def _nothing(operation: Operation, given: list[Any]) -> Thing:
    classes = [operation.result.type.cls, *operation.result.type.cls.concrete()]
    every = {name: zero(type) for cls in classes for name, type in cls.fields.items()}
    return Thing(classes[0], every)


def _constant(operation: Operation, given: list[Any]) -> Any:
    return convert(operation["value"], operation.result.type)


def _binary(operation: Operation, given: list[Any]) -> Any:
    type = operation.result.type
    assert isinstance(type, ScalarType)
    return scalars.binary(operation["operator"], type, *given)


def _unary(operation: Operation, given: list[Any]) -> Any:
    type = operation.operands[0].type
    assert isinstance(type, ScalarType)
    return scalars.unary(operation["operator"], type, *given)


def _math(operation: Operation, given: list[Any]) -> Any:
    type, result = operation.operands[0].type, operation.result.type
    assert isinstance(type, ScalarType) and isinstance(result, ScalarType)
    return scalars.mathematics(operation["name"], result, given, type)


def _make_value(operation: Operation, given: list[Any]) -> Any:
    type = operation.result.type
    assert isinstance(type, ValueType)
    return dict(zip(type.fields, given, strict=True))


def _truth(operation: Operation, given: list[Any]) -> bool:
    (value,) = given
    return value is not None and not (isinstance(value, (list, int, float)) and not value)


def _element(operation: Operation, given: list[Any]) -> Lvalue:
    array, index = given
    place = _index(operation, index, len(array))
    return (
        Lvalue(array.whole, array.start + place)
        if isinstance(array, Part)
        else Lvalue(array, place)
    )


def _row(operation: Operation, given: list[Any]) -> Any:
    array, index, rows, columns = given
    return _part([array, _index(operation, index, rows) * columns, columns])


def _part(given: list[Any]) -> Part:
    array, start, count = given
    if isinstance(array, Part):
        return Part(array.whole, array.start + start, count)
    return Part(array, start, count)


def _inline_element(operation: Operation, given: list[Any]) -> Lvalue:
    base, index = given
    return _within(base, _index(operation, index, len(load(base))))


def _rows(type: Any, items: list[Any]) -> tuple[Any, ...]:
    assert isinstance(type, InlineType) and len(items) == type.shape[0]
    return tuple(items)


def _inline_item(operation: Operation, given: list[Any]) -> Any:
    found, *indices = given
    for index, wraps in zip(indices, operation["may_be_negative"], strict=True):
        place = index + len(found) if wraps and index < 0 else index
        if not 0 <= place < len(found):
            raise OutOfRangeError(f"{operation!r}: element {index} of {len(found)}")
        found = found[place]
    return found


def _run_element(operation: Operation, given: list[Any]) -> Any:
    array, index = given
    if not -len(array) <= index < len(array):
        return ANYTHING  # it is computed, and read only where the index is right
    found = array[_index(operation, index, len(array))]
    assert found.cls is operation["form"].cls
    return found


def _within(base: Lvalue, part: Any) -> Lvalue:
    return base._replace(path=(*base.path, part))


_COMPUTE: dict[str, Callable[[Operation, list[Any]], Any]] = {
    "constant": _constant,
    "zero": lambda operation, given: zero(operation.result.type),
    "nothing": _nothing,
    "anything": lambda operation, given: ANYTHING,
    "opaque": lambda operation, given: given[0],
    "together": lambda operation, given: given[0],
    "convert": lambda operation, given: convert(given[0], operation.result.type),
    "truth": _truth,
    "unary": _unary,
    "binary": _binary,
    "compare": lambda operation, given: scalars.compare(operation["operator"], *given),
    "select": lambda operation, given: given[1] if given[0] else given[2],
    "length": lambda operation, given: len(given[0]),
    "slice": lambda operation, given: _part(given),
    "row": _row,
    "make_value": _make_value,
    "value_field": lambda operation, given: given[0][operation["name"]],
    "make_inline": lambda operation, given: _rows(operation.result.type, given),
    "inline_item": _inline_item,
    "make_tuple": lambda operation, given: tuple(given),
    "tuple_item": lambda operation, given: given[0][operation["index"]],
    "math": _math,
    "table_element": _table_element,
    "field": lambda operation, given: Lvalue(given[0], operation["name"]),
    "element": _element,
    "list": lambda operation, given: given * operation["repeat"],
    "list_element": _element,
    "inline_element": _inline_element,
    "member": lambda operation, given: _within(given[0], operation["name"]),
    "run_element": _run_element,
}

# ----------------------------------------------------------------- reductions


def _identity(how: Combination, type: Any) -> int:
    """What changes nothing when it is combined."""
    low, high = type.range
    all_bits: int = scalars.convert(-1, type)
    return {"and": all_bits, "min": high, "max": low}.get(how, 0)


def _combined(how: Combination, type: Any, one: int, other: int) -> Any:
    if how in ("min", "max"):
        return min(one, other) if how == "min" else max(one, other)
    return scalars.binary(how, type, one, other)

"""Which classes have objects in places that may be given to objects of other classes: inside of
other objects (polymorphic members), or constructed in memory that may be a part of the heap.

The range of such an object, and the tag bits of a reference that was computed from another one,
tell the wrong class. It is found by its construction: a vtable pointer is stored at a distance from
an object's address, or to an address of unknown origin, here or in a constructor that is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod

from dispatch.dataclass import dataclass

from .constructions import is_ours
from .flow import FunctionFlow, parameter_access, plain_name
from .names import is_destructor
from .syntax import Call, Function, Instruction, Module, Name, names_in
from .table_stores import TableStores, TableUses, vtables_in
from .values import Constant, FunctionValues, Guarded, Merge, Result, SymbolAddress, Value
from .vtables import ADDRESS_POINT

_ALLOCATORS = ("malloc", "_Znwm", "_Znam", "_Znwj", "_Znaj")
#: Operators new that give back the place they were given.
_PLACEMENT = ("_ZnwmPv", "_ZnamPv")  # and further parameters
#: What adds, and which of its operands are added as they are.
_SUMS = {"add": slice(0, 2), "or": slice(0, 2), "mad": slice(2, 3), "sub": slice(0, 1)}
#: Different ways that an address may come; more are not told apart.
_MOST_WAYS = 32
#: Values that are looked at for one address.
_MOST_STEPS = 1000


@dataclass(frozen=True)
class _Origin:
    """An address: the sum of ``parts``, of which one is the pointer, and of ``distance``."""

    parts: frozenset[Value]
    distance: int


_Origins = Iterator[_Origin | None]
"""The ways that an address may come; None where it is not known how."""


def misplaced_tables(module: Module, uses: TableUses, by: str | None = None) -> frozenset[str]:
    """The vtables of classes that have, or may have, objects in places of others; those alone that
    the function ``by`` puts there, itself or by functions that it mentions."""
    functions = {
        name: function
        for name, function in module.functions.items()
        # What a destructor finds inside of its object was made elsewhere.
        if function.body is not None and not is_destructor(name)
    }
    if by is not None:
        reached = _reached(by, functions)
        functions = {name: functions[name] for name in functions if name in reached}
    known = {name for name, function in functions.items() if vtables_in(function)}
    makers = [_Maker(uses.stores(functions[name])) for name in sorted(known)]
    misplaced: set[str] = set()
    made = {maker.name: maker.stored(misplaced) for maker in makers}
    changed = bool(makers)
    while changed:
        changed = False
        for name, function in functions.items():
            if name not in known and not known.isdisjoint(_mentioned(function)):
                known.add(name)
                makers.append(_Maker(uses.stores(function)))
                made[name] = {}
                changed = True
        for maker in makers:
            changed |= maker.passed(made, misplaced)
    # What is called from elsewhere may be called with any address.
    called = {name for maker in makers for name in maker.called}
    kept = {n for f in functions.values() for n in uses.functions_kept(f, made.keys())}
    for name in made:
        if name in kept or name not in called:
            misplaced.update(*made[name].values())
    return frozenset(misplaced)


def _reached(first: str, functions: Mapping[str, Function]) -> set[str]:
    found: set[str] = set()
    work = [first]
    while work:
        name = work.pop()
        if name in functions and name not in found:
            found.add(name)
            work += _mentioned(functions[name])
    return found


def _mentioned(function: Function) -> Iterator[str]:
    for statement in function.body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                yield from names_in(operand)


class _Maker:
    """A function that makes objects, itself or by a call."""

    def __init__(self, stores: TableStores) -> None:
        self._stores = stores
        self._values: FunctionValues = stores.values
        self._flow: FunctionFlow = stores.values.flow
        self.name = self._flow.function.name
        self._parameters = [p.name for p in self._flow.function.parameters]
        self._is_ours = is_ours(self.name)
        self._steps = 0
        self._calls = [
            (index, call, self._called(index, call))
            for index, call in self._flow.instructions()
            if isinstance(call, Call)
        ]

    @property
    def called(self) -> set[str]:
        return {target for _, _, target in self._calls}

    def stored(self, misplaced: set[str]) -> dict[int, set[str]]:
        """The tables that it puts at the start of what a parameter points to, by parameter; those
        that it puts inside of other objects are added to ``misplaced``."""
        found: dict[int, set[str]] = {}
        for store in self._stores.all:
            # Other address points are those of a second base, of the object itself.
            tables = {name for name, offset in store.tables if offset == ADDRESS_POINT}
            self._place(store.address, store.offset, tables, found, misplaced)
        if self._stores.escapes:
            misplaced.update(vtables_in(self._flow.function))
        return found

    def passed(self, made: dict[str, dict[int, set[str]]], misplaced: set[str]) -> bool:
        """The same for the functions that it calls; whether that was new."""
        found, before = made[self.name], _size(made[self.name]) + len(misplaced)
        for index, call, target in self._calls:
            for number, tables in list(made.get(target, {}).items()):
                argument = self._argument(index, call, number)
                if argument is None:
                    misplaced |= tables
                else:
                    self._place(argument, 0, tables, found, misplaced)
        return _size(found) + len(misplaced) > before

    def _place(
        self,
        address: Value,
        offset: int,
        tables: set[str],
        found: dict[int, set[str]],
        misplaced: set[str],
    ) -> None:
        for origin in self._origins(address):
            if origin is None:
                misplaced |= tables
            elif any(map(self._own, origin.parts)):
                continue
            elif origin.distance + offset:
                misplaced |= tables
            else:
                parameters = map(self._parameter, origin.parts)
                numbers = {number for number in parameters if number is not None}
                for number in numbers:
                    found.setdefault(number, set()).update(tables)
                if origin.parts and not numbers and not self._is_ours:
                    misplaced |= tables

    # ------------------------------------------------------------ addresses

    def _origins(self, address: Value) -> set[_Origin | None]:
        self._steps = 0
        found = set(self._ways(address, frozenset()))
        return found if len(found) <= _MOST_WAYS else {None}

    def _ways(self, value: Value, above: frozenset[Value]) -> _Origins:
        at = self._values.location(value)
        if at.base in above:  # a loop's step: the first turn tells where it began
            return
        self._steps += 1
        if len(above) > _MOST_WAYS or self._steps > _MOST_STEPS:
            yield None
            return
        for origin in self._ways_of(at.base, above | {at.base}):
            yield origin and _Origin(origin.parts, origin.distance + at.offset)

    def _ways_of(self, base: Value, above: frozenset[Value]) -> _Origins:
        if isinstance(base, Constant):
            yield _Origin(frozenset(), base.value)
            return
        if isinstance(base, Merge | Guarded):
            for way in base.incoming if isinstance(base, Merge) else [base.new, base.old]:
                yield from self._ways(way, above)
            return
        if not isinstance(base, Result):
            yield _Origin(frozenset({base}), 0)
            return
        instruction, index = base.instruction, base.place.index
        operands = [self._values.operand(o, index) for o in instruction.operands[1:]]
        if instruction.opcode == "selp":
            for way in operands[:2]:
                yield from self._ways(way, above)
        elif instruction.opcode in _SUMS:
            # What is multiplied, or subtracted, is an index, and nothing is known of it.
            terms = operands[_SUMS[instruction.opcode]]
            ways = [set(self._ways(term, above)) for term in terms]
            if prod(map(len, ways)) > _MOST_WAYS:
                yield None
                return
            for parts in product(*ways):
                yield _sum(parts)
        elif instruction.opcode == "ld" and instruction.has("param"):
            yield from self._given_back(base, above)
        else:
            yield _Origin(frozenset({base}), 0)

    def _given_back(self, base: Result, above: frozenset[Value]) -> _Origins:
        """A parameter of the function, or the result of a call."""
        access = parameter_access(base.instruction, "ld")
        call = self._call_of(access[0] if access else "", base.place.index)
        if self._values.is_parameter(base.instruction) or self._own(base):
            yield _Origin(frozenset({base}), 0)
        elif call is not None and call[2].startswith(_PLACEMENT):
            argument = self._argument(*call[:2], 1)
            yield from self._ways(argument, above) if argument else [None]
        else:
            yield None

    def _called(self, index: int, call: Call) -> str:
        """The name of the function; unoptimised code has it in a register."""
        target = self._values.plain(self._values.register(call.target.text, index))
        return target.name if isinstance(target, SymbolAddress) else ""

    def _call_of(self, result: str, index: int) -> tuple[int, Call, str] | None:
        """The call before statement ``index`` that gives ``result``, and its function."""
        before = [call for call in self._calls if call[0] < index]
        if not before or result not in map(plain_name, before[-1][1].results):
            return None
        return before[-1]

    def _argument(self, index: int, call: Call, number: int) -> Value | None:
        """What a call is given for a parameter; None where that is not seen."""
        operand = call.arguments[number] if number < len(call.arguments) else None
        if not isinstance(operand, Name):
            return None
        if self._flow.key(operand.text, index) is not None:
            return self._values.register(operand.text, index)
        block = self._flow.blocks[self._flow.block_of[index]]
        for place in range(index - 1, block.start - 1, -1):
            statement = self._flow.body[place]
            if parameter_access(statement, "st") == (operand.text, 0):
                assert isinstance(statement, Instruction)
                return self._values.operand(statement.operands[1], place)
        return None

    def _own(self, start: Value) -> bool:
        """Whether memory is certainly none of the heap: a variable, or what malloc gave."""
        if not isinstance(start, Result):
            return isinstance(start, SymbolAddress)
        if start.instruction.opcode == "cvta":  # of another space than global memory
            return True
        access = parameter_access(start.instruction, "ld")
        call = self._call_of(access[0] if access else "", start.place.index)
        return call is not None and call[2] in _ALLOCATORS

    def _parameter(self, start: Value) -> int | None:
        """The number of the parameter that a value is; of a kernel none is told from memory."""
        if self._flow.function.is_entry:
            return None
        if not isinstance(start, Result) or not self._values.is_parameter(start.instruction):
            return None
        access = parameter_access(start.instruction, "ld")
        assert access is not None
        return self._parameters.index(access[0]) if access[1] == 0 else None


def _size(found: dict[int, set[str]]) -> int:
    return sum(map(len, found.values()))


def _sum(terms: Iterable[_Origin | None]) -> _Origin | None:
    parts: frozenset[Value] = frozenset()
    distance = 0
    for term in terms:
        if term is None:
            return None
        parts, distance = parts | term.parts, distance + term.distance
    return _Origin(parts, distance)

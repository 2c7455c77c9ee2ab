"""Random expressions of the subset, each of a wanted type, as source text.

Everything that CPython alone would refuse is left out: Python's own numbers meet only small ones,
exponents are not negative, indices stay inside, null is tested before it is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from .library import GRID, GRID_ELEMENT, combined, drawn, element_of, number_of
from .signatures import (
    ARRAY,
    COMBINATIONS,
    DTYPES,
    FLOATS,
    INTEGERS,
    NARROW,
    SCALARS,
    SIGNED,
    Named,
    Routine,
    Struct,
    storable,
)

_FLOAT_LITERALS = (0.0, 1.0, -1.0, 0.5, -2.25, 3.14159, 1e-3, 7e5, -1e10, 2.0**-30)
_UNARY_MATH = ("np.sqrt", "np.floor", "np.ceil", "np.trunc", "np.fabs")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass
class Scope:
    """What an expression may name. ``calls`` are (text of the receiver, callable): ``self.`` ends
    with the dot, a function has none, ``Base:`` means ``Base.method(self, ...)``. ``tests`` are
    conditions about classes and null. ``counters`` are Python ints between 0 and 10. ``array`` is
    an ``oa.Array[i32]``, ``grid`` one of two dimensions (``library.GRID``)."""

    readable: list[Named] = field(default_factory=list)
    calls: list[tuple[str, Routine]] = field(default_factory=list)
    array: str = ""
    grid: str = ""
    tests: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)

    def with_names(self, *names: Named) -> Scope:
        return replace(self, readable=[*self.readable, *names])

    def with_counter(self, name: str) -> Scope:
        return replace(self, counters=[*self.counters, name])


@dataclass(frozen=True)
class Table:
    """A constant of the program: a NumPy array, or a tuple of tuples."""

    name: str
    type: str
    shape: tuple[int, ...]
    is_tuple: bool


class Expressions:
    """Makes expressions; ``calls_left`` bounds how many calls a body may hold. ``safe`` ones divide
    integers by literals only, since debug mode reports a division by zero."""

    def __init__(
        self, random: Random, structs: list[Struct], tables: list[Table], *, safe: bool
    ) -> None:
        self.random, self.safe, self.tables = random, safe, tables
        self._own_names = 0
        self.structs = {struct.name: struct for struct in structs}
        self.calls_left = 0

    def make(self, type: str, scope: Scope, depth: int) -> str:
        """An expression of exactly ``type``."""
        if depth <= 0 or type in (ARRAY, GRID):
            return self.leaf(type, scope)
        choices: list[Callable[[str, Scope, int], str]] = [self._conditional, self._leaf_again]
        if type in DTYPES:
            choices += [self._fold]
            choices += [self._look_up] if any(t.type == type for t in self.tables) else []
            choices += [self._drawn] if type in ("f32", "f64", "i64") else []
            choices += [self._of_vector] if self._vectors_of(type) else []
        if type in self.structs:
            choices += [self._struct, self._struct]
        elif type == "bool":
            choices += [self._comparison, self._comparison, self._chain, self._logic, self._bitwise]
        else:
            choices += [self._binary] * 4 + [self._unary, self._with_literal, self._extreme]
            choices += [self._conversion]
            choices += [self._mathematics] if type in FLOATS else [self._power]
        made = self._call(type, scope, depth) if self.random.random() < 0.3 else None
        return made or self.random.choice(choices)(type, scope, depth - 1)

    def storable_in(self, type: str, scope: Scope, depth: int) -> str:
        """An expression that assigning to ``type`` converts silently."""
        if type in DTYPES and self.random.random() < 0.2:
            type = self.random.choice([s for s in SCALARS if storable(type, s)])
        return self.make(type, scope, depth)

    # --------------------------------------------------------------- no parts

    def leaf(self, type: str, scope: Scope) -> str:
        if type == ARRAY:
            return scope.array
        if type == GRID:
            return scope.grid
        if type == GRID_ELEMENT and scope.grid and self.random.random() < 0.2:
            return self._cell(scope)
        if type == "i32" and scope.array and self.random.random() < 0.2:
            return f"{scope.array}[{self.index(f'len({scope.array})', scope)}]"
        known = [name.text for name in scope.readable if name.type == type]
        if known and self.random.random() < 0.7:
            return self.random.choice(known)
        if type in self.structs:
            return self._constructor(type, scope, 0)
        others = [name for name in scope.readable if name.type in DTYPES and name.type != type]
        if others and self.random.random() < 0.5:
            return f"{type}({self.random.choice(others).text})"
        if scope.counters and type != "bool" and self.random.random() < 0.4:
            return f"{type}({self.random.choice(scope.counters)})"
        return self.literal(type)

    def _cell(self, scope: Scope) -> str:
        grid, narrow = scope.grid, replace(scope, grid="")
        row = self.index(f"{grid}.shape[0]", narrow)
        column = self.index(f"{grid}.shape[1]", narrow)
        return (
            f"{grid}[{row}, {column}]" if self.random.random() < 0.7 else f"{grid}[{row}][{column}]"
        )

    def literal(self, type: str) -> str:
        if type == "bool":
            return self.random.choice(("True", "False"))
        if type in FLOATS:
            return f"{type}({self.random.choice(_FLOAT_LITERALS)})"
        bits = int(type[1:])
        low, high = (
            (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type in SIGNED else (0, 2**bits - 1)
        )
        usual = [0, 1, 2, 3, 5, 100, high, high - 1, low, low + 1, self.random.randint(low, high)]
        return f"{type}({self.random.choice(usual)})"

    def _leaf_again(self, type: str, scope: Scope, depth: int) -> str:
        return self.leaf(type, scope)

    def index(self, length: str, scope: Scope) -> str:
        """An index of something with ``length`` elements, from either end."""
        kind = self.random.choice(("counter", "positive", "negative"))
        if kind == "counter" and scope.counters:
            return f"{self.random.choice(scope.counters)} % {length}"
        inner = replace(scope, array="", grid="")
        value = f"int({self.make(self.random.choice(NARROW), inner, 0)}) % {length}"
        return f"-1 - ({value})" if kind == "negative" else value

    # ---------------------------------------------------------------- numbers

    def _binary(self, type: str, scope: Scope, depth: int) -> str:
        divides = type in FLOATS or not self.safe
        if divides and self.random.random() < 0.1:
            parts = ", ".join(self.make(type, scope, depth) for _ in range(2))
            return f"divmod({parts})[{self.random.randint(0, 1)}]"
        known = [c for c in COMBINATIONS[type] if divides or c[0] not in ("//", "%")]
        same = [c for c in known if c[1] == c[2] == type]
        symbol, left, right = self.random.choice(same if self.random.random() < 0.6 else known)
        return f"({self.make(left, scope, depth)} {symbol} {self.make(right, scope, depth)})"

    def _with_literal(self, type: str, scope: Scope, depth: int) -> str:
        value = self.make(type, scope, depth)
        if type in FLOATS:
            symbol = self.random.choice(("+", "-", "*", "/", "//", "%"))
            literal = str(self.random.choice((2, 3, 0.5, 1.25, 10)))
        else:
            symbol = self.random.choice(("+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"))
            literal = str(self.random.randint(0, 100))
            if self.safe and symbol in ("//", "%"):
                return f"({value} {symbol} {self.random.randint(1, 100)})"
        pair = (value, literal) if self.random.random() < 0.6 else (literal, value)
        return f"({pair[0]} {symbol} {pair[1]})"

    def _unary(self, type: str, scope: Scope, depth: int) -> str:
        value = self.make(type, scope, depth)
        symbols = ("-", "abs", "+") + (("~",) if type in INTEGERS else ())
        symbol = self.random.choice(symbols)
        return f"abs({value})" if symbol == "abs" else f"({symbol}{value})"

    def _extreme(self, type: str, scope: Scope, depth: int) -> str:
        values = [self.make(type, scope, depth) for _ in range(self.random.choice((2, 2, 3)))]
        if len(values) == 3 and self.random.random() < 0.5:
            name = self.random.choice(("minimum", "maximum"))
            return f"np.{name}({values[0]}, np.{name}({values[1]}, {values[2]}))"
        return f"{self.random.choice(('min', 'max'))}({', '.join(values)})"

    def _conversion(self, type: str, scope: Scope, depth: int) -> str:
        source = self.random.choice(SCALARS)
        if self.random.random() < 0.2:
            narrow = self.make(self.random.choice(NARROW), scope, depth)
            return f"{type}(int({narrow}) * 3 - {self.random.randint(0, 9)})"
        return f"{type}({self.make(source, scope, depth)})"

    def _mathematics(self, type: str, scope: Scope, depth: int) -> str:
        # Only functions that every platform rounds correctly.
        if self.random.random() < 0.2:
            sign = self.make(self.random.choice(SIGNED), scope, depth)  # no NaN: it has no sign
            return f"np.copysign({self.make(type, scope, depth)}, {type}({sign}))"
        return f"{self.random.choice(_UNARY_MATH)}({self.make(type, scope, depth)})"

    def _power(self, type: str, scope: Scope, depth: int) -> str:
        return f"({self.make(type, scope, depth)} ** {self.random.randint(0, 3)})"

    # ------------------------------------------------------------- many items

    def _look_up(self, type: str, scope: Scope, depth: int) -> str:
        table = self.random.choice([table for table in self.tables if table.type == type])
        indices = [self.index(str(length), scope) for length in table.shape]
        if table.is_tuple:
            return table.name + "".join(f"[{index}]" for index in indices)
        return f"{table.name}[{', '.join(indices)}]"

    def items(self, scope: Scope, depth: int) -> tuple[str, str]:
        """The type of some items, two to four, and what they are in."""
        short = [table for table in self.tables if len(table.shape) == 1]
        if short and self.random.random() < 0.3:
            table = self.random.choice(short)
            return table.type, table.name
        type = self.random.choice([*SCALARS, *self.structs])
        parts = [self.make(type, scope, depth - 1) for _ in range(self.random.randint(2, 4))]
        text = f"({', '.join(parts)})"
        return type, f"reversed({text})" if self.random.random() < 0.2 else text

    def _fold(self, type: str, scope: Scope, depth: int) -> str:
        """A number made of some, in a loop of its own."""
        item, items = self.items(scope, depth)
        if type == "bool" and item in INTEGERS and self.random.random() < 0.4:
            word = self.random.choice(("in", "not in"))
            return f"({self.make(item, scope, depth)} {word} {items})"
        self._own_names += 1
        name, calls = f"g{self._own_names}", self.calls_left
        inside = scope.with_names(Named(name, item))
        self.calls_left = 0
        each = self.make(type, inside, depth - 1)
        rest = f"for {name} in {items}"
        if self.random.random() < 0.4:
            rest += f" if {self.condition(inside, depth - 1)}"
        self.calls_left = calls
        if type == "bool":
            return f"{self.random.choice(('any', 'all'))}({each} {rest})"
        name = self.random.choice(("sum", "min", "max"))
        other = self.make(type, scope, depth - 1)
        last = other if name == "sum" else f"default={other}"
        return f"{name}(({each} {rest}), {last})"

    # ------------------------------------------------------------- conditions

    def condition(self, scope: Scope, depth: int) -> str:
        if scope.tests and self.random.random() < 0.25:
            return self.random.choice(scope.tests)
        return self.make("bool", scope, depth)

    def _conditional(self, type: str, scope: Scope, depth: int) -> str:
        test = self.condition(scope, depth)
        return f"({self.make(type, scope, depth)} if {test} else {self.make(type, scope, depth)})"

    def _comparison(self, type: str, scope: Scope, depth: int) -> str:
        left = self.random.choice(SCALARS)
        right = left if self.random.random() < 0.4 else self.random.choice(SCALARS)
        symbol = self.random.choice(_COMPARISONS)
        if self.structs and self.random.random() < 0.1:
            left = right = self.random.choice(list(self.structs))
            symbol = self.random.choice(("==", "!="))
        if left in INTEGERS and self.random.random() < 0.2:
            literal = self.random.choice((-1, 0, 1, 200, 70_000, 5_000_000_000))
            return f"({self.make(left, scope, depth)} {symbol} {literal})"
        return f"({self.make(left, scope, depth)} {symbol} {self.make(right, scope, depth)})"

    def _chain(self, type: str, scope: Scope, depth: int) -> str:
        types = [self.random.choice(SCALARS)] * 3
        parts = [self.make(t, scope, depth - 1) for t in types]
        first, second = (self.random.choice(_COMPARISONS) for _ in range(2))
        return f"({parts[0]} {first} {parts[1]} {second} {parts[2]})"

    def _logic(self, type: str, scope: Scope, depth: int) -> str:
        if self.random.random() < 0.2:
            return f"(not {self.make(self.random.choice(SCALARS), scope, depth)})"
        parts = [self.condition(scope, depth) for _ in range(self.random.choice((2, 2, 3)))]
        return f"({self.random.choice((' and ', ' or ')).join(parts)})"

    def _bitwise(self, type: str, scope: Scope, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"bool({self.make(self.random.choice(SCALARS), scope, depth)})"
        parts = [self.make("bool", scope, depth) for _ in range(2)]
        return f"({parts[0]} {self.random.choice('&|^')} {parts[1]})"

    # ------------------------------------------------------ structs and calls

    def _constructor(self, type: str, scope: Scope, depth: int) -> str:
        fields = self.structs[type].fields
        return f"{type}({', '.join(self.storable_in(f.type, scope, depth) for f in fields)})"

    def _struct(self, type: str, scope: Scope, depth: int) -> str:
        if self.random.random() < 0.5:
            return self._constructor(type, scope, depth)
        if element_of(type) is not None:
            known = [name for name in self.structs if element_of(name) is not None]
            return combined(self.random, type, known, lambda each: self.make(each, scope, depth))
        return f"({self.make(type, scope, depth)} + {self.make(type, scope, depth)})"

    def _vectors_of(self, type: str) -> list[str]:
        return [name for name in self.structs if element_of(name) == type]

    def _of_vector(self, type: str, scope: Scope, depth: int) -> str:
        name = self.random.choice(self._vectors_of(type))
        return number_of(self.random, name, lambda other: self.make(other, scope, depth))

    def _drawn(self, type: str, scope: Scope, depth: int) -> str:
        found = drawn(self.random, type, lambda other: self.make(other, scope, depth))
        assert found is not None
        return found

    def _call(self, type: str, scope: Scope, depth: int) -> str | None:
        """A call with that result, if there is one and calls are left."""
        known = [(receiver, called) for receiver, called in scope.calls if called.result == type]
        methods = [
            (self.leaf(struct.name, scope) + ".", method)
            for struct in self.structs.values()
            for method in struct.methods
            if method.result == type and not method.name.startswith("__")
        ]
        if not (known or methods) or self.calls_left <= 0:
            return None
        self.calls_left -= 1
        return self.call(*self.random.choice(known + methods), scope, depth - 2)

    def call(self, receiver: str, called: Routine, scope: Scope, depth: int) -> str:
        """``receiver.called(...)`` with random arguments, some of them by name."""
        texts = [self.storable_in(p.type, scope, depth) for p in called.parameters]
        if called.recursive:
            texts[0] = "i32(2)"
        count = len(texts)
        by_position = self.random.randint(0, count) if self.random.random() < 0.3 else count
        first, named = called.call(texts, by_position)
        self.random.shuffle(named)
        parts = [*first, *named]
        if receiver.endswith(":"):
            return f"{receiver[:-1]}.{called.name}({', '.join(['self', *parts])})"
        return f"{receiver}{called.name}({', '.join(parts)})"

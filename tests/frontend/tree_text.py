"""The typed tree as text, to read what the front end makes of a program.

It reads like the user's Python with every type, conversion and binding written out. Each function
starts with its symbol; a statement that begins a new source line carries ``# file:line``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

from sharedoa.frontend import tree

_UNARY = {"neg": "-", "invert": "~", "not": "not "}
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARE = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "is": "is",
    "is_not": "is not",
}  # fmt: skip


def program_text(program: tree.Program) -> str:
    """The kernel first, then every function that it reaches, by symbol."""
    others = [f for _, f in sorted(program.functions.items()) if f is not program.kernel]
    return "\n\n".join(_FunctionPrinter(f).text() for f in (program.kernel, *others)) + "\n"


class _FunctionPrinter:
    def __init__(self, function: tree.Function) -> None:
        self._function = function
        self._names: dict[tree.Variable, str] = {}
        self._taken: set[str] = set()
        self._lines: list[str] = []
        self._line = 0

    def text(self) -> str:
        function = self._function
        parameters = ", ".join(f"{self._name(v)}: {v.type!r}" for v in function.parameters)
        self._lines = [f"{function.kind} {function.symbol}({parameters}) -> {function.result!r}:"]
        self._block(function.body, 1)
        return "\n".join(self._lines)

    def _name(self, variable: tree.Variable) -> str:
        """Temporaries have no name of their own, and may be many: they get numbers."""
        if variable not in self._names:
            plain, number = variable.name or "temporary", 1
            name = plain
            while name in self._taken:
                number += 1
                name = f"{plain}.{number}"
            self._taken.add(name)
            self._names[variable] = name
        return self._names[variable]

    def _block(self, statements: list[tree.Statement], depth: int) -> None:
        for statement in statements:
            self._statement(statement, depth)
        if not statements:
            self._lines.append("    " * depth + "pass")

    def _emit(self, depth: int, text: str, location: tree.Location) -> None:
        line = "    " * depth + text
        if location.line != self._line:
            self._line = location.line
            line = f"{line:<70}  # {PurePath(location.file).name}:{location.line}"
        self._lines.append(line)

    # ------------------------------------------------------------- statements

    def _statement(self, node: tree.Statement, depth: int) -> None:
        match node:
            case tree.If():
                self._emit(depth, f"if {self._expression(node.test)}:", node.location)
                self._block(node.then, depth + 1)
                self._else(node.otherwise, depth)
            case tree.While():
                self._emit(depth, f"while {self._expression(node.test)}:", node.location)
                self._block(node.body, depth + 1)
                self._else(node.otherwise, depth)
            case tree.ForRange():
                bounds = self._list((node.start, node.stop, node.step))
                head = f"for {self._name(node.variable)} in range({bounds}):"
                self._emit(depth, head, node.location)
                self._block(node.body, depth + 1)
                self._else(node.otherwise, depth)
            case _:
                self._emit(depth, self._simple(node), node.location)

    def _else(self, statements: list[tree.Statement], depth: int) -> None:
        if statements:
            self._lines.append("    " * depth + "else:")
            self._block(statements, depth + 1)

    def _simple(self, node: tree.Statement) -> str:
        match node:
            case tree.Assign():
                variable = node.variable
                value = self._expression(node.value)
                return f"{self._name(variable)}: {variable.type!r} = {value}"
            case tree.Store():
                return f"{self._place(node.place)} = {self._expression(node.value)}"
            case tree.AugmentedStore():
                place, old = self._place(node.place), self._name(node.old)
                return f"{place} := {self._expression(node.value)}  where {old} was there"
            case tree.Evaluate():
                return self._expression(node.value)
            case tree.Return():
                return "return" if node.value is None else f"return {self._expression(node.value)}"
            case tree.Assert():
                return f"assert {self._expression(node.test)}, {node.message!r}"
            case tree.Require():
                return f"require {self._expression(node.value)}"
            case tree.Print():
                items = [repr(i) if isinstance(i, str) else self._expression(i) for i in node.items]
                return f"print({', '.join(items)}, end={node.end!r})"
            case tree.Barrier():
                return "syncthreads()"
            case tree.Fence():
                return "fence()"
            case tree.Break():
                return "break"
            case tree.Continue():
                return "continue"
        raise AssertionError(f"no text for {type(node).__name__}")

    # ----------------------------------------------------------------- places

    def _place(self, place: tree.Place) -> str:
        match place:
            case tree.TilePlace():
                return place.name
            case tree.FieldPlace():
                return f"{self._expression(place.object)}.{place.name}"
            case tree.ElementPlace():
                index = self._expression(place.index)
                after = f" + {place.neighbour}" if place.neighbour else ""
                return f"{self._expression(place.array)}[{index}{after}]"
            case tree.InlinePlace():
                return f"{self._place(place.base)}[{self._expression(place.index)}]"
            case tree.MemberPlace():
                return f"{self._place(place.base)}.{place.name}"

    # ------------------------------------------------------------ expressions

    def _list(self, expressions: Iterable[tree.Expression]) -> str:
        return ", ".join(map(self._expression, expressions))

    def _expression(self, node: tree.Expression) -> str:
        printer = _EXPRESSIONS.get(type(node))
        if printer is None:
            raise AssertionError(f"no text for {type(node).__name__}")
        return printer(self, node)

    def _constant(self, node: tree.Constant) -> str:
        weak = isinstance(node.type, tree.ScalarType) and node.type.weak
        return repr(node.value) if weak else f"{node.type!r}({node.value!r})"

    def _let(self, node: tree.Let) -> str:
        name, value = self._name(node.variable), self._expression(node.value)
        return f"(let {name}: {node.variable.type!r} = {value} in {self._expression(node.body)})"

    def _unary(self, node: tree.Unary) -> str:
        operand = self._expression(node.operand)
        return (
            f"abs({operand})" if node.operator == "abs" else f"({_UNARY[node.operator]}{operand})"
        )

    def _binary(self, node: tree.Binary) -> str:
        left, right = self._expression(node.left), self._expression(node.right)
        return f"({left} {_BINARY[node.operator]}.{node.type!r} {right})"

    def _compare(self, node: tree.Compare) -> str:
        left, right = self._expression(node.left), self._expression(node.right)
        return f"({left} {_COMPARE[node.operator]} {right})"

    def _logical(self, node: tree.Logical) -> str:
        return f"({self._expression(node.left)} {node.operator} {self._expression(node.right)})"

    def _conditional(self, node: tree.Conditional) -> str:
        then, otherwise = self._expression(node.then), self._expression(node.otherwise)
        return f"({then} if {self._expression(node.test)} else {otherwise})"

    def _virtual_call(self, node: tree.VirtualCall) -> str:
        receiver, arguments = self._expression(node.receiver), self._list(node.arguments)
        names = " ".join(candidate.cls.name for candidate in node.candidates)
        call = f"{receiver}.{node.method}({arguments})"
        return f"virtual<{node.static_class.name} slot {node.slot}: {names}> {call}"

    def _type_test(self, node: tree.TypeTest) -> str:
        return f"isinstance({self._expression(node.value)}, {node.cls.name})"

    def _atomic(self, node: tree.Atomic) -> str:
        operands = [self._place(node.place)]
        operands += [self._expression(node.compare)] if node.compare is not None else []
        return f"atomic_{node.operator}({', '.join(operands)}, {self._expression(node.value)})"


_EXPRESSIONS: dict[type[tree.Expression], Callable[[_FunctionPrinter, Any], str]] = {
    tree.Constant: _FunctionPrinter._constant,
    tree.Null: lambda p, n: f"None<{n.type!r}>",
    tree.Local: lambda p, n: p._name(n.variable),
    tree.Let: _FunctionPrinter._let,
    tree.Convert: lambda p, n: f"{n.type!r}({p._expression(n.value)})",
    tree.Truth: lambda p, n: f"bool({p._expression(n.value)})",
    tree.Unary: _FunctionPrinter._unary,
    tree.Binary: _FunctionPrinter._binary,
    tree.Compare: _FunctionPrinter._compare,
    tree.Logical: _FunctionPrinter._logical,
    tree.Conditional: _FunctionPrinter._conditional,
    tree.Load: lambda p, n: p._place(n.place),
    tree.ArraySlice: lambda p, n: (
        f"{p._expression(n.array)}[{p._expression(n.start)} +: {p._expression(n.count)}]"
    ),
    tree.ArrayRow: lambda p, n: f"row({p._expression(n.array)}, {p._expression(n.index)})",
    tree.ArrayLength: lambda p, n: f"len({p._expression(n.array)})",
    tree.MakeValue: lambda p, n: f"{n.type!r}({p._list(n.fields)})",
    tree.ValueField: lambda p, n: f"{p._expression(n.value)}.{n.name}",
    tree.MakeInline: lambda p, n: f"[{p._list(n.items)}]",
    tree.InlineItem: lambda p, n: f"{p._expression(n.value)}[{p._list(n.indices)}]",
    tree.MakeList: lambda p, n: f"[{p._list(n.items)}] * {n.repeat}",
    tree.MakeTuple: lambda p, n: f"({p._list(n.items)},)",
    tree.TupleItem: lambda p, n: f"{p._expression(n.value)}[{n.index}]",
    tree.DirectCall: lambda p, n: f"{n.symbol}({p._list(n.arguments)})",
    tree.VirtualCall: _FunctionPrinter._virtual_call,
    tree.TypeTest: _FunctionPrinter._type_test,
    tree.MathCall: lambda p, n: f"math.{n.name}({p._list(n.arguments)})",
    tree.ThreadIndex: lambda p, n: f"thread_index({n.axis})",
    tree.GridSize: lambda p, n: f"grid_size({n.axis})",
    tree.Atomic: _FunctionPrinter._atomic,
}

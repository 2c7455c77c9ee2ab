"""Put the bodies of small functions in the place of the direct calls that the pass has written.

NVIDIA's assembler does not do that for functions whose address is taken, which all virtual ones
are, and a call costs more than most methods do. A body stands in braces of its own, in which PTX
lets it declare its registers and labels again.
"""

from __future__ import annotations

from collections.abc import Mapping

from dispatch.dataclass import dataclass

from .code import DIRECT_CALL, REGISTER, Names
from .flow import FunctionFlow, parameter_access, plain_name
from .syntax import (
    Call,
    Declaration,
    Directive,
    Function,
    Instruction,
    Label,
    Module,
    Name,
    Number,
    Operand,
    Scope,
    Statement,
    names_in,
    type_size,
)

LARGEST_BODY = 200
"""Instructions of a function that is still put in the place of a call."""


@dataclass(frozen=True)
class _Piece:
    """Bits of a parameter or result: its place in the list, bytes from its start, and width."""

    place: int
    offset: int
    bits: int


def inline_direct_calls(module: Module, names: Names) -> None:
    """At every direct call that ``TextEmitter`` has marked, in place, callees first."""
    if "debug" in next(item.text for item in module.items if item.text.startswith(".target")):
        return  # A debugger wants to see the call.
    _Inliner(module.functions, names).run()


class _Inliner:
    def __init__(self, functions: Mapping[str, Function], names: Names) -> None:
        self._functions = functions
        self._names = names
        self._done: set[str] = set()
        self._under_way: list[str] = []

    def run(self) -> None:
        for name in self._functions:
            self._visit(name)

    def _visit(self, name: str) -> None:
        function = self._functions[name]
        if name in self._done or name in self._under_way or function.body is None:
            return
        self._under_way.append(name)
        place = 0
        while place < len(function.body):
            statement = function.body[place]
            if isinstance(statement, Label) and statement.name.startswith(DIRECT_CALL):
                self._expand(function, place)
            place += 1
        self._under_way.pop()
        self._done.add(name)

    def _expand(self, function: Function, label: int) -> None:
        """Replace the call sequence after the label, if its callee can stand there."""
        assert function.body is not None
        end = label + 1
        while not (isinstance(s := function.body[end], Scope) and s.kind == "close"):
            end += 1
        sequence = function.body[label + 1 : end + 1]
        call = next(statement for statement in sequence if isinstance(statement, Call))
        self._visit(call.target.text)
        callee = self._functions[call.target.text]
        if callee.name in self._under_way or not _fits(callee):
            return
        copy = _Copy(function, label, sequence, call, callee, self._names).text()
        if copy is not None:
            new: list[Statement] = [Statement(sequence[0].leading, copy, sequence[0].line)]
            function.body[label + 1 : end + 1] = new


def _fits(callee: Function) -> bool:
    if callee.body is None:
        return False
    if sum(isinstance(s, Instruction) for s in callee.body) > LARGEST_BODY:
        return False
    return not any(
        isinstance(s, Declaration) and s.space not in ("reg", "param", "local") for s in callee.body
    )


class _Unsuitable(Exception):
    """The parameters of a call cannot be told from its text."""


class _Copy:
    """The body of ``callee`` for one call sequence."""

    def __init__(
        self,
        caller: Function,
        label: int,
        sequence: list[Statement],
        call: Call,
        callee: Function,
        names: Names,
    ) -> None:
        self._flow = FunctionFlow(caller)
        self._label = label
        self._sequence = sequence
        self._call = call
        self._callee = callee
        self._names = names
        self._registers: dict[_Piece, str] = {}
        self._fetched: set[_Piece] = set()
        self._returned: set[_Piece] = set()
        self._end = names.label()

    def text(self) -> str | None:
        """None where the body cannot stand in the caller."""
        try:
            before, after = self._around()
            inside = self._inside()
        except _Unsuitable:
            return None
        if not self._fetched <= self._returned:
            return None
        declared = [
            f".reg .b{_register_bits(p.bits)} {name};" for p, name in self._registers.items()
        ]
        lines = [*declared, *before, "{" + inside + "\n\t}", f"{self._end}:", *after]
        return "{\n\t" + "\n\t".join(lines) + "\n\t}"

    def _around(self) -> tuple[list[str], list[str]]:
        """What comes before the body, arguments into registers, and after it."""
        arguments = _places(self._call.arguments)
        results = _places(self._call.results)
        before: list[str] = []
        after: list[str] = []
        now = before
        for place, statement in enumerate(self._sequence):
            if statement is self._call:
                now = after
            elif isinstance(statement, Instruction):
                piece = _parameter_access(statement, arguments, results)
                if piece is None:
                    now.append(statement.text)
                    continue
                if statement.predicate is not None:
                    raise _Unsuitable
                index = self._label + 1 + place
                if statement.opcode == "st":
                    before.append(_put(self._argument(piece), statement, self._flow, index))
                else:
                    self._fetched.add(piece)
                    after.append(_get(self._result(piece), statement, self._flow, index))
            elif isinstance(statement, Declaration) and statement.space == "reg":
                before.insert(0, statement.text)
        return before, after

    def _argument(self, piece: _Piece) -> str:
        name = f"{REGISTER}argument_{self._names.label('')}"
        if piece in self._registers:
            raise _Unsuitable
        return self._registers.setdefault(piece, name)

    def _result(self, piece: _Piece) -> str:
        key = _Piece(-1 - piece.place, piece.offset, piece.bits)
        name = f"{REGISTER}result_{self._names.label('')}"
        return self._registers.setdefault(key, name)

    def _inside(self) -> str:
        parameters = {p.name: place for place, p in enumerate(self._callee.parameters)}
        results = {p.name: place for place, p in enumerate(self._callee.results)}
        parts: list[str] = []
        flow = FunctionFlow(self._callee)
        for index, statement in enumerate(flow.body):
            text = statement.text
            if isinstance(statement, Instruction):
                text = self._inner(flow, index, statement, parameters, results)
            elif isinstance(statement, Directive) and statement.name == ".loc":
                text = ""
            parts += statement.leading, text
        return "".join(parts)

    def _inner(
        self,
        flow: FunctionFlow,
        index: int,
        statement: Instruction,
        parameters: Mapping[str, int],
        results: Mapping[str, int],
    ) -> str:
        if statement.opcode == "ret":
            return _with_predicate(statement, f"bra {self._end};")
        mentioned = {name for operand in statement.operands for name in names_in(operand)}
        if not mentioned & (parameters.keys() | results.keys()):
            return statement.text
        piece = _parameter_access(statement, results, parameters)
        if piece is None:
            raise _Unsuitable
        if statement.opcode == "ld":
            source = self._registers.get(piece)
            if source is None:
                raise _Unsuitable
            return _with_predicate(statement, _get(source, statement, flow, index))
        self._returned.add(piece)
        line = _put(self._result(piece), statement, flow, index)
        return _with_predicate(statement, line)


def _places(operands: tuple[Operand, ...]) -> dict[str, int]:
    found = {}
    for place, operand in enumerate(operands):
        name = plain_name(operand)
        if name is None:
            raise _Unsuitable
        found[name] = place
    return found


def _parameter_access(
    statement: Instruction, stored: Mapping[str, int], loaded: Mapping[str, int]
) -> _Piece | None:
    """The piece that a ``st.param`` or ``ld.param`` of these names touches."""
    access = parameter_access(statement, statement.opcode)
    if access is None or statement.opcode not in ("st", "ld"):
        return None
    is_store = statement.opcode == "st"
    place = (stored if is_store else loaded).get(access[0])
    if place is None:
        return None
    if not isinstance(statement.operands[1 if is_store else 0], Name | Number):
        raise _Unsuitable
    return _Piece(place, access[1], 8 * type_size(statement.modifiers[-1]))


def _put(register: str, store: Instruction, flow: FunctionFlow, index: int) -> str:
    """``st.param`` as a move into a register, which holds a piece in its lower bits."""
    source, type = store.operands[1], store.modifiers[-1]
    bits = _register_bits(8 * type_size(type))
    if isinstance(source, Number):
        kind = type if type[0] == "f" else f"b{bits}"
        return f"mov.{kind} {register}, {source.text};"
    assert isinstance(source, Name)
    wide = _declared_bits(source.text, flow, index)
    if wide < bits:
        raise _Unsuitable
    if wide > bits:
        return f"cvt.u{bits}.u{wide} {register}, {source.text};"
    return f"mov.b{bits} {register}, {source.text};"


def _get(register: str, load: Instruction, flow: FunctionFlow, index: int) -> str:
    """``ld.param`` as a move out of a register; like a load it widens to the destination."""
    target, type = load.operands[0], load.modifiers[-1]
    if not isinstance(target, Name):
        raise _Unsuitable
    bits, wide = 8 * type_size(type), _declared_bits(target.text, flow, index)
    if bits == wide:
        return f"mov.b{bits} {target.text}, {register};"
    if bits > wide or type[0] == "f":
        raise _Unsuitable
    sign = "s" if type[0] == "s" else "u"
    return f"cvt.{sign}{wide}.{sign}{bits} {target.text}, {register};"


def _register_bits(bits: int) -> int:
    """The smallest register that a piece fits into."""
    return max(bits, 16)


def _declared_bits(name: str, flow: FunctionFlow, index: int) -> int:
    type = flow.register_type(name, index)
    if type is None or type == "pred":
        raise _Unsuitable
    return 8 * type_size(type)


def _with_predicate(statement: Instruction, line: str) -> str:
    predicate = statement.predicate
    if predicate is None:
        return line
    return f"@{'!' if predicate.negated else ''}{predicate.text} {line}"

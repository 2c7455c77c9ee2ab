"""Random modules of PTX with virtual calls, as compilers might have written them.

A module has one hierarchy of classes whose methods compute on two fields and call each other: a
method of slot s calls slots above s only, so that every call ends. Its kernels call methods in
the ways that ``random_kernels.KINDS`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from .random_code import (
    FIRST,
    NEXT,
    NOTHING,
    NUMBER,
    OPERATIONS,
    REFERENCE,
    RESULTS,
    SECOND,
    Code,
    Draw,
)
from .random_kernels import KINDS, MAKING, KernelWriter


@dataclass(frozen=True)
class Class:
    """``offsets``: words before the functions that tell where virtual bases are, all 0."""

    table: str
    size: int
    functions: tuple[str | None, ...]
    offsets: int = 0

    @property
    def abstract(self) -> bool:
        return None in self.functions

    @property
    def address_point(self) -> int:
        return 16 + 8 * self.offsets

    @property
    def unclear(self) -> bool:
        """Whether zeros may be offsets or pure functions."""
        return self.offsets > 0 or self.functions[0] is None

    @property
    def definition(self) -> str:
        words = ["0"] * (2 + self.offsets) + [function or "0" for function in self.functions]
        return f".global .align 8 .u64 {self.table}[{len(words)}] = {{{', '.join(words)}}};"


@dataclass(frozen=True)
class RandomModule:
    """``objects``: for each, its class, its fields, and which object follows. ``constructs``:
    kernels make objects. ``spills``: tables go through local memory. ``indices``: type indices that
    the pass is given."""

    text: str
    classes: tuple[Class, ...]
    kernels: tuple[str, ...]
    objects: tuple[tuple[Class, int, int, int], ...]
    constructs: bool
    spills: bool
    indices: dict[str, int] | None


class ModuleWriter:
    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._slots = [draw.choose((NUMBER, NUMBER, REFERENCE, NOTHING))]
        self._slots += [draw.choose((NUMBER, REFERENCE, NOTHING)) for _ in range(draw.number(0, 3))]
        self._functions: dict[str, str] = {}
        self._labels = 0
        self._made = draw.flag()
        self._constructs = False
        self._spills = False
        self._classes: list[Class] = []

    # ------------------------------------------------------------ modules

    def module(self) -> RandomModule:
        draw = self._draw
        for number in range(draw.number(1, 12)):
            self._classes.append(self._class(number))
        kernels = [self._kernel(number) for number in range(draw.number(1, 2))]
        linkage = ".weak " if draw.rarely() else ""
        declarations = [self._head(name, end=";") for name in self._functions]
        tables = [f"{linkage}{c.definition}" for c in self._classes]
        parts = [
            "// A random program.\n.version 7.8\n.target sm_80\n.address_size 64\n",
            *declarations,
            ".extern .func (.param .b64 result) malloc (.param .b64 size);",
            *tables,
            *(f"{self._head(name)}\n{{\n{body}}}" for name, body in self._functions.items()),
            *kernels,
        ]
        concrete = [c for c in self._classes if not c.abstract]
        count = draw.number(1, 14)
        objects = tuple(
            (
                draw.choose(concrete),
                draw.number(0, 100),
                draw.number(0, 100),
                draw.number(0, count - 1),
            )
            for _ in range(count)
        )
        names = tuple(f"kernel_{number}" for number in range(len(kernels)))
        return RandomModule(
            "\n".join(parts) + "\n",
            tuple(self._classes),
            names,
            objects,
            self._constructs,
            self._spills,
            self._indices(),
        )

    def _indices(self) -> dict[str, int] | None:
        """Sometimes type indices with gaps, or such that references cannot carry all of them."""
        choice = self._draw.choose((None, None, 3, (1 << 15) - 3))
        if choice is None:
            return None
        found, number = {}, choice
        for known in reversed(self._classes):
            if self._draw.number(0, 3):
                number += self._draw.number(1, 3)
                found[known.table] = number
        return found

    def _head(self, name: str, end: str = "") -> str:
        result = RESULTS[self._kind_of(name)]
        results = f"(.param .{result} result) " if result else ""
        return f".func {results}{name} (.param .b64 self, .param .b32 x){end}"

    def _kind_of(self, name: str) -> str:
        return self._slots[int(name.split("slot")[1][0])]

    def _class(self, number: int) -> Class:
        draw = self._draw
        name = f"C{number}"
        functions: list[str | None] = []
        for slot in range(len(self._slots)):
            inherited = [c.functions[slot] for c in self._classes if c.functions[slot]]
            if inherited and draw.flag():
                functions.append(draw.choose(inherited))
            elif number and draw.rarely():
                functions.append(None)
            else:
                functions.append(self._method(name, slot))
        size = draw.choose((24, 24, 32, 40))
        offsets = draw.number(1, 3) if number and draw.rarely() else 0
        return Class(f"_ZTV{len(name)}{name}", size, tuple(functions), offsets)

    def _method(self, name: str, slot: int) -> str:
        code = Code(self._draw)
        this, x, a, b = code.new("rd"), code.new("r"), code.new("r"), code.new("r")
        code.put(f"ld.param.u64 \t{this}, [self];", f"ld.param.u32 \t{x}, [x];")
        code.put(f"ld.u32 \t{a}, [{this}+{FIRST}];", f"ld.u32 \t{b}, [{this}+{SECOND}];")
        value = self._compute(code, [x, a, b])
        if self._draw.flag():
            code.put(f"st.u32 \t[{this}+{FIRST}], {value};")
        if slot + 1 < len(self._slots) and self._draw.flag():
            receiver = this
            if self._draw.flag():
                receiver = code.new("rd")
                code.put(f"ld.u64 \t{receiver}, [{this}+{NEXT}];")
            other = self._draw.number(slot + 1, len(self._slots) - 1)
            result = self._call(code, receiver, other, value)
            if result.startswith("%r") and not result.startswith("%rd"):
                value = self._compute(code, [value, result])
        kind = self._slots[slot]
        if kind == NUMBER:
            code.put(f"st.param.b32 \t[result], {value};")
        elif kind == REFERENCE:
            reference = this
            if self._draw.flag():
                reference = code.new("rd")
                code.put(f"ld.u64 \t{reference}, [{this}+{NEXT}];")
            code.put(f"st.param.b64 \t[result], {reference};")
        else:
            code.put(f"st.u32 \t[{this}+{SECOND}], {value};")
        code.put("ret;")
        function = f"_ZN{len(name)}{name}5slot{slot}Ej"
        self._functions[function] = code.text()
        return function

    def _compute(self, code: Code, sources: Sequence[str]) -> str:
        value = self._draw.choose(sources)
        for _ in range(self._draw.number(1, 2)):
            operand = self._draw.choose([*sources, str(self._draw.number(1, 9))])
            result = code.new("r")
            code.put(f"{self._draw.choose(OPERATIONS)} \t{result}, {value}, {operand};")
            value = result
        return value

    # ------------------------------------------------------------ calls

    def _call(
        self,
        code: Code,
        receiver: str,
        slot: int,
        argument: str,
        vtable: str | None = None,
        predicate: str = "",
        function: str | None = None,
    ) -> str:
        """The register of the result, or of the argument where there is none."""
        guard = f"@{predicate} " if predicate else ""
        if function is not None:
            return self._sequence(code, function, receiver, slot, argument, guard)
        if vtable is None:
            vtable = code.new("rd")
            loads = ("ld.u64", "ld.b64") if self._made else ("ld.u64", "ld.b64", "ld.global.u64")
            load = self._draw.choose(loads)
            code.put(f"{guard}{load} \t{vtable}, [{receiver}];")
        function = code.new("rd")
        code.put(f"{guard}ld.u64 \t{function}, [{vtable}+{8 * slot}];")
        return self._sequence(code, function, receiver, slot, argument, guard)

    def _sequence(
        self, code: Code, function: str, receiver: str, slot: int, argument: str, guard: str
    ) -> str:
        kind = self._slots[slot]
        width = RESULTS[kind]
        number = self._labels
        self._labels += 1
        braces = self._draw.flag()
        own = "" if braces else f"_{number}"
        wide, narrow = self._draw.choose((("b64", "b32"), ("u64", "u32")))
        first, second, back = f"param0{own}", f"param1{own}", f"retval0{own}"
        results = f"({back}), " if width else ""
        returned = f"(.param .{width} _) " if width else ""
        if braces:
            code.put("{ // callseq")
        code.put(f".param .{wide} {first};", f"st.param.{wide} \t[{first}+0], {receiver};")
        code.put(f".param .{narrow} {second};", f"st.param.{narrow} \t[{second}+0], {argument};")
        if width:
            code.put(f".param .{width} {back};")
        parameters = f"(.param .{wide} _, .param .{narrow} _)"
        code.put(
            f"prototype_{number} : .callprototype {returned}_ {parameters};",
            f"{guard}call {results}{function}, ({first}, {second}), prototype_{number};",
        )
        found = argument
        if width:
            found = code.new("r" if kind == NUMBER else "rd")
            code.put(f"ld.param.{width} \t{found}, [{back}+0];")
        if braces:
            code.put("} // callseq")
        return found

    # ------------------------------------------------------------ kernels

    def _kernel(self, number: int) -> str:
        code = Code(self._draw)
        kernel = KernelWriter(self, code, self._draw)
        body = kernel.write()
        name = f"kernel_{number}"
        return (
            f".visible .entry {name} (.param .u64 references, .param .u64 out, .param .u32 n)\n"
            f"{{\n{body}}}"
        )

    @property
    def slots(self) -> list[str]:
        return self._slots

    @property
    def concrete(self) -> list[Class]:
        """Whose objects kernels make."""
        return [c for c in self._classes if not c.abstract and not c.offsets]

    def slot(self, kind: str) -> int | None:
        found = [slot for slot, k in enumerate(self._slots) if k == kind]
        return self._draw.choose(found) if found else None

    def kinds(self) -> Sequence[str]:
        return KINDS if self._made else KINDS[: -len(MAKING)]

    def constructs(self) -> None:
        self._constructs = True

    def spills(self) -> None:
        self._spills = True

    call = _call
    compute = _compute


@st.composite
def modules(draw: Callable[[st.SearchStrategy[int]], int]) -> RandomModule:
    return ModuleWriter(Draw(draw)).module()

"""Hand-made functions with locals in stack slots, as code generation makes them, and probes.

A probe is a type test of a value: the analysis says whether that value is uniform there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ptxpass.ir import CallSite, SiteCandidate, TypeQuery, uniform_receivers

I32, I64, VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
Part = Callable[[], Any]


class Program:
    """A module whose kernel is ``k``; ``uniform()`` are the names of the probes found uniform."""

    def __init__(self) -> None:
        self.module = ir.Module()
        self.sites: list[CallSite] = []
        self._probes: dict[str, TypeQuery] = {}
        type_index = ir.FunctionType(I32, [I64])
        self._type_index = ir.Function(self.module, type_index, "sharedoa_type_index")

    def kernel(self, leaves: int = 1) -> Flow:
        """The kernel's body: ``leaves`` i64 parameters, then x, y, nx, ny."""
        return self.function("k.body", leaves + 4)

    def function(self, symbol: str, parameters: int = 1, result: ir.Type = VOID) -> Flow:
        signature = ir.FunctionType(result, [I64] * parameters)
        return Flow(self, ir.Function(self.module, signature, symbol))

    def declare(self, symbol: str, parameters: int = 0) -> ir.Function:
        return ir.Function(self.module, ir.FunctionType(I64, [I64] * parameters), symbol)

    def add_probe(self, builder: ir.IRBuilder, name: str, value: Any) -> None:
        call = builder.call(self._type_index, [value])
        assert name not in self._probes
        self._probes[name] = TypeQuery(
            len(self._probes), "F", ((1, "C"),), "f:1", builder.function.name, value, call
        )

    def add_site(
        self, builder: ir.IRBuilder, method: str, symbols: list[str], *arguments: Any
    ) -> Any:
        """A virtual call that may run any of ``symbols``."""
        signature = self.module.globals[symbols[0]].function_type
        pointer = builder.inttoptr(I64(4096), ir.PointerType(signature))
        call = builder.call(pointer, arguments)
        candidates = tuple(SiteCandidate(s, i, i, s) for i, s in enumerate(symbols, 1))
        where = ("f:1", builder.function.name)
        number = len(self.sites)
        self.sites.append(
            CallSite(number, method, "C", "F", 0, candidates, *where, arguments[0], call, ())
        )
        return call

    def uniform(self) -> set[str]:
        found = uniform_receivers(self.module, self.sites, list(self._probes.values()), "k")
        return {name for name, query in self._probes.items() if query.call in found}

    def uniform_methods(self) -> set[str]:
        """The methods of the virtual calls whose receiver is uniform."""
        found = uniform_receivers(self.module, self.sites, [], "k")
        return {site.method for site in self.sites if site.call in found}


class Flow:
    """One function in the making; code is structured as in Python."""

    def __init__(self, program: Program, function: ir.Function) -> None:
        self._program = program
        self.llvm = function
        self.arguments = function.args
        self._entry = ir.IRBuilder(function.append_basic_block("entry"))
        first = function.append_basic_block("body")
        end = self._entry.branch(first)
        self._entry.position_before(end)
        self.builder = ir.IRBuilder(first)
        self._loops: list[tuple[ir.Block, ir.Block]] = []

    def variable(self, value: Any = 0) -> ir.Value:
        slot = self._entry.alloca(I64)
        self._entry.store(I64(0), slot)
        self.set(slot, value)
        return slot

    def set(self, slot: ir.Value, value: Any) -> None:
        self.builder.store(I64(value) if isinstance(value, int) else value, slot)

    def get(self, slot: ir.Value) -> Any:
        return self.builder.load(slot, typ=I64)

    def at(self, address: Any) -> Any:
        """Load from heap memory."""
        return self.builder.load(self.builder.inttoptr(address, ir.PointerType()), typ=I64)

    def probe(self, name: str, value: Any) -> None:
        self._program.add_probe(self.builder, name, value)

    def probe_variable(self, name: str, slot: ir.Value) -> None:
        self.probe(name, self.get(slot))

    def less(self, left: Any, right: Any) -> Any:
        return self.builder.icmp_signed("<", left, right)

    def when(self, test: Any, then: Part, otherwise: Part = lambda: None) -> None:
        blocks = [self.llvm.append_basic_block(name) for name in ("then", "else", "end")]
        self.builder.cbranch(test, blocks[0], blocks[1])
        for block, part in zip(blocks[:2], (then, otherwise), strict=True):
            self.builder.position_at_end(block)
            part()
            self._go(blocks[2])
        self.builder.position_at_end(blocks[2])

    def count(self, stop: Any, body: Callable[[ir.Value], Any], else_: Part | None = None) -> Any:
        """``for i in range(stop)``, with Python's ``else``; the counter's slot."""
        counter = self.variable()
        names = ("test", "loop", "next", "else", "end")
        test, loop, following, otherwise, end = map(self.llvm.append_basic_block, names)
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(self.less(self.get(counter), stop), loop, otherwise)
        self.builder.position_at_end(loop)
        self._loops.append((following, end))
        body(counter)
        self._loops.pop()
        self._go(following)
        self.builder.position_at_end(following)
        self.set(counter, self.builder.add(self.get(counter), I64(1)))
        self.builder.branch(test)
        self.builder.position_at_end(otherwise)
        if else_ is not None:
            else_()
        self._go(end)
        self.builder.position_at_end(end)
        return counter

    def break_(self) -> None:
        self.builder.branch(self._loops[-1][1])

    def continue_(self) -> None:
        self.builder.branch(self._loops[-1][0])

    def give(self, value: Any = None) -> None:
        """Return."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(I64(value) if isinstance(value, int) else value)

    def _go(self, block: ir.Block) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

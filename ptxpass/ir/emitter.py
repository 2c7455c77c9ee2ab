"""``dispatch.emitter.Emitter`` over llvmlite's builder, which stands at one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from dispatch.bounds import Interval, bounds_function
from dispatch.emitter import Candidate
from dispatch.lookup import lookup_function
from dispatch.mode import Mode
from dispatch.windows import Windows, number_function, types_by_number, window_function

from .sites import Environment, LoweringError, Ranges, Site, VirtualCall
from .tables import FunctionTables

I32, I64 = ir.IntType(32), ir.IntType(64)


class IrEmitter:
    """Stands at ``site``; ``finish`` ends the code. A failed ``require_type`` leads there too."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        site: Site,
        arguments: Sequence[Any],
        mode: Mode,
        environment: Environment,
        tables: FunctionTables,
    ) -> None:
        self._builder = builder
        self._site = site
        self._arguments = arguments
        self._mode = mode
        self._environment = environment
        self._tables = tables
        self._refused: list[ir.Block] = []
        #: The window that the receiver lies in, and the type that this tells.
        self._window: Any = None
        self._type_of_window: Any = None

    @property
    def debug(self) -> bool:
        return self._environment.debug

    def address(self, reference: Any) -> Any:
        return self._environment.emit_address(self._builder, reference)

    def load(self, address: Any, offset: int, bits: int) -> Any:
        place = self._builder.add(address, I64(offset)) if offset else address
        pointer_type = ir.PointerType(None, self._environment.object_space)
        pointer = self._builder.inttoptr(place, pointer_type)
        return self._builder.load(pointer, align=bits // 8, typ=ir.IntType(bits))

    def vtable_pointer(self, address: Any) -> Any:
        return self.load(self._site.emit_vtable_address(self._builder, address), 0, 64)

    def type_tag(self, address: Any) -> Any:
        return self.load(address, 0, 32)

    def upper_bits(self, reference: Any, shift: int) -> Any:
        return self._builder.trunc(self._builder.lshr(reference, I64(shift)), I32)

    def look_up(self, reference: Any) -> Any:
        environment = self._environment
        module, space = self._builder.module, environment.constant_space
        known = Ranges() if self.debug else environment.ranges()
        windows, intervals = known.windows, self._intervals(known)
        if windows is not None or intervals:
            key = environment.emit_order(self._builder, reference)
            if windows is not None:
                return self._look_up_window(windows, key)
            function = bounds_function(module, space, intervals, key.type, environment.is_device)
            return self._builder.call(function, [key], "type_index")
        function = lookup_function(
            module,
            environment.object_space,
            space,
            verify=environment.debug,
            # The paper's COAL looks up at every call; sharing lookups is ours.
            share=self._mode.closed_world,
        )
        return self._builder.call(function, [self.address(reference)], "type_index")

    def _look_up_window(self, windows: Windows, key: Any) -> Any:
        builder, met = self._builder, self._site.type_indices
        space = self._environment.constant_space
        number = number_function(builder.module, space, windows.shift, key.type)
        self._window = builder.call(number, [key], "window")
        function = window_function(builder.module, windows, met)
        self._type_of_window = builder.call(function, [self._window], "type_index")
        return self._type_of_window

    def _intervals(self, known: Ranges) -> list[Interval]:
        """The ranges that hold objects of the site's classes, if it is known where they begin and
        no other address has to be told from them."""
        possible = self._site.type_indices
        return [each for each in enumerate(known.types) if each[1] in possible]

    def unless_zero(self, value: Any, otherwise: Callable[[], Any]) -> Any:
        builder = self._builder
        before = builder.block
        with builder.if_then(builder.icmp_unsigned("==", value, value.type(0))):
            other = otherwise()
            after = builder.block
        phi = builder.phi(value.type)
        phi.add_incoming(value, before)
        phi.add_incoming(other, after)
        return phi

    def confirm(self, value: Any, expected: Any) -> Any:
        same = self._builder.icmp_unsigned("==", value, expected)
        return self._builder.select(same, value, value.type(0))

    def require_type(self, type_index: Any, candidates: Sequence[Candidate]) -> None:
        builder = self._builder
        known, unknown = (builder.append_basic_block(name) for name in ("known", "no_type"))
        switch = builder.switch(type_index, unknown)
        for candidate in candidates:
            switch.add_case(candidate.type_index, known)
        builder.position_at_end(unknown)
        self._report()
        self._refused.append(builder.block)
        builder.position_at_end(known)

    def function_of_entry(self, entry: Any) -> Any:
        return self._tables.emit_entry(self._builder, self._call, entry)

    def function_of_type(self, type_index: Any, slot: int) -> Any:
        return self._tables.emit_row(self._builder, self._call, type_index)

    def call(self, function: Any) -> Any:
        result = self._builder.call(function, self._arguments)
        return None if isinstance(result.type, ir.VoidType) else result

    def call_directly(self, symbol: str) -> Any:
        return self.call(self._tables.function(symbol))

    def switch(self, type_index: Any, cases: Sequence[tuple[Sequence[int], str]]) -> Any:
        if self._type_of_window is not None and type_index is self._type_of_window:
            return self._switch_on_window(cases)
        builder = self._builder
        other = builder.append_basic_block("other")
        switch = builder.switch(type_index, other)
        if self._mode.closed_world and not self.debug:
            # No other class can come: the largest case needs no comparison.
            *cases, (_, common) = sorted(cases, key=lambda case: len(case[0]))
            at_other: Callable[[], Any] = partial(self.call_directly, common)
        else:
            at_other = self.refuse
        return self._merge_cases(switch, cases, (other, at_other))

    def _switch_on_window(self, cases: Sequence[tuple[Sequence[int], str]]) -> Any:
        """One branch from the window to the body. Left to LLVM, window to type may become a load
        from a table."""
        windows = self._environment.ranges().windows
        assert windows is not None
        nowhere = self._builder.append_basic_block("nowhere")
        switch = self._builder.switch(self._window, nowhere)
        with self._builder.goto_block(nowhere):
            self._builder.unreachable()
        types = types_by_number(windows, self._site.type_indices)
        numbers = [
            ([number for number, each in enumerate(types) if each in type_indices], symbol)
            for type_indices, symbol in cases
        ]
        return self._merge_cases(switch, numbers)

    def _merge_cases(
        self,
        switch: ir.SwitchInstr,
        cases: Sequence[tuple[Sequence[int], str]],
        other: tuple[ir.Block, Callable[[], Any]] | None = None,
    ) -> Any:
        """Calls at the cases of a switch, and maybe what happens at its default; the result."""
        builder = self._builder
        blocks: list[tuple[ir.Block, Callable[[], Any]]] = []
        for values, symbol in cases:
            block = builder.append_basic_block("case")
            for value in values:
                switch.add_case(I32(value), block)
            blocks.append((block, partial(self.call_directly, symbol)))
        if other is not None:
            blocks.append(other)
        end = builder.append_basic_block("called")
        results = []
        for block, call in blocks:
            builder.position_at_end(block)
            results.append((call(), builder.block))
            builder.branch(end)
        builder.position_at_end(end)
        return self._merge(results)

    def refuse(self) -> Any:
        """Report, and the result of a call that nothing answers."""
        self._report()
        return self.no_result()

    def finish(self, result: Any) -> Any:
        """The result of the call, whichever way it went."""
        if not self._refused:
            return result
        builder = self._builder
        end = builder.append_basic_block("end")
        results = [(result, builder.block)]
        builder.branch(end)
        for block in self._refused:
            builder.position_at_end(block)
            builder.branch(end)
            results.append((self.no_result(), block))
        builder.position_at_end(end)
        return self._merge(results)

    def no_result(self) -> Any:
        """Zero of the result's type."""
        type = self._call.signature.return_type
        return None if isinstance(type, ir.VoidType) else ir.Constant(type, None)

    def _merge(self, results: Sequence[tuple[Any, ir.Block]]) -> Any:
        type = self._call.signature.return_type
        if isinstance(type, ir.VoidType):
            return None
        phi = self._builder.phi(type, "result")
        for value, block in results:
            phi.add_incoming(value, block)
        return phi

    def _report(self) -> None:
        if self.debug:
            self._call.report(self._builder, self._arguments[0])

    @property
    def _call(self) -> VirtualCall:
        if isinstance(self._site, VirtualCall):
            return self._site
        raise LoweringError("a type test calls no function")

"""Removes what nobody needs: values that are computed and not used, and what loops carry and
branches yield for nobody.

Everything counts as unused until something that has an effect needs it, so a value that a loop
carries only to compute itself goes, too.

    %n, %old = for 0, 10, 1, %a, %b (%i, %n, %old) {            %n = for 0, 10, 1, %a (%i, %n) {
      %m = binary %n, %i <operator = "add">               ->      %m = binary %n, %i <...>
      continue %m, %n                                             continue %m
    } (%n, %old) { yield %n, %old }                             } (%n) { yield %n }
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Operation, Program, Region, Value
from ..operations import Effects, effects_of, kind_of

_MAY_GO = Effects.READS
_LOOP_BOUNDS = {"for": 3, "while": 0}
#: Operands of terminators that come before what they pass on.
_BEFORE = {"condition": 1}


def remove_unused(program: Program, debug: bool) -> None:
    """In ``debug`` mode operations stay that are checked, and may be reported."""
    for function in program.functions.values():
        remove_unused_in(function.body, debug)


def remove_unused_in(body: Region, debug: bool = False) -> None:
    """The same in the body of a function."""
    _Body(body, debug).run()


class _Body:
    def __init__(self, body: Region, debug: bool) -> None:
        self._body, self._debug = body, debug
        self._needed: set[Value] = set()
        self._kept: set[Operation] = set()
        self._pending: list[Value] = []
        #: By argument or result of a loop, or result of an ``if``: its operation and its number.
        self._passed: dict[Value, tuple[Operation, int]] = {}
        #: The terminators that pass values on to an operation.
        self._passing: dict[Operation, list[Operation]] = {}
        #: Those that pass something on to an operation of which nobody knows what it does with it.
        self._whole: set[Operation] = set()

    def run(self) -> None:
        self._note(self._body, None, None)
        self._keep_rooted(self._body)
        while self._pending:
            self._follow(self._pending.pop())
        self._clean(self._body)

    def _note(self, region: Region, holder: Operation | None, loop: Operation | None) -> None:
        """Who passes what to whom. ``holder`` has the region, ``loop`` is the innermost one."""
        for operation in region.operations:
            kind = operation.kind
            target = loop if kind in ("continue", "break", "condition") else holder
            if kind in ("yield", "continue", "break", "condition") and target is not None:
                if kind_of(target) is None:
                    self._whole.add(operation)
                else:
                    self._passing[target].append(operation)
            if kind_of(operation) is None:
                for inner in operation.regions:
                    self._note(inner, operation, loop)
                continue
            if not operation.regions:
                continue
            self._passing[operation] = []
            for number, result in enumerate(operation.results):
                self._passed[result] = operation, number
            skipped = _LOOP_BOUNDS.get(operation.kind)
            for place, inner in enumerate(operation.regions):
                is_body = skipped is not None and inner is not operation.regions[-1]
                own = 1 if operation.kind == "for" and place == 0 else 0
                for number, argument in enumerate(inner.arguments[own:]):
                    self._passed[argument] = operation, number
                self._note(inner, operation, operation if is_body else loop)

    def _keep_rooted(self, region: Region) -> None:
        """Keep what has effects, with all operations around it."""
        for operation in region.operations:
            for inner in operation.regions:
                self._keep_rooted(inner)
            if self._is_rooted(operation):
                self._keep(operation)

    def _is_rooted(self, operation: Operation) -> bool:
        kind = kind_of(operation)
        if kind is None or kind.is_terminator:
            return True
        if operation.regions:
            own = effects_of(operation) & ~_MAY_GO
            return own != Effects.NOTHING or any(
                inner in self._kept
                for region in operation.regions
                for inner in region.operations
                if not (kind_of(inner) or kind).is_terminator
            )
        if self._debug and kind.checked:
            return True
        return effects_of(operation) & ~_MAY_GO != Effects.NOTHING

    def _keep(self, operation: Operation) -> None:
        if operation in self._kept:
            return
        self._kept.add(operation)
        for operand in self._own_operands(operation):
            self._need(operand)

    def _own_operands(self, operation: Operation) -> Sequence[Value]:
        """Operands that it needs itself, beside those that it passes on."""
        if operation.kind in ("yield", "continue", "break"):
            return operation.operands if operation in self._whole else ()
        if operation.kind in _BEFORE:
            return operation.operands[: _BEFORE[operation.kind]]
        if operation.kind in _LOOP_BOUNDS:
            return operation.operands[: _LOOP_BOUNDS[operation.kind]]
        return operation.operands

    def _need(self, value: Value) -> None:
        if value not in self._needed:
            self._needed.add(value)
            self._pending.append(value)

    def _follow(self, value: Value) -> None:
        passed = self._passed.get(value)
        if passed is None:
            if value.source is not None:
                self._keep(value.source)
            return
        operation, number = passed
        self._keep(operation)
        for each in self._same(operation, number):
            self._need(each)

    def _same(self, operation: Operation, number: int) -> list[Value]:
        """All that stands for one value which is passed on: to be kept or dropped together."""
        found = [operation.results[number]] if operation.results else []
        for terminator in self._passing[operation]:
            found.append(terminator.operands[_BEFORE.get(terminator.kind, 0) + number])
        skipped = _LOOP_BOUNDS.get(operation.kind)
        if skipped is not None:
            found.append(operation.operands[skipped + number])
            for place, region in enumerate(operation.regions):
                own = 1 if operation.kind == "for" and place == 0 else 0
                found.append(region.arguments[own + number])
        return found

    # ------------------------------------------------------------ removal

    def _clean(self, region: Region) -> None:
        region.operations = [each for each in region.operations if each in self._kept]
        for operation in region.operations:
            if operation in self._passing:
                self._drop_passed(operation)
            for inner in operation.regions:
                self._clean(inner)

    def _drop_passed(self, operation: Operation) -> None:
        count = len(operation.results)
        kept = [n for n in range(count) if operation.results[n] in self._needed]
        if len(kept) == count:
            return
        for terminator in self._passing[operation]:
            _keep_only(terminator.operands, _BEFORE.get(terminator.kind, 0), kept)
        skipped = _LOOP_BOUNDS.get(operation.kind)
        if skipped is not None:
            _keep_only(operation.operands, skipped, kept)
            for place, region in enumerate(operation.regions):
                _keep_only(
                    region.arguments, 1 if operation.kind == "for" and not place else 0, kept
                )
        operation.results = [operation.results[n] for n in kept]


def _keep_only(values: list[Value], start: int, kept: Sequence[int]) -> None:
    values[start:] = [values[start + number] for number in kept]

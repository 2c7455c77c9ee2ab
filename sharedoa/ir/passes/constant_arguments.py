"""Scalar parameters that are the same number in all calls become that number, and what is computed
from constants is computed here: branches of which the answer is known then, go.

What the launch says of the kernel's parameters (``Facts.constant``), or the source of arguments,
goes from call to call. As long as no call was seen that passes something else, a parameter is taken
for what those so far have passed, and calls that are not reached then do not count: so functions
that pass on to themselves, or to each other in a circle, what they were given leave it a constant
(sparse conditional constant propagation, Wegman and Zadeck, TOPLAS 1991).

    kernel (%n: i32 = 2) {                             kernel (%n: i32) {
      %two: i32 = constant <value = 2>                   %two: i32 = constant <value = 2>
      %few: bool = compare %n, %two <operator = "le">    A
      if %few { A; yield } else { B; yield }      ->
    }                                                  }

Results are those of the same code without constants, bit for bit. So what functions are given that
LLVM computes otherwise than the machine is not taken from launches (``library_arguments``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...location import Location
from ..core import Function, Operation, Program, Region, Value, operations_in
from ..evaluation import Known, evaluated, same
from ..frozen import FrozenPlace
from ..job import Job
from ..library_arguments import exact_parameters
from ..number_parts import KnownStruct
from ..rewrite import make, replace_uses
from .calls import callees, is_known

KnownValues = Mapping[Value, Known]


def fold_constants(program: Program, job: Job) -> None:
    if not all(map(is_known, operations_in(program))):
        return  # it may call any function with anything
    exact = exact_parameters(program, job.target.is_device)
    constants = [_known(job, n) if is_exact else None for n, is_exact in enumerate(exact)]
    for symbol, known in _Given(program, constants).known.items():
        _Rewriter(program.functions[symbol], known).run()


def _known(job: Job, parameter: int) -> Known:
    frozen = job.facts.frozen(parameter)
    if frozen is not None:
        return FrozenPlace(frozen)
    struct = job.facts.struct(parameter)
    return job.facts.constant(parameter) if struct is None else struct


class _Given:
    """What functions are given, by all calls that may be reached. ``known``: by function that is
    called, what values in it are known, or None if they are not."""

    def __init__(self, program: Program, constants: Sequence[Known]) -> None:
        """``constants``: what the launch gives the kernel."""
        self._functions = program.functions
        self._parameters: dict[str, list[Known]] = {}
        self.known: dict[str, dict[Value, Known]] = {}
        self._pending: list[str] = []
        self._call(program.kernel.symbol, constants)
        while self._pending:
            self._look_at(self._pending.pop())

    def _call(self, symbol: str, arguments: Sequence[Known]) -> None:
        """Note a call with arguments of which these are known."""
        before = self._parameters.get(symbol)
        after = [*arguments]
        if before is not None:
            pairs = zip(before, arguments, strict=True)
            after = [known if same(known, given) else None for known, given in pairs]
        if before is None or not all(map(same, before, after)):
            self._parameters[symbol] = after
            self._pending.append(symbol)

    def _look_at(self, symbol: str) -> None:
        function = self._functions[symbol]
        known = dict(zip(function.parameters, self._parameters[symbol], strict=True))
        self.known[symbol] = known
        self._region(function.body, known)

    def _region(self, region: Region, known: dict[Value, Known]) -> bool:
        """Look at what is run of a region; whether control comes to its ``yield``."""
        for operation in region.operations:
            given = [known.get(operand) for operand in operation.operands]
            if operation.kind == "if":
                ends = [self._region(arm, known) for arm in _arms(operation, known)]
                if not any(ends):
                    return False
                self._merge(operation, known)
                continue
            for inner in operation.regions:
                self._region(inner, known)
            for symbol in callees(operation):
                self._call(symbol, given)
            if len(operation.results) == 1 and not operation.regions:
                known[operation.result] = evaluated(operation, given)
        return region.terminator.kind == "yield"

    def _merge(self, branch: Operation, known: dict[Value, Known]) -> None:
        """What the results of a branch are: the same in all arms that yield."""
        ends = [arm.terminator for arm in _arms(branch, known)]
        for number, result in enumerate(branch.results):
            first, *rest = [known.get(e.operands[number]) for e in ends if e.kind == "yield"]
            known[result] = first if all(same(first, each) for each in rest) else None


def _arms(branch: Operation, known: KnownValues) -> list[Region]:
    """The arms of a branch that may be run."""
    test = known.get(branch.operands[0])
    then, otherwise = branch.regions
    return [then, otherwise] if test is None else [then if test else otherwise]


class _Rewriter:
    """Puts constants, and the arms of branches that are run, in the place of what made them."""

    def __init__(self, function: Function, known: KnownValues) -> None:
        self._function, self._known = function, known
        self._replaced: dict[Value, Value] = {}

    def run(self) -> None:
        body = self._function.body
        constants = self._constants(body.arguments, self._function.location)
        self._region(body)
        body.operations[:0] = constants
        # What an arm yields may have been replaced later.
        final = {value: self._final(value) for value in self._replaced}
        replace_uses(self._function, final)

    def _final(self, value: Value) -> Value:
        while value in self._replaced:
            value = self._replaced[value]
        return value

    def _region(self, region: Region) -> None:
        pending = [*reversed(region.operations)]
        following: list[Operation] = []
        while pending:
            operation = pending.pop()
            arms = _arms(operation, self._known) if operation.kind == "if" else []
            if len(arms) == 1 and self._may_stand_in(arms[0], region):
                *rest, end = arms[0].operations
                if end.kind == "yield":
                    yielded = map(self._final, end.operands)
                    self._replaced.update(zip(operation.results, yielded, strict=True))
                else:
                    rest, pending = [*rest, end], []  # what follows is not reached
                pending += reversed(rest)
                continue
            test = self._known.get(operation.operands[0]) if operation.kind == "select" else None
            if test is not None:
                self._replaced[operation.result] = self._final(operation.operands[1 if test else 2])
                continue
            for inner in operation.regions:
                self._region(inner)
            if operation.kind not in ("constant", "zero"):
                following += self._constants(operation.results, operation.location)
            following.append(operation)
        region.operations = following

    def _may_stand_in(self, arm: Region, region: Region) -> bool:
        # The test of a loop ends with its condition.
        return arm.terminator.kind == "yield" or region.terminator.kind != "condition"

    def _constants(self, values: Sequence[Value], location: Location) -> list[Operation]:
        """Constants instead of those of the values that are known."""
        made = []
        for value in values:
            number = self._known.get(value)
            if number is None or isinstance(number, (FrozenPlace, KnownStruct)):
                continue
            constant = make("constant", [], location, [value.type], value=number)
            constant.result.name = value.name
            self._replaced[value] = constant.result
            made.append(constant)
        return made

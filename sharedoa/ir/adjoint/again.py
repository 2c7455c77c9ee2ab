"""What the way back may load again instead of keeping it: memory that the program does not change,
where it is certain to be as it was when the way back comes to it.

Recomputation first: "Reverse-Mode Automatic Differentiation and Optimization of GPU Kernels via
Enzyme" (Moses et al., SC 2021), section on caching, keeps what is overwritten alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.types import ArrayType
from ..core import LvalueType, Operation, Program, Value, operations_in, root_of
from ..operations import kind_of
from ..roles import EVERYTHING, Role, element_role, may_meet, role_of

_KINDS = frozenset({"field", "element", "reference", "array"})
"""Of roles: what lies in the heap."""


class Again:
    """``roles``: in which memory must be as it was; ``arrays``: the elements of which parameters of
    the kernel, by number; ``apart``: pairs of parameters that may then not be parts of one array.
    Without a program nothing is loaded again."""

    def __init__(self, program: Program | None = None) -> None:
        self.roles: set[Role] = set()
        self.arrays: set[int] = set()
        self.apart: set[tuple[int, int]] = set()
        self._parameters: list[Value] = [] if program is None else program.kernel.parameters
        self._stored: frozenset[Role] = frozenset([EVERYTHING])
        #: Parameters of which elements are stored to, with their roles.
        self._stored_arrays: dict[int, Role] = {}
        if program is not None:
            self._stored, arrays = stored_places(program)
            for number in arrays:
                type = self._parameters[number].type
                self._stored_arrays[number] = (
                    element_role(type.element) if isinstance(type, ArrayType) else EVERYTHING
                )

    def __bool__(self) -> bool:
        return bool(self.roles or self.arrays)

    def loads(self, load: Operation) -> bool:
        """Note that the result of a load is asked for; whether it can be loaded again."""
        lvalue = load.operands[0]
        role = role_of(lvalue)
        if not role or role[0] not in _KINDS:
            return False
        if any(may_meet(role, each) for each in self._stored):
            return False
        number = array_of(lvalue, self._parameters)
        stored = [n for n, each in self._stored_arrays.items() if may_meet(role, each)]
        if number in stored or (stored and number is None):
            return False
        if number is None:
            self.roles.add(role)
        else:
            self.arrays.add(number)
            self.apart.update((number, each) for each in stored)
        return True


def stored_places(program: Program) -> tuple[frozenset[Role], frozenset[int]]:
    """What a program may change: roles, but of arrays that are parameters of the kernel, their
    numbers."""
    roles: set[Role] = set()
    arrays: set[int] = set()
    for operation in operations_in(program):
        kind = kind_of(operation)
        if kind is None:
            return frozenset([EVERYTHING]), frozenset()
        if not kind.changes:
            continue
        lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
        for lvalue in lvalues:
            number = array_of(lvalue, program.kernel.parameters)
            if number is None:
                roles.add(role_of(lvalue))
            else:
                arrays.add(number)
        if not lvalues:
            roles.add(EVERYTHING)
    return frozenset(roles), frozenset(arrays)


def array_of(lvalue: Value, parameters: Sequence[Value]) -> int | None:
    """The number of the parameter that is the array of which an element is named, if it is one."""
    root = root_of(lvalue)
    if root is None or root.kind != "element":
        return None
    array = root.operands[0]
    while array.source is not None and array.source.kind == "slice":
        array = array.source.operands[0]
    return next((n for n, each in enumerate(parameters) if each is array), None)

"""What LLVM is told of roles (``ir.roles``): type-based alias metadata, as accesses in different
roles never meet, and ``invariant.load`` for memory in a role that the program stores to nowhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from llvmlite import ir

from ..ir.core import Program
from ..ir.roles import EVERYTHING, Role, element_role, kin_of, may_meet, stored_roles
from ..model.scalars import live_byte
from ..model.types import ArrayType
from .types import I64


class RoleMetadata:
    """The metadata of the accesses of one program, in its module."""

    def __init__(self, module: ir.Module, program: Program) -> None:
        self._module = module
        self._stored = stored_roles(program)
        if any(each.type == ArrayType(live_byte) for each in program.kernel.parameters):
            # Who ends objects changes other bits there.
            self._stored |= {element_role(live_byte)}
        self._by_kin: dict[Role, list[Role]] = {}
        for role in self._stored:
            self._by_kin.setdefault(kin_of(role), []).append(role)
        self._is_stored: dict[Role, bool] = {}
        self._tags: dict[Role, Any] = {}

    @cached_property
    def _nothing(self) -> Any:
        return self._module.add_metadata([])

    def mark(self, access: ir.Instruction, role: Role) -> None:
        """Describe a load or store of a scalar in ``role``."""
        access.set_metadata("tbaa", self._tag(role))
        if isinstance(access, ir.LoadInstr) and not self.is_stored(role):
            access.set_metadata("invariant.load", self._nothing)

    def is_stored(self, role: Role) -> bool:
        """Whether the program writes to memory in ``role``, or to a part of it."""
        found = self._is_stored.get(role)
        if found is None:
            if role == EVERYTHING or EVERYTHING in self._stored:
                found = bool(self._stored)
            else:
                found = any(may_meet(role, each) for each in self._by_kin.get(kin_of(role), ()))
            self._is_stored[role] = found
        return found

    def _tag(self, role: Role) -> Any:
        found = self._tags.get(role)
        if found is None:
            add = self._module.add_metadata
            root = add(["sharedoa"])
            node = add([f"role {len(self._tags)}", root, I64(0)])
            found = self._tags[role] = add([node, node, I64(0)])
        return found

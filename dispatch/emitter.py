"""What a strategy needs from whoever writes code for it.

Strategies (``identify``, ``invoke``) are written once, against ``Emitter``; ``ptxpass.ir``
implements it over LLVM IR, ``ptxpass.text`` over PTX. An emitter stands at one virtual call or type
test and writes what comes in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Value = Any
"""A value of the code being written; only its emitter looks inside."""


class Candidate(Protocol):
    """A class that the receiver may have, and the function that the call then runs."""

    @property
    def type_index(self) -> int: ...

    @property
    def symbol(self) -> str: ...


class Emitter(Protocol):
    """Writes the code of one call. References and addresses are 64 bits wide, type indices and
    entries 32."""

    @property
    def debug(self) -> bool:
        """Whether a wrong type must be reported instead of being undefined behaviour."""
        ...

    def address(self, reference: Value) -> Value:
        """The address that a reference carries: without tag bits, if it has them."""
        ...

    def load(self, address: Value, offset: int, bits: int) -> Value:
        """``bits`` wide integer at ``address + offset`` in heap memory."""
        ...

    def vtable_pointer(self, address: Value) -> Value:
        """The vtable pointer that the object at ``address`` carries."""
        ...

    def type_tag(self, address: Value) -> Value:
        """The type index that the object at ``address`` carries itself."""
        ...

    def upper_bits(self, reference: Value, shift: int) -> Value:
        """``reference >> shift`` as 32 bits."""
        ...

    def look_up(self, reference: Value) -> Value:
        """The type index of the range that holds the object; 0 or undefined if there is none."""
        ...

    def unless_zero(self, value: Value, otherwise: Callable[[], Value]) -> Value:
        """``value``, or if that is 0 what ``otherwise`` writes."""
        ...

    def confirm(self, value: Value, expected: Value) -> Value:
        """``value``, or 0 if it differs from ``expected``."""
        ...

    def require_type(self, type_index: Value, candidates: Sequence[Candidate]) -> None:
        """Report, and end the call with a zero result, unless ``type_index`` is a candidate's."""
        ...

    def function_of_entry(self, entry: Value) -> Value:
        """The function at ``entry`` of the module's function table."""
        ...

    def function_of_type(self, type_index: Value, slot: int) -> Value:
        """The function of ``slot`` in the row of ``type_index`` of the module's row table."""
        ...

    def call(self, function: Value) -> Value:
        """Call through a function address, with the arguments of the call; its result."""
        ...

    def switch(self, type_index: Value, cases: Sequence[tuple[Sequence[int], str]]) -> Value:
        """Branch on the type index; each case (type indices, symbol) is a direct call."""
        ...

"""What the proxy of a deleted object has for a reference."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import HeapError


class DeletedReference:
    """Whoever computes with it, or would write it to memory, gets HeapError. It hashes as the
    reference did, and equals nothing else."""

    __slots__ = ("_address", "_class_name", "_hash")

    def __init__(self, reference: int, address: int, class_name: str) -> None:
        self._hash, self._address, self._class_name = hash(reference), address, class_name

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self._address:#x}, deleted"

    def __format__(self, how: str) -> str:
        if how:
            raise self.error()  # as a number: where addresses are looked up
        return repr(self)

    def error(self, where: str = "") -> HeapError:
        return HeapError(
            f"{where}the {self._class_name} at {self._address:#x} was deleted",
            "drop every reference to an object when deleting it",
        )

    def _refuse(self, *others: Any) -> NoReturn:
        raise self.error()

    __bool__ = __index__ = __int__ = __float__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __lshift__ = __rshift__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

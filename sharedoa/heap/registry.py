"""Which class lives at which address, for objects that lie anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..uninterrupted import BooksLock

Addresses = np.ndarray[Any, np.dtype[np.uint64]]
TypeIndices = np.ndarray[Any, np.dtype[np.uint32]]
NO_TYPE = 0
_MOST_RECENT = 1024


class Registry:
    """Arrays sorted by address: type indices and serial numbers of addition. A few recent additions
    wait in a dictionary, so that objects made one by one do not sort the arrays each time. The host
    looks without the heap's lock, and looking may settle these.
    """

    def __init__(self) -> None:
        self._sorted: Addresses = np.zeros(0, np.uint64)
        self._types: TypeIndices = np.zeros(0, np.uint32)
        self._serials = np.zeros(0, np.int64)
        self._next_serial = 0
        self._recent: dict[int, int] = {}
        self._lock = BooksLock()

    def add(self, addresses: Addresses, type_index: int) -> None:
        with self._lock:
            if len(self._recent) + len(addresses) <= _MOST_RECENT:
                self._recent.update(dict.fromkeys(addresses.tolist(), type_index))
                return
            self._settle()
            self._merge(addresses, np.full(len(addresses), type_index, np.uint32))

    def find(self, address: int) -> int:
        """The type index at ``address``, or 0."""
        with self._lock.plain:
            recent = self._recent.get(address)
            if recent is not None:
                return recent
            index = int(np.searchsorted(self._sorted, np.uint64(address)))
            if index < len(self._sorted) and self._sorted[index] == address:
                return int(self._types[index])
            return NO_TYPE

    def find_all(self, addresses: Addresses) -> TypeIndices:
        """The type index at each address, 0 where there is none."""
        with self._lock:
            self._settle()
            found = np.zeros(len(addresses), np.uint32)
            if len(self._sorted):
                index = np.searchsorted(self._sorted, addresses)
                index[index == len(self._sorted)] = 0
                known = self._sorted[index] == addresses
                found[known] = self._types[index[known]]
            return found

    def remove(self, addresses: Addresses) -> None:
        """Forget addresses that are known."""
        with self._lock:
            few = addresses[: _MOST_RECENT + 1].tolist()
            if len(few) <= _MOST_RECENT and all(address in self._recent for address in few):
                for address in few:
                    del self._recent[address]
                return
            self._settle()
            keep = np.ones(len(self._sorted), np.bool_)
            keep[np.searchsorted(self._sorted, addresses)] = False
            left = self._sorted[keep], self._types[keep], self._serials[keep]
            self._sorted, self._types, self._serials = left

    def of_type(self, type_index: int) -> Addresses:
        """The addresses of one type, in the order in which they were added."""
        with self._lock:
            self._settle()
            chosen = self._types == type_index
            found: Addresses = self._sorted[chosen][np.argsort(self._serials[chosen])]
            return found

    def addresses(self) -> Addresses:
        """All addresses, sorted."""
        with self._lock:
            self._settle()
            return self._sorted

    def types(self) -> TypeIndices:
        """The type index at each of ``addresses``."""
        with self._lock:
            self._settle()
            return self._types

    def _settle(self) -> None:
        if self._recent:
            addresses = np.fromiter(self._recent.keys(), np.uint64, len(self._recent))
            types = np.fromiter(self._recent.values(), np.uint32, len(self._recent))
            self._merge(addresses, types)
            self._recent.clear()

    def _merge(self, addresses: Addresses, types: np.ndarray[Any, Any]) -> None:
        count = len(types)
        addresses = np.concatenate([self._sorted, addresses])
        order = np.argsort(addresses, kind="stable")
        types = np.concatenate([self._types, types])
        serials = np.arange(self._next_serial, self._next_serial + count)
        serials = np.concatenate([self._serials, serials])
        addresses, types, serials = addresses[order], types[order], serials[order]
        # Nothing below can fail.
        self._sorted, self._types, self._serials = addresses, types, serials
        self._next_serial += count

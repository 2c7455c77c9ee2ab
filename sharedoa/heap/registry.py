"""Which class lives at which address, for objects that lie anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch.births import BORN, LIVED
from dispatch.dataclass import dataclass, fields

from ..uninterrupted import BooksLock

Addresses = np.ndarray[Any, np.dtype[np.uint64]]
TypeIndices = np.ndarray[Any, np.dtype[np.uint32]]
States = np.ndarray[Any, np.dtype[np.uint8]]
"""One byte a place: the bits of ``dispatch.births``."""
NO_TYPE = 0
_MOST_RECENT = 1024


@dataclass
class _Places:
    """One element a place, sorted by address. ``serials``: numbers of additions, of which objects
    that were made later have higher ones; ``freed``: with which deletion the last object went."""

    addresses: Addresses
    types: TypeIndices
    states: States
    serials: np.ndarray[Any, np.dtype[np.int64]]
    freed: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, addresses: Addresses, types: Any, state: int, first_serial: int) -> _Places:
        count = len(addresses)
        return cls(
            addresses,
            np.broadcast_to(np.asarray(types, np.uint32), count),
            np.full(count, state, np.uint8),
            np.arange(first_serial, first_serial + count),
            np.zeros(count, np.int64),
        )

    def chosen(self, which: Any) -> _Places:
        return _Places(*(getattr(self, each.name)[which] for each in fields(self)))

    def joined(self, others: _Places) -> _Places:
        """Both together, sorted."""
        pairs = ((getattr(self, f.name), getattr(others, f.name)) for f in fields(self))
        both = _Places(*map(np.concatenate, pairs))
        return both.chosen(np.argsort(both.addresses, kind="stable"))


class Registry:
    """Places for objects, each of one class; in some an object lives, in others none does. A few
    recent objects wait in a dictionary, so that those made one by one do not sort the arrays each
    time. The host looks without the heap's lock, and looking may settle these.
    """

    def __init__(self) -> None:
        self._places = _Places.of(np.zeros(0, np.uint64), NO_TYPE, 0, 0)
        self._next_serial = 0
        self._recent: dict[int, int] = {}
        self._lock = BooksLock()
        #: Raised when there are other places.
        self.version = 0
        #: Raised when there are, or others of them have objects.
        self.changes = 0

    # ------------------------------------------------------------------ objects

    def add(self, addresses: Addresses, type_index: int) -> None:
        """Objects in new places."""
        with self._lock:
            if len(self._recent) + len(addresses) <= _MOST_RECENT:
                self._recent.update(dict.fromkeys(addresses.tolist(), type_index))
                self._note_places()
                return
            self._settle()
            self._merge(addresses, type_index, LIVED)

    def find(self, address: int) -> int:
        """The type index of the object at ``address``, or 0."""
        with self._lock.plain:
            recent = self._recent.get(address)
            if recent is not None:
                return recent
            places = self._places
            index = int(np.searchsorted(places.addresses, np.uint64(address)))
            if index == len(places.addresses) or places.addresses[index] != address:
                return NO_TYPE
            return int(places.types[index]) if places.states[index] & (LIVED | BORN) else NO_TYPE

    def find_all(self, addresses: Addresses) -> TypeIndices:
        """The type index of the object at each address, 0 where there is none."""
        with self._lock:
            indices, known = self._indices(addresses)
            found = np.zeros(len(addresses), np.uint32)
            known[known] = self._places.states[indices[known]] & (LIVED | BORN) != 0
            found[known] = self._places.types[indices[known]]
            return found

    def of_type(self, type_index: int) -> Addresses:
        """The addresses of the objects of one type, in the order in which they were made."""
        with self._lock:
            self._settle()
            places = self._places
            chosen = (places.types == type_index) & (places.states & (LIVED | BORN) != 0)
            found: Addresses = places.addresses[chosen][np.argsort(places.serials[chosen])]
            return found

    def remove(self, addresses: Addresses) -> None:
        """Forget these places, which are known."""
        with self._lock:
            few = addresses[: _MOST_RECENT + 1].tolist()
            if len(few) <= _MOST_RECENT and all(address in self._recent for address in few):
                for address in few:
                    del self._recent[address]
                self._note_places()
                return
            indices = self._known(addresses)
            keep = np.ones(len(self._places.addresses), np.bool_)
            keep[indices] = False
            self._places = self._places.chosen(keep)
            self._note_places()

    # ------------------------------------------------------------------ places without objects

    def add_free(self, addresses: Addresses, type_index: int) -> None:
        """New places without objects."""
        with self._lock:
            self._settle()
            self._merge(addresses, type_index, 0)

    def free(self, addresses: Addresses, deletion: int) -> None:
        """The objects there are gone with that deletion; their places stay."""
        with self._lock:
            indices = self._known(addresses)
            # Nothing below can fail.
            self._places.states[indices] = 0
            self._places.freed[indices] = deletion
            self.changes += 1

    def take(self, addresses: Addresses) -> None:
        """There are objects in these places from now on, one made after the other."""
        with self._lock:
            indices = self._known(addresses)
            serials = np.arange(self._next_serial, self._next_serial + len(indices))
            # Nothing below can fail.
            self._places.states[indices] = LIVED
            self._places.serials[indices] = serials
            self._next_serial += len(indices)
            self.changes += 1

    def freed_after(self, addresses: Addresses, deletions: int) -> np.ndarray[Any, Any]:
        """In which of these places, which are known, the last object that is gone went after so
        many deletions."""
        with self._lock:
            indices = self._known(addresses)
            after: np.ndarray[Any, Any] = self._places.freed[indices] > deletions
            return after

    # ------------------------------------------------------------------ states of places

    def state(self, address: int) -> int:
        """The byte of a place; 0 for an address that is none."""
        with self._lock:
            indices, known = self._indices(np.array([address], np.uint64))
            return int(self._places.states[indices[0]]) if known[0] else 0

    def states_of(self, addresses: Addresses) -> States:
        """The bytes of places that are known."""
        with self._lock:
            indices = self._known(addresses)
            found: States = self._places.states[indices]
            return found

    def set_states(self, addresses: Addresses, states: Any) -> None:
        """Other bytes for these places; what is no place any more is left out."""
        with self._lock:
            indices, known = self._indices(addresses)
            values = np.broadcast_to(np.asarray(states, np.uint8), len(addresses))
            self._places.states[indices[known]] = values[known]
            self.changes += 1

    def marked(self, bits: int) -> Addresses:
        """The places whose bytes have any of these bits, by address."""
        with self._lock:
            self._settle()
            found: Addresses = self._places.addresses[self._places.states & bits != 0]
            return found

    # ------------------------------------------------------------------ everything

    def addresses(self) -> Addresses:
        """All places, sorted. The array does not change."""
        with self._lock:
            self._settle()
            return self._places.addresses

    def types(self) -> TypeIndices:
        """The type index of each of ``addresses``."""
        with self._lock:
            self._settle()
            return self._places.types

    def states(self) -> States:
        """A copy of the byte of each of ``addresses``."""
        with self._lock:
            self._settle()
            return self._places.states.copy()

    def _known(self, addresses: Addresses) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The numbers of places that are known."""
        indices, known = self._indices(addresses)
        assert known.all(), "places that nobody knows"
        return indices

    def _indices(self, addresses: Addresses) -> tuple[np.ndarray[Any, np.dtype[np.intp]], Any]:
        """The number of each place, and whether it is one."""
        self._settle()
        every = self._places.addresses
        if not len(every):
            return np.zeros(len(addresses), np.intp), np.zeros(len(addresses), np.bool_)
        indices = np.searchsorted(every, addresses)
        indices[indices == len(every)] = 0
        return indices, every[indices] == addresses

    def _settle(self) -> None:
        if self._recent:
            addresses = np.fromiter(self._recent.keys(), np.uint64, len(self._recent))
            types = np.fromiter(self._recent.values(), np.uint32, len(self._recent))
            self._merge(addresses, types, LIVED)
            self._recent.clear()

    def _merge(self, addresses: Addresses, types: Any, state: int) -> None:
        places = _Places.of(addresses, types, state, self._next_serial)
        merged = self._places.joined(places)
        # Nothing below can fail.
        self._places = merged
        self._next_serial += len(addresses)
        self._note_places()

    def _note_places(self) -> None:
        self.version += 1
        self.changes += 1

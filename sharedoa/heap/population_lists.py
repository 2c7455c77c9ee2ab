"""Arrays of all objects of a class that kernels have made and ended here and there: a device writes
them by itself, where the host would have to fetch which slots live."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from weakref import ref

from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from ..model.reference import ReferenceEncoding
from ..model.types import ReferenceType
from .array_memory import ArrayStorage
from .by_type import ByTypePlacement
from .extents import Extent, Extents, NoRoom
from .object_moves import numbers_of
from .slot_lists import Listing, SlotLists
from .slots_on_device import count_living


@dataclass(eq=False)
class _List:
    """References in ``extent``, of the population of that version, which ``storage`` is for."""

    extent: Extent
    version: tuple[int, int]
    storage: ref[ArrayStorage]


class PopulationLists:
    """Of one heap, for kernels that are launched at once: the caller lets nobody keep them."""

    def __init__(
        self,
        extents: Extents,
        placement: ByTypePlacement,
        encoding: ReferenceEncoding,
        lists: Callable[[], SlotLists],
        retire: Callable[[Extent], None],
    ) -> None:
        self._extents, self._placement = extents, placement
        self._encoding, self._new_lists, self._retire = encoding, lists, retire
        self._of_class: dict[ClassType, _List] = {}
        #: Of others than the last population, as long as somebody launches with them.
        self._former: list[_List] = []
        #: Whether the device may still have to look which slots live.
        self.is_pending = False

    @cached_property
    def _lists(self) -> SlotLists:
        return self._new_lists()

    def has(self, storage: ArrayStorage | None) -> bool:
        """Whether this is the list of a class as it is now, until the population changes."""
        return storage is not None and any(
            each.storage() is storage for each in self._of_class.values()
        )

    def of(self, cls: ClassType, element: ReferenceType) -> ArrayStorage | None:
        """References to all objects of exactly this class, region by region, in order of slots.
        None where the host knows which live, or there is no memory for them. The caller holds the
        lock on the heap's books."""
        placement = self._placement
        if not any(region.is_known_to_device for region in placement.regions(cls)):
            return None
        version = placement.class_version(cls)
        known = self._of_class.get(cls)
        storage = known.storage() if known is not None else None
        if known is not None and storage is not None and known.version == version:
            return storage
        size = placement.count(cls) * self._encoding.dtype.itemsize
        try:
            extent = self._memory(cls, size)
        except NoRoom:
            return None
        if known is None or known.version != version or known.extent is not extent:
            self._write(cls, extent.address)
        made = ArrayStorage(extent.address, size, element, extent=extent)
        self._of_class[cls] = _List(extent, version, ref(made))
        return made

    def _memory(self, cls: ClassType, size: int) -> Extent:
        """For a list that nobody else uses. What was launched before may still read it."""
        for former in [each for each in self._former if each.storage() is None]:
            self._former.remove(former)
            self._retire(former.extent)
        known = self._of_class.get(cls)
        if known is not None and known.extent.size >= size and known.storage() is None:
            return known.extent
        made = self._extents.allocate(2 * size, from_top=True)
        if known is not None:
            self._former.append(known)
        return made

    def _write(self, cls: ClassType, address: int) -> None:
        item = self._encoding.dtype.itemsize
        self.is_pending = True
        regions = [region for region in self._placement.regions(cls) if region.used]
        count_living(self._placement, regions, self._lists)
        listings = []
        for region in regions:
            numbers = numbers_of(region, self._encoding)
            listings.append(Listing(region.slot_bytes, True, region.used, numbers, address, item))
            address += region.used * item
        self._lists.list_slots(listings)

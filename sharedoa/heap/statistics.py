"""What a heap holds, in numbers."""

from __future__ import annotations

from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from ..model.layout import Layout
from .placement import Placement


@dataclass(frozen=True)
class ClassStatistics:
    """Objects of exactly one class. Bytes are of objects alone, without tables."""

    objects: int
    regions: int
    bytes_reserved: int
    bytes_used: int

    @property
    def external_fragmentation(self) -> float:
        """The share of the reserved bytes that holds no object ("Judging a Type by Its Pointer",
        section 8.3, figure 10b); 0 if nothing is reserved."""
        if self.bytes_reserved == 0:
            return 0.0
        return 1.0 - self.bytes_used / self.bytes_reserved


@dataclass(frozen=True)
class HeapStatistics(ClassStatistics):
    """All objects of a heap; ``array_bytes`` are held by arrays, ``slab_bytes`` by the heap in all,
    at most ``capacity``. ``classes`` has every class that holds memory, by name."""

    array_bytes: int
    slab_bytes: int
    capacity: int
    classes: dict[str, ClassStatistics]


def heap_statistics(
    placement: Placement, layout: Layout, array_bytes: int, slab_bytes: int, capacity: int
) -> HeapStatistics:
    held = placement.holders()
    names = [cls.name for cls in held]
    classes = {
        # Two classes may have one name, say after a notebook cell ran again.
        cls.name if names.count(cls.name) == 1 else f"{cls.name}#{cls.type_index}":
            class_statistics(placement, layout, cls)
        for cls in held
    }  # fmt: skip
    found = classes.values()
    return HeapStatistics(
        objects=sum(c.objects for c in found),
        regions=sum(c.regions for c in found),
        bytes_reserved=sum(c.bytes_reserved for c in found),
        bytes_used=sum(c.bytes_used for c in found),
        array_bytes=array_bytes,
        slab_bytes=slab_bytes,
        capacity=capacity,
        classes=classes,
    )


def class_statistics(placement: Placement, layout: Layout, cls: ClassType) -> ClassStatistics:
    objects = placement.count(cls)
    return ClassStatistics(
        objects=objects,
        regions=placement.region_count(cls),
        bytes_reserved=placement.reserved(cls),
        bytes_used=objects * layout.record(cls).size,
    )

"""A heap's settings: what the caller gives, else the environment, else the default."""

from __future__ import annotations

from typing import Any

from dispatch.dataclass import dataclass
from dispatch.mode import Mode, parse_mode

from ..errors import ConfigurationError, HeapError
from ..model.foreign import any_foreign_class
from ..model.layout import Layout
from ..model.record import Header
from ..model.reference import NarrowReference, PlainReference, ReferenceEncoding, TaggedReference
from . import hooks
from .extents import SLAB_SIZE, claim_base
from .provider import HostProvider, total_memory

_MOST_TIMES = 64
"""A heap may be promised so many times the machine's memory: systems hand out more than they have,
as programs seldom use all."""


@dataclass(frozen=True)
class HeapSettings:
    """Everything that a heap is made from, checked."""

    mode: Mode
    backend: Any
    layout: Layout
    encoding: ReferenceEncoding
    capacity: int
    initial_region: int
    debug: bool
    fastmath: bool
    ordered: bool

    @classmethod
    def resolve(
        cls,
        mode: Any,
        backend: Any,
        layout: Any,
        capacity: Any,
        initial_region: Any,
        debug: Any,
        references: Any,
        fastmath: Any,
        ordered: Any,
    ) -> HeapSettings:
        """Raises ConfigurationError, naming what is valid, and BackendError."""
        from ..runtime import knobs

        chosen = parse_mode(knobs.mode.resolve(mode))
        layout_name = _layout_name(knobs.layout.resolve(layout), chosen)
        if not hasattr(backend, "free_memory"):  # not one that is open
            backend = hooks.open_backend(knobs.backend.resolve(backend))
        limit = knobs.capacity.resolve(capacity)
        encoding = _encoding(knobs.references.resolve(references), chosen, backend, limit)
        _require_possible(limit, backend)
        if limit is None:
            limit = min(backend.free_memory() // 2, encoding.reach // 2)
        # Measured: docs/performance.md. The paper's modes keep to the paper's records.
        tiles = chosen.by_population and backend.target.is_device
        return cls(
            mode=chosen,
            backend=backend,
            layout=Layout(
                layout_name,
                Header(chosen.header_size, chosen.header_alignment),
                tiles,
                in_regions=chosen.placement == "by_type",
                references=encoding,
            ),
            encoding=encoding,
            capacity=limit,
            initial_region=knobs.initial_region.resolve(initial_region),
            debug=knobs.debug.resolve(debug),
            fastmath=knobs.fastmath.resolve(fastmath),
            ordered=knobs.ordered.resolve(ordered),
        )


def _require_possible(capacity: int | None, backend: Any) -> None:
    """A capacity is an upper bound, so it may be more than the machine has, within reason."""
    if capacity is None or capacity <= _MOST_TIMES * total_memory():
        return
    there = total_memory() + backend.free_memory()
    if capacity > _MOST_TIMES * there:
        raise ConfigurationError(
            f"a capacity of {capacity:,} bytes is more than this machine can ever give: it has "
            f"{there:,} bytes of memory",
            f"use at most about {there >> 30} GiB, or leave it out for half of what is free",
        )


def _encoding(bits: str, mode: Mode, backend: Any, capacity: int | None) -> ReferenceEncoding:
    """``bits``: 32, 64 or auto. The first slab decides what they reach, and others may lie
    before or after it, so half as much is what surely fits."""
    can_be_narrow = mode.placement == "by_type" and not mode.tagged_references
    if bits == "32" and not can_be_narrow:
        reason = "carries types in references" if mode.tagged_references else "places one by one"
        raise ConfigurationError(
            f"references of 32 bits count from where a heap's regions lie, and mode {mode.name} "
            f"{reason}",
            "use references of 64 bits or auto, or another mode, such as auto or coal",
        )
    fits = capacity is None or capacity <= NarrowReference.reach // 2
    # Measured on processors only: docs/performance/cpu.md.
    wanted = mode.by_population and backend.name == "cpu" and fits
    narrow = NarrowReference()
    if bits == "32":
        return narrow
    if bits == "auto" and wanted and not any_foreign_class() and _has_base(narrow):
        return narrow
    return TaggedReference() if mode.tagged_references else PlainReference()


def _has_base(narrow: NarrowReference) -> bool:
    """Whether null has a place near the memory that the system gives now: other libraries may hold
    all addresses around it, as those of drivers do."""
    provider = HostProvider()
    try:
        slab = provider.allocate(SLAB_SIZE)
    except HeapError:
        return True  # who asks for objects is told
    try:
        claimed = claim_base(narrow, provider, slab.address)
        if claimed is not None:
            claimed[1]()
        return claimed is not None
    finally:
        provider.free(slab)


def _layout_name(name: str, mode: Mode) -> str:
    if mode.placement == "by_type":
        return name
    if name == "tile":
        raise ConfigurationError(
            f"layout tile puts objects side by side, and mode {mode.name} places them one by one",
            "use layout aos or auto, or a mode that places objects by type (any but cuda and "
            "concord)",
        )
    return "aos"

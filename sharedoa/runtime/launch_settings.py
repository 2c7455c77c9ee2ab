"""In which mode a launch runs, and whether in debug mode."""

from __future__ import annotations

from typing import Any

from dispatch.mode import Mode, parse_mode

from ..errors import ConfigurationError
from ..heap.heap import Heap
from . import knobs


def launch_settings(heap: Heap, mode: Any, debug: Any) -> tuple[Mode, bool]:
    """The mode and debug setting of one launch: its own where given, else the heap's.

    Raises ConfigurationError for a mode that cannot find types in the objects of ``heap``.
    """
    chosen = heap.mode if mode is None else parse_mode(knobs.mode.resolve(mode))
    lacks = _lacks(heap.mode, chosen)
    if lacks:
        raise ConfigurationError(
            f"mode {chosen.name} cannot run on a heap of mode {heap.mode.name}: {lacks}",
            f"create the objects in a heap of that mode: with oa.Heap(mode={chosen.name!r}): ...",
        )
    return chosen, heap.debug if debug is None else knobs.debug.resolve(debug)


def own_settings(heap: Heap, mode: Any, debug: Any) -> tuple[Mode, bool]:
    """``launch_settings`` of a launch that is going to run.

    Raises ConfigurationError also for a debug launch on a heap that does not keep the list of
    addresses which it would look them up in.
    """
    chosen, debug = launch_settings(heap, mode, debug)
    if debug and not heap.debug and heap.mode.placement == "scattered":
        raise ConfigurationError(
            f"a heap of mode {heap.mode.name} knows its objects only in debug mode",
            f"create it with oa.Heap(mode={heap.mode.name!r}, debug=True) or SHAREDOA_DEBUG=1",
        )
    return chosen, debug


def _lacks(held: Mode, wanted: Mode) -> str:
    """What objects placed for ``held`` lack of what ``wanted`` reads; empty if nothing."""
    match wanted.identify:
        case "range" if held.placement != "by_type":
            return "its objects are not placed by type"
        case "bits" if not held.tagged_references:
            return "its references carry no type"
        case "header" | "tag" if held.header != wanted.header:
            return "its objects have no such header"
    if wanted.spare_uniform and held.header != wanted.header:
        return "calls with one receiver for a whole warp read a header that its objects lack"
    return ""

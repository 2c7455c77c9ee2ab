"""Dispatch modes: where objects are placed, how their class is told, how the method is called.

The five modes of "Judging a Type by Its Pointer" are as the paper has them (sections 2, 4 to 6,
8): every virtual call is dispatched, also one that has a single candidate. The combinations
``IDENTIFY+INVOKE`` are ours: objects placed by type, no header that is not read, and a call with
one possible target is a direct call.
"""

from __future__ import annotations

from typing import Literal

from dispatch.dataclass import dataclass, replace

from .header_format import VTABLE_POINTER, HeaderFormat
from .identify import IDENTIFICATIONS
from .invoke import INVOCATIONS

Placement = Literal["scattered", "by_type"]


class ModeError(ValueError):
    """A name that is no mode; the message lists those that are."""


@dataclass(frozen=True)
class Mode:
    """``placement``: "scattered", each object where the platform's allocator puts it, or "by_type",
    in regions of one class. ``identify`` and ``invoke`` name the strategies.

    ``spare_uniform``: calls whose receiver is the same for a whole warp read the header instead
    (COAL's heuristic, section 5). ``closed_world``: the classes known when a kernel is compiled are
    all there are, so a call with one possible target is direct. ``by_population``: of these only
    classes that have room for objects in the heap are possible targets, and what is known of where
    their objects lie becomes part of the code.
    """

    name: str
    placement: Placement
    identify: str
    invoke: str
    header: HeaderFormat
    tagged_references: bool
    spare_uniform: bool
    closed_world: bool
    by_population: bool = False

    @property
    def header_size(self) -> int:
        """Bytes before an object's fields."""
        return self.header.size

    @property
    def header_alignment(self) -> int:
        return self.header.alignment

    @property
    def shares_loops(self) -> bool:
        """Whether threads of a GPU's warp share the iterations of their loops. Modes that are there
        to be compared leave loops as they are written."""
        return self.name == AUTO

    def header_bytes(self, type_index: int, vtable: int) -> bytes:
        """The ``header_size`` bytes that an object starts with; ``vtable`` is the address of word 0
        of the vtable record."""
        return self.header.pack(type_index, vtable)

    @property
    def explanation(self) -> str:
        """What the mode does, in one line."""
        where = "by type" if self.placement == "by_type" else "one by one"
        told = IDENTIFICATIONS[self.identify].SUMMARY
        text = f"objects placed {where}, class from the {told}, {self.invoke} call"
        if self.spare_uniform:
            text += ", except where a whole warp has one receiver"
        if self.name == AUTO:
            text += ", of classes that have objects, ranges or windows in the code"
        return text


AUTO = "auto"
_AUTO_CHOICE = "range+switch"


def _paper_mode(
    name: str,
    placement: Placement,
    identify: str,
    invoke: str,
    header: HeaderFormat | None = None,
    spare_uniform: bool = False,
) -> Mode:
    strategy = IDENTIFICATIONS[identify]
    return Mode(
        name,
        placement,
        identify,
        invoke,
        header or strategy.HEADERS[placement],
        strategy.TAGGED_REFERENCES,
        spare_uniform,
        closed_world=False,
    )


def _combination(identify: str, invoke: str) -> Mode:
    strategy = IDENTIFICATIONS[identify]
    return Mode(
        f"{identify}+{invoke}",
        "by_type",
        identify,
        invoke,
        strategy.HEADERS["by_type"],
        strategy.TAGGED_REFERENCES,
        spare_uniform=False,
        closed_world=True,
    )


def _all_modes() -> dict[str, Mode]:
    modes = [
        _paper_mode("cuda", "scattered", "header", "vtable"),
        _paper_mode("concord", "scattered", "tag", "switch"),
        _paper_mode("sharedoa", "by_type", "header", "vtable"),
        _paper_mode("coal", "by_type", "range", "vtable", VTABLE_POINTER, spare_uniform=True),
        _paper_mode("typepointer", "by_type", "bits", "vtable", VTABLE_POINTER),
    ]
    modes += [_combination(i, j) for i in IDENTIFICATIONS for j in INVOCATIONS]
    named = {mode.name: mode for mode in modes}
    named[AUTO] = replace(named[_AUTO_CHOICE], name=AUTO, by_population=True)
    return named


_MODES = _all_modes()
MODES: tuple[str, ...] = tuple(_MODES)
"""Every valid name: the paper's five, the combinations, ``auto``."""


def parse_mode(text: str) -> Mode:
    """The mode of that name, in any case, with or without spaces around ``+``.

    Raises ModeError, with the valid names, for anything else.
    """
    name = "".join(str(text).split()).lower()
    mode = _MODES.get(name)
    if mode is None:
        raise ModeError(f"unknown mode {text!r}; valid modes are {', '.join(MODES)}")
    return mode

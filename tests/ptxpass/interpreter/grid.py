"""The grid of a launch: how many blocks and threads, and what the special registers say of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from .errors import PtxFault

Triple = tuple[int, int, int]
WARP = 32
_BY_AXIS = {"tid": "thread", "ntid": "threads", "ctaid": "block", "nctaid": "blocks"}
_LANE_MASKS: dict[str, Callable[[int], int]] = {
    "lanemask_eq": lambda lane: 1 << lane,
    "lanemask_lt": lambda lane: (1 << lane) - 1,
    "lanemask_le": lambda lane: (2 << lane) - 1,
    "lanemask_gt": lambda lane: (1 << WARP) - (2 << lane),
    "lanemask_ge": lambda lane: (1 << WARP) - (1 << lane),
}


@dataclass
class Grid:
    """``block`` and ``thread`` are those that run."""

    blocks: Triple = (1, 1, 1)
    threads: Triple = (1, 1, 1)
    block: Triple = (0, 0, 0)
    thread: Triple = (0, 0, 0)

    def begin(self, blocks: int | Triple, threads: int | Triple) -> None:
        self.blocks, self.threads = _triple(blocks), _triple(threads)

    def special(self, name: str) -> Callable[[], int]:
        """The value of ``%tid.x`` and the like, for the thread that runs."""
        register, _, axis = name[1:].partition(".")
        place = "xyz".find(axis) if axis else -1
        if register in _BY_AXIS and place >= 0:
            attribute = _BY_AXIS[register]
            return lambda: getattr(self, attribute)[place]  # type: ignore[no-any-return]
        if register == "laneid":
            return lambda: self.lane(self.thread)
        if register == "warpid":
            return lambda: self._linear(self.thread) // WARP
        if register in _LANE_MASKS:
            mask = _LANE_MASKS[register]
            return lambda: mask(self.lane(self.thread))
        if register in ("clock", "clock64", "globaltimer", "smid", "gridid"):
            return lambda: 0
        raise PtxFault(f"{name} is neither declared nor a special register that is known")

    def lane(self, thread: Triple) -> int:
        """The number of a thread in its warp."""
        return self._linear(thread) % WARP

    def _linear(self, thread: Triple) -> int:
        (x, y, z), (nx, ny, _) = thread, self.threads
        return x + nx * (y + ny * z)


def indices(size: Triple) -> Iterator[Triple]:
    """In the order in which warps take them."""
    nx, ny, nz = size
    for z, y, x in product(range(nz), range(ny), range(nx)):
        yield x, y, z


def _triple(size: int | Triple) -> Triple:
    return (size, 1, 1) if isinstance(size, int) else size

"""Which threads of a warp are together at a collective, once all of them wait or have ended.

Each thread has a counter of its own, as on GPUs since Volta: the threads of a warp come to the same
instruction together only where they say so. One that says ``.sync`` names whom it waits for, and
nobody who is named may stay away. ``activemask`` names those that happen to be together, which may
be any of those that wait there: the ones left wait on and may be together with later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from .collectives import Collective
from .errors import PtxFault
from .frames import Thread
from .grid import WARP

#: Of the lanes that wait at an ``activemask``, those that are together; at least one.
Choose = Callable[[Sequence[int]], Collection[int]]


def all_of_them(lanes: Sequence[int]) -> Collection[int]:
    return lanes


def groups(
    waiting: Mapping[int, Thread], choose: Choose
) -> Iterator[tuple[Collective, Sequence[int]]]:
    """The lanes that are together, at what. Raises PtxFault if nobody can go on."""
    came: dict[tuple[Collective, int | None], list[int]] = {}
    for lane, thread in waiting.items():
        collective: Collective = thread.waits_at
        mask = None if collective.members is None else collective.members(thread.frames[-1])
        if mask is not None and not mask >> lane & 1:
            raise PtxFault(f"lane {lane} comes to {collective.name} but is not in {mask:#010x}")
        came.setdefault((collective, mask), []).append(lane)
    is_stuck = True
    for (collective, mask), lanes in came.items():
        if mask is None:
            chosen = choose(lanes)
            together = [lane for lane in lanes if lane in chosen]
            assert together, "activemask is for at least one"
        else:
            together = lanes
            if mask & ~sum(1 << lane for lane in lanes):
                continue
        is_stuck = False
        yield collective, together
    if is_stuck:
        absent = [
            f"lane {_missing(mask, lanes)[0]} does not come to {collective.name} of lane {lanes[0]}"
            for (collective, mask), lanes in came.items()
            if mask is not None
        ]
        raise PtxFault("; ".join(absent))


def _missing(mask: int, lanes: Sequence[int]) -> list[int]:
    return [lane for lane in range(WARP) if mask >> lane & 1 and lane not in lanes]

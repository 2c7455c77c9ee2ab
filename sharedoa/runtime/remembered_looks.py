"""What looks at programs found (``clustering``), and what the device's clock says of clusters
(``compared_clusters``), for later runs of the same programs.

A look takes as long as hundreds of steps, and a program that is run again mostly has objects that
lie as they did. So what fields cost it is kept, in the process and beside compiled code for later
ones, by the text of the program, how objects are laid out, which arguments are runs, and how many
objects and threads there are, roughly. Who takes it in the place of a look chooses at the
first launch what was chosen in the end, and compares nothing again. Only speed rests on it, and it
is looked again as soon as looks are not too many (``clustering.PATIENCE``).
"""

from __future__ import annotations

import atexit
import contextlib
import json
from collections.abc import Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeVar

from dispatch.dataclass import dataclass

from .. import sampling
from ..heap.heap import Heap
from ..ir.description import describe_program
from ..ir.job import Uses
from ..ir.text import Named
from ..model.classes import ClassType
from ..model.clusters import Groups
from ..sampling import Costs, Group
from . import background, code_cache, knobs
from .code_cache import digest_of, entry
from .code_cache.descriptions import version_with
from .compared_clusters import Slower

KEEPS = True
"""Not in tests, which count looks."""
_unstored: dict[tuple[Uses, Circumstances], tuple[Look | Compared, Context]] = {}
"""What is not in the folder yet, with the settings that say which."""
_STAGE = "looks"
#: The compiler that listings name.
NAME = "look"
#: Classes by the names that the text of a program has for them, and the other way round.
Names = Mapping[str, Named]
NameOf = Mapping[Named, str]


@dataclass(frozen=True)
class Look:
    """What there was to see of a program that had been launched ``launches`` times: what each class
    cost it. ``seconds``: what looking took; ``objects``, ``threads``: as in
    ``clustering.Launched``."""

    launches: int
    objects: int
    threads: int
    seconds: float
    costs: Mapping[ClassType, Costs]

    def told(self, name_of: NameOf) -> dict[str, Any]:
        return {
            "launches": self.launches,
            "objects": self.objects,
            "threads": self.threads,
            "seconds": self.seconds,
            "costs": {
                name_of[cls]: {
                    "used": sorted(costs.used),
                    "groups": [[*group, cost] for group, cost in [*costs.known.items()]],
                }
                for cls, costs in self.costs.items()
            },
        }

    @classmethod
    def of_told(cls, told: Any, names: Names) -> Look:
        costs = {
            _class_of(names, name): Costs(
                frozenset(each["used"]),
                {Group(*group[:3]): float(group[3]) for group in each["groups"]},
            )
            for name, each in told["costs"].items()
        }
        launches, objects, threads = told["launches"], told["objects"], told["threads"]
        return cls(int(launches), int(objects), int(threads), float(told["seconds"]), costs)


@dataclass(frozen=True)
class Compared:
    """Which clusters of the classes that a program uses are slower than which."""

    slower: Mapping[ClassType, Sequence[Slower]]

    def told(self, name_of: NameOf) -> dict[str, Any]:
        return {
            name_of[cls]: [[each.groups, each.than, each.objects] for each in slower]
            for cls, slower in self.slower.items()
        }

    @classmethod
    def of_told(cls, told: Any, names: Names) -> Compared:
        return cls(
            {
                _class_of(names, name): [
                    Slower(_groups(groups), _groups(than), int(objects))
                    for groups, than, objects in slower
                ]
                for name, slower in told.items()
            }
        )


def _class_of(names: Names, name: str) -> ClassType:
    found = names[name]
    if not isinstance(found, ClassType):
        raise TypeError(name)
    return found


def _groups(told: Any) -> Groups:
    return tuple(tuple(map(str, names)) for names in told)


@dataclass(frozen=True)
class Circumstances:
    """What looks at one program that find the same have in common: which arguments are runs, the
    layout but for clusters, the kind of processor, and the numbers of objects and threads, as
    powers of 16: how many there are when a growing population is looked at goes by the clock."""

    runs: tuple[bool, ...]
    layout: tuple[object, ...]
    processor: str
    objects: int
    threads: int

    @classmethod
    def of(cls, runs: Sequence[bool], heap: Heap, objects: int, threads: int) -> Circumstances:
        layout, processor = heap.layout.key, heap.backend.target.fingerprint
        sizes = objects.bit_length() // 4, threads.bit_length() // 4
        return cls(tuple(runs), layout, processor, *sizes)

    @property
    def in_general(self) -> Circumstances:
        """For any numbers of objects and threads."""
        return Circumstances(self.runs, self.layout, self.processor, -1, -1)


_Kept = TypeVar("_Kept", Look, Compared)


def recall(uses: Uses, now: Circumstances, kind: type[_Kept]) -> _Kept | None:
    """What an earlier run of a program found, of this process or of another one."""
    if not KEEPS:
        return None
    if now not in uses.derived:
        uses.derived[now] = _stored(uses, now, kind)
    found: _Kept | None = uses.derived[now]
    return found


def remember(uses: Uses, then: Circumstances, look: Look | Compared) -> None:
    """Keep what was found; in the folder once there is nothing else to do."""
    if not KEEPS:
        return
    uses.derived[then] = look
    if not background.is_on():
        _store(uses, then, look)
        return
    key = uses, then
    _unstored[key] = look, copy_context()
    background.submit(lambda task: _store_last(key), background.Urgency.TRIAL)


def _store_last(key: tuple[Uses, Circumstances]) -> None:
    """Unless that was done."""
    found = _unstored.pop(key, None)
    if found is not None:
        look, context = found
        context.run(_store, *key, look)


@atexit.register
def store_all() -> None:
    """What the background has not come to before the process ends, as in short runs, in which it
    compiles all the time."""
    for key in list(_unstored):
        _store_last(key)


def _described(uses: Uses) -> tuple[str, Mapping[str, Named]] | None:
    if describe_program not in uses.derived:
        uses.derived[describe_program] = describe_program(uses.program)
    found: tuple[str, Mapping[str, Named]] | None = uses.derived[describe_program]
    return found


def _store(uses: Uses, then: Circumstances, look: Look | Compared) -> None:
    folder, described = code_cache.open_folder(), _described(uses)
    if folder is None or described is None:
        return
    text, names = described
    try:
        told = look.told({each: name for name, each in names.items()})
    except KeyError:  # a class that the program does not name
        return
    key = _key(text, then)
    with contextlib.suppress(OSError):
        data = entry.pack(uses.program.kernel.symbol, NAME, key, {_STAGE: json.dumps(told)})
        folder.write(digest_of(key), data, knobs.cache_size.value())


def _stored(uses: Uses, now: Circumstances, kind: type[_Kept]) -> _Kept | None:
    folder, described = code_cache.open_folder(), _described(uses)
    if folder is None or described is None:
        return None
    text, names = described
    key = _key(text, now)
    found = code_cache.stored(folder.read(digest_of(key), knobs.cache_size.value()))
    if found is None or found.key != key:
        return None
    try:
        return kind.of_told(json.loads(found.stages[_STAGE]), names)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None  # of a version of this package that nobody told from ours


def _key(text: str, then: Circumstances) -> bytes:
    version = version_with(*sampling.__path__, __file__)
    return entry.join(part.encode() for part in (NAME, version, repr(then), text))

"""For how long other clusters of a class were wanted, in sum over processes, less what trials took.

To try clusters that nobody has compared takes as long as hundreds of steps, so a run waits before
it does (``clustering``), and one that always ends before that would never try any. So each class
has an account, which is kept beside compiled code. While others are wanted it gains a second a
second, up to the price of a trial. A trial takes that price, and so many seconds more for each that
it lasts (``rate``). It lasts as long as there are launches that are compared, or code is compiled
for them, one after another: a heap that is gone, or not used, takes nothing, whether or not its
trial has ended. A process whose accounts hold the price as others are first wanted tries at once;
another one waits for the price, and for what is owed. Later heaps of a process, which mostly go on
with what an earlier one has begun, wait for what is owed. So in sum no more than a ``rate``-th of
the time in which others were only wanted was spent with trials, however short runs are, and whether
or not they see the end of one: what was compiled for it is kept as all code is, so that the next
one goes on with comparing.

Who begins a trial has paid: a process that is killed owes nothing for it but its length. What a
process gains or spends is added to what is kept when it writes, so that processes that run at once
add up; where two write in the same moment the part of one is lost. Classes are told by their names
and fields: where methods or kernels change their accounts go on. Where the folder is emptied, or
there is none, all begin with nothing.
"""

from __future__ import annotations

import atexit
import contextlib
from time import perf_counter
from weakref import WeakKeyDictionary

from dispatch.dataclass import dataclass

from ..forks import call_in_child
from ..heap.heap import Heap
from ..model.classes import ClassType
from ..uninterrupted import BooksLock
from . import code_cache, knobs
from .code_cache import digest_of, entry
from .code_cache.folder import CodeFolder

KEEPS = True
"""Not in tests."""
_MOST_OWED = 60.0
"""Of seconds: trials of launches that took hours are no reason to try no more."""
_STAGE = "account"
#: The compiler that listings name.
NAME = "trials"


@dataclass(frozen=True)
class _File:
    """Where an account is kept, by the settings there were when it was first asked for."""

    label: str
    key: bytes
    folder: CodeFolder | None
    limit: int

    def read(self) -> float:
        if self.folder is None or not KEEPS:
            return 0.0
        found = code_cache.stored(self.folder.read(digest_of(self.key), self.limit))
        if found is None or found.key != self.key:
            return 0.0
        try:
            return float(found.stages[_STAGE])
        except (KeyError, ValueError):  # of another version of this package
            return 0.0

    def write(self, seconds: float) -> None:
        if self.folder is not None and KEEPS:
            with contextlib.suppress(OSError):
                data = entry.pack(self.label, NAME, self.key, {_STAGE: repr(seconds)})
                self.folder.write(digest_of(self.key), data, self.limit)


@dataclass(eq=False)
class _Account:
    """Of a class, in this process. ``found`` is what was kept when others were first wanted here,
    ``kept`` what is known to be kept by now."""

    file: _File
    price: float
    since: float
    found: float
    kept: float
    seconds: float
    #: When it held so many seconds.
    then: float
    has_tried: bool = False

    def settle(self, taken: float = 0.0) -> None:
        """It has gained until now, and so many seconds were ``taken``."""
        now = perf_counter()
        gained = _between(self.seconds + (now - self.then), self.price)
        self.seconds, self.then = _between(gained - taken, self.price), now

    def keep(self) -> None:
        """Add what it has gained, or spent, to what is kept now."""
        self.settle()
        if self.seconds != self.kept:
            kept = _between(self.file.read() + self.seconds - self.kept, self.price)
            self.seconds = self.kept = kept = round(kept, 6)  # what is the price adds up to it
            self.file.write(kept)


@dataclass(eq=False)
class _Trial:
    """Of others on one heap, for which an account pays; ``seconds`` until it was ``seen`` last."""

    account: _Account
    rate: float
    seen: float
    seconds: float = 0.0


_accounts: dict[bytes, _Account] = {}
_trials: WeakKeyDictionary[Heap, _Trial] = WeakKeyDictionary()
_lock = BooksLock()
"""Guards what is known here."""
_idle_from = 0.0
"""From when on nobody will have waited for a while to try what is wanted."""
call_in_child(_accounts.clear)
call_in_child(_trials.clear)


def missing(cls: ClassType, price: float, is_wanted: bool = True) -> float:
    """For how many seconds more others of a class, which are wanted if not before, may not be
    tried. If they are not ``is_wanted``, but only to be compared, what is comes first, also of a
    heap that is yet to come: they wait until it has had the price of time to be tried."""
    global _idle_from
    with _lock:
        account, now = _account(cls, price), perf_counter()
        account.settle()
        found = max(0.0, -account.seconds)
        if not account.has_tried and account.found < price:
            found = price - min(account.found, 0.0) - (now - account.since)
        if not is_wanted:
            return max(found, _idle_from - now)
        _idle_from = max(_idle_from, now + max(found, 0.0) + price)
        return found


def begin(heap: Heap, cls: ClassType, price: float, rate: float) -> None:
    """They are being tried on a heap; that costs so many seconds for each that it ``goes_on``."""
    with _lock:
        account = _account(cls, price)
        account.settle(price)
        account.has_tried = True
        account.keep()
        _trials[heap] = _Trial(account, rate, perf_counter())


def goes_on(heap: Heap) -> None:
    """If others are being tried, they were until now, unless there was a pause."""
    with _lock:
        trial = _trials.get(heap)
        if trial is not None:
            now = perf_counter()
            seconds = min(now - trial.seen, trial.account.price)
            trial.seen = now
            trial.seconds += seconds
            # Nothing is gained in that time.
            trial.account.settle((1.0 + trial.rate) * seconds)


def is_trying(heap: Heap) -> bool:
    """Whether a trial has begun there, and not ended."""
    return heap in _trials


def end(heap: Heap) -> float:
    """They are no longer tried; for how many seconds they were."""
    with _lock:
        trial = _trials.pop(heap, None)
        return 0.0 if trial is None else trial.seconds


@atexit.register
def keep_all() -> None:
    """For later processes."""
    with _lock:
        for account in _accounts.values():
            account.keep()


def _account(cls: ClassType, price: float) -> _Account:
    key = _key(cls)
    if key not in _accounts:
        file = _File(cls.name, key, code_cache.open_folder(), knobs.cache_size.value())
        found, now = _between(file.read(), price), perf_counter()
        _accounts[key] = _Account(file, price, now, found, found, found, now)
    return _accounts[key]


def _key(cls: ClassType) -> bytes:
    parts = NAME, cls.python_class.__module__, cls.python_class.__qualname__, *cls.fields
    return entry.join(part.encode() for part in parts)


def _between(seconds: float, price: float) -> float:
    return max(-_MOST_OWED, min(price, seconds))

"""For how long other clusters of a class were wanted, in sum over processes, less what trials took.

To try clusters that nobody has compared takes as long as hundreds of steps, so a run waits before
it does (``clustering``), and one that always ends before that would never try any. So each class
has an account, which is kept beside compiled code. While others are wanted it gains a second a
second, up to the price of a trial. A trial takes that price, and so many seconds more for each that
it lasts (``rate``), or lasted when its process ended. A process whose accounts hold the price as
others are first wanted tries at once; another one waits for the price, and for what is owed. So in
sum no more than a ``rate``-th of the time in which others were only wanted was spent with trials,
however short processes are, and whether or not they see the end of one: what was compiled for it is
kept as all code is, so that the next one goes on with comparing.

Who begins a trial has paid: a process that is killed owes nothing for it but its length. What a
process gains or spends is added to what is kept when it writes, so that processes that run at once
add up; where two write in the same moment the part of one is lost. Classes are told by their names
and fields: where methods or kernels change their accounts go on. Where the folder is emptied, or
there is none, all begin with nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from time import perf_counter

from dispatch.dataclass import dataclass

from ..forks import call_in_child, renew_in_child
from ..model.classes import ClassType
from . import code_cache, knobs, remembered_looks
from .code_cache import digest_of, entry
from .code_cache.folder import CodeFolder

_MOST_OWED = 60.0
"""Of seconds: trials in which nobody launched anything for hours are no reason to try no more."""
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
        if self.folder is None or not remembered_looks.KEEPS:
            return 0.0
        found = code_cache.stored(self.folder.read(digest_of(self.key), self.limit))
        if found is None or found.key != self.key:
            return 0.0
        try:
            return float(found.stages[_STAGE])
        except (KeyError, ValueError):  # of another version of this package
            return 0.0

    def write(self, seconds: float) -> None:
        if self.folder is not None and remembered_looks.KEEPS:
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
    #: When it held so many seconds, and how many it gains a second.
    then: float
    gains: float = 1.0
    has_tried: bool = False

    def settle(self) -> None:
        now = perf_counter()
        gained = self.seconds + self.gains * (now - self.then)
        self.seconds, self.then = _between(gained, self.price), now

    def keep(self) -> None:
        """Add what it has gained, or spent, to what is kept now."""
        self.settle()
        if self.seconds != self.kept:
            kept = _between(self.file.read() + self.seconds - self.kept, self.price)
            self.seconds = self.kept = kept = round(kept, 6)  # what is the price adds up to it
            self.file.write(kept)


_accounts: dict[bytes, _Account] = {}
_lock = renew_in_child(threading.Lock())
"""Guards the accounts."""
call_in_child(_accounts.clear)


def open_for(cls: ClassType, price: float) -> None:
    """Others are wanted for a class, if not before."""
    with _lock:
        _account(cls, price)


def missing(cls: ClassType, price: float) -> float:
    """Others are wanted for a class: for how many seconds more until they may be tried, if any."""
    with _lock:
        account = _account(cls, price)
        if account.has_tried or account.found >= price:
            return 0.0
        return price - min(account.found, 0.0) - (perf_counter() - account.since)


def begin(cls: ClassType, price: float, rate: float) -> None:
    """They are being tried, until the ``end``; that costs so many seconds for each."""
    with _lock:
        account = _account(cls, price)
        account.settle()
        account.seconds -= price
        account.gains, account.has_tried = -rate, True
        account.keep()


def end(cls: ClassType) -> None:
    """They are no longer tried."""
    with _lock:
        account = _accounts.get(_key(cls))
        if account is not None:  # else this is the child of a fork
            account.settle()
            account.gains = 1.0


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

"""What cases ask with, and what comes of them.

Outcomes are those of a user who looks at the program: *fine*, a *clear* error (typed, with cause
and cure), an *unclear* one (any other exception, or one for something that ought to work), *silent*
(a wrong result, or no error where one was due), *hang*, *crash* (ended by a signal).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Kind = type[BaseException] | tuple[type[BaseException], ...]

OUTCOMES = ("fine", "clear", "unclear", "silent", "hang", "crash")
GOOD = ("fine", "clear")
#: Set by the runner for each case.
DEBUG, BACKEND = "SHAREDOA_DEBUG", "SHAREDOA_BACKEND"


class Verdict(Exception):
    """A case has failed: how."""

    outcome = "unclear"


class Unclear(Verdict):
    """Something is told, but not what is wrong and what to do."""


class Silent(Verdict):
    """Something is wrong and nobody says so."""

    outcome = "silent"


class Hang(Verdict):
    """A process that the case started did not end."""

    outcome = "hang"


class Crash(Verdict):
    """A process that the case started was ended by a signal."""

    outcome = "crash"


_refusals: list[str] = []


def in_debug() -> bool:
    return os.environ.get(DEBUG) == "1"


def backend() -> str:
    return os.environ.get(BACKEND, "cpu")


def check(is_right: Any, what_is_wrong: str) -> None:
    """Raise Silent unless the result is right."""
    if not is_right:
        raise Silent(what_is_wrong)


def check_equal(found: Any, expected: Any, what: str = "the result") -> None:
    """The same for values and sequences of numbers."""
    given, due = _listed(found), _listed(expected)
    # NaN is expected where NaN is written.
    if given != due and repr(given) != repr(due):
        raise Silent(f"{what} is {_short(given)}, not {_short(due)}")


def _listed(value: Any) -> Any:
    to_list = getattr(value, "tolist", None)
    if to_list is not None:
        return to_list()
    if isinstance(value, (list, tuple, range)):
        return [_listed(item) for item in value]
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:197] + "..."


@contextmanager
def refuses(kind: Kind, *words: str, cure: bool = True) -> Iterator[None]:
    """The block must raise ``kind`` with all words in its text, and with a help if it is ours and a
    ``cure`` is due; ``one|other`` is one of two words."""
    with _refusal(kind, words, cure) as was_refused:
        yield
    if not was_refused:
        raise Silent(f"no {_name(kind)} with {', '.join(words) or 'any words'}")


@contextmanager
def may_refuse(kind: Kind, *words: str) -> Iterator[None]:
    """The block may end well, or raise ``kind`` as in ``refuses``."""
    with _refusal(kind, words):
        yield


@contextmanager
def _refusal(kind: Kind, words: tuple[str, ...], cure: bool = True) -> Iterator[list[str]]:
    was_refused: list[str] = []
    try:
        yield was_refused
    except Verdict:
        raise
    except kind as error:
        text = str(error)
        require_words(text, words)
        if cure and hasattr(error, "help") and not error.help and "help:" not in text:
            raise Unclear(f"{told(error)} says no cure") from error
        was_refused.append(text)
        _refusals.append(told(error))
    except Exception as error:
        raise Unclear(f"{told(error)}, where {_name(kind)} was due") from error


def _name(kind: Kind) -> str:
    return kind.__name__ if isinstance(kind, type) else " or ".join(map(_name, kind))


def require_words(text: str, words: tuple[str, ...]) -> None:
    """Raise Unclear unless ``text`` has all words, whatever their case; ``a|b``: one of them."""
    for word in words:
        if not any(part.lower() in text.lower() for part in word.split("|")):
            raise Unclear(f"{word!r} is not in: {text}")


def refused(text: str) -> None:
    """Note that something was refused in clear words."""
    _refusals.append(text)


def told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def judge(run: Any) -> tuple[str, str]:
    """Run a case here: its outcome, and what there is to say about it."""
    try:
        run()
    except Verdict as verdict:
        return verdict.outcome, str(verdict)
    except BaseException as error:
        return "unclear", told(error)
    return ("clear", _refusals[-1]) if _refusals else ("fine", "")


def write_outcome(file: Path, outcome: str, detail: str) -> None:
    """Leave the outcome where the runner reads it."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"outcome": outcome, "detail": detail}), encoding="utf-8")
    part.replace(file)

"""What functions became in a program, for the next programs that call them: each form of a call,
and each kernel that launches became together, is a program of its own of much the same functions.

A tree is what it is by its function and by what its translation saw: facts of the world, which are
dependencies, and what the program answered, such as the symbols of the functions that it calls. The
program is asked all that again, in the same order, as this is what brings those functions into it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from dispatch.dataclass import dataclass

from . import tree
from .dependencies import Dependency

if TYPE_CHECKING:
    from .program import ProgramBuilder

Ask = TypeVar("Ask", bound=Callable[..., Any])


@dataclass(frozen=True)
class Asked:
    """What a translation asked its program, and the answer."""

    ask: Callable[..., Any]
    given: tuple[Any, ...]
    answer: Any


@dataclass(frozen=True)
class Kept:
    """``about``: all that the function's tree says besides what its source means."""

    about: Hashable
    function: tree.Function
    dependencies: Sequence[Dependency]
    asked: Sequence[Asked]

    def suits(self, about: Hashable, program: ProgramBuilder) -> bool:
        """Whether translating again, for ``program``, would make the same; it is told of all that
        the function calls."""
        return (
            self.about == about
            and all(map(program.holds, self.dependencies))
            and all(each.ask(program, *each.given) == each.answer for each in self.asked)
        )


#: By symbol. It lives where the function does: with its class, struct or ``@oa.func`` function.
Translations = dict[tuple[Any, ...], Kept]


def noted(ask: Ask) -> Ask:
    """A question of translations to their program, whose answer shows in the tree or which changes
    the program."""

    @wraps(ask)
    def answered(program: ProgramBuilder, *given: Any) -> Any:
        outside, program.asked = program.asked, []  # what it asks in turn it asks again itself
        try:
            answer = ask(program, *given)
        finally:
            program.asked = outside
        outside.append(Asked(answered, given, answer))
        return answer

    return answered  # type: ignore[return-value]

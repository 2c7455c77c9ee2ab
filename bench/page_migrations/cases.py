"""What is run: every program in its flavours, and two walks through memory whose events are known
beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from apps.registry import APPS

#: The walks through memory of ``control``.
CONTROL = "control"
MODE = "auto"
#: Programs with classes of their own in the natural flavour.
IN_BOTH_FLAVOURS = ("traffic", "game_of_life", "structure", "generation", "raytracer")


@dataclass(frozen=True)
class Case:
    """One process: a program, or ``CONTROL``, at a size for a number of steps."""

    program: str
    natural: bool = False
    size: int = 0
    steps: int = 1

    @property
    def flavour(self) -> str:
        if self.program == CONTROL:
            return ""
        return "natural" if self.natural else "faithful"

    def __str__(self) -> str:
        return f"{self.program} {self.flavour}".strip()


def cases(full: bool, programs: tuple[str, ...] = ()) -> list[Case]:
    """The control, then ``programs``, all by default, at their own sizes or at the paper's."""
    chosen = [app for app in APPS.values() if not programs or app.name in programs]
    return [
        Case(CONTROL),
        *(
            Case(
                app.name,
                natural,
                app.paper_size if full else app.size,
                app.paper_steps if full else app.steps,
            )
            for app in chosen
            for natural in ((False, True) if app.name in IN_BOTH_FLAVOURS else (False,))
        ),
    ]

"""The passes in their order: what each needs, and when it applies.

A pass is a function over the program in SSA form; ``Job`` is what it may ask. Each leaves a program
that ``verify`` accepts, and keeps its meaning: for every thread the sequence of what others can see
stays, but for what ``operations`` and ``roles`` say cannot make a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ..model.layout import Layout
from ..model.run_form import RunForm
from ..targets.base import Target
from .core import Program
from .passes.call_melding import mark_common_functions
from .passes.cut_branches import cut_branches
from .passes.limit_copies import limit_copies
from .passes.narrow_counters import narrow_counters
from .passes.narrow_roots import narrow_roots
from .passes.runs import Pieces, use_runs
from .passes.shared_loops import share_loops
from .passes.sink_stores import sink_stores
from .passes.uncalled import drop_uncalled
from .passes.unroll_copies import unroll_copies
from .passes.unused import remove_unused
from .verify import verify


@dataclass(frozen=True)
class Job:
    """What passes may know: the target, how objects lie, which optimisations the mode asks for, and
    what is known of the heap's objects."""

    target: Target
    layout: Layout
    debug: bool
    #: Whether the mode has threads of a warp share loops.
    shares_loops: bool
    #: The parameters of the kernel that are runs, by number.
    runs: Mapping[int, RunForm]
    pieces: Pieces
    #: Type indices of the classes that receivers can have (None: all).
    populated: Collection[int] | None = None
    #: Whether to verify after every pass.
    verifies: bool = False

    @property
    def in_warps(self) -> bool:
        return self.shares_loops and self.target.warp is not None and not self.debug

    @property
    def on_device(self) -> bool:
        return self.target.is_device

    @property
    def reorders(self) -> bool:
        # Processors look far enough ahead by themselves; checks write one by one.
        return self.target.is_device and not self.debug


@dataclass(frozen=True)
class Pass:
    name: str
    run: Callable[[Program, Job], None]
    applies: Callable[[Job], bool] = lambda job: True


PIPELINE: Sequence[Pass] = (
    Pass("narrow_roots", lambda p, job: narrow_roots(p)),
    Pass("unused", lambda p, job: remove_unused(p, job.debug)),
    Pass("runs", lambda p, job: use_runs(p, job.runs, job.pieces, job.layout, job.debug)),
    Pass("uncalled", lambda p, job: drop_uncalled(p)),
    Pass("narrow_counters", lambda p, job: narrow_counters(p)),
    Pass("shared_loops", lambda p, job: share_loops(p), lambda job: job.in_warps),
    Pass("cut_branches", lambda p, job: cut_branches(p), lambda job: job.in_warps),
    Pass(
        "call_melding",
        lambda p, job: mark_common_functions(p, job.populated),
        lambda job: job.in_warps,
    ),
    Pass("limit_copies", lambda p, job: limit_copies(p, job.populated), lambda job: job.on_device),
    Pass("unroll_copies", lambda p, job: unroll_copies(p), lambda job: job.reorders),
    Pass(
        "sink_stores",
        lambda p, job: sink_stores(p, lambda type: job.layout.dtype(type).itemsize),
        lambda job: job.reorders,
    ),
)


def run_passes(program: Program, job: Job, passes: Sequence[Pass] = PIPELINE) -> None:
    """Run those of the passes that apply, in order. Raises InternalError if one leaves a program
    that is malformed, if the job ``verifies``."""
    if job.verifies:
        verify(program)
    for each in passes:
        if each.applies(job):
            each.run(program, job)
            if job.verifies:
                verify(program, each.name)

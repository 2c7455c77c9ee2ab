"""The passes in their order: what each is asked to do, and when it applies.

A pass is a function over the program in SSA form; a ``Job`` is what it may ask. Each leaves a
program that ``verify`` accepts, and keeps its meaning: for every thread the sequence of what others
can see stays, but for what ``operations`` and ``roles`` say cannot make a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from dispatch.dataclass import dataclass

from .core import Program
from .job import Job
from .passes.call_melding import meld_calls
from .passes.candidates import narrow_candidates
from .passes.cheap_tests import order_tests
from .passes.constant_arguments import fold_constants
from .passes.cut_branches import cut_branches
from .passes.dispatch import choose_dispatch
from .passes.early_loads import load_early
from .passes.fields_of_slots import load_with_bytes
from .passes.flatten_loops import flatten_loops
from .passes.hoist_fields import hoist_fields
from .passes.idle_threads import ask_idle_threads, pack_threads
from .passes.limit_copies import limit_copies
from .passes.narrow_counters import narrow_counters
from .passes.narrow_roots import narrow_roots
from .passes.number_threads import number_threads
from .passes.own_bytes import end_by_own_bytes
from .passes.owner_fields import load_of_owners
from .passes.runs import use_runs
from .passes.several_rounds import take_several_rounds
from .passes.shared_loops import share_loops
from .passes.sink_stores import sink_stores
from .passes.two_lists import split_lists
from .passes.uncalled import drop_uncalled
from .passes.unroll_copies import unroll_copies
from .passes.unused import remove_unused
from .passes.write_out_lists import write_out_lists
from .rewrite import copy_program
from .text import program_text
from .verify import verify

verifies: Literal["in debug mode", "after the last pass", "after each pass"] = "in debug mode"
"""When programs are verified, which tests set: in debug mode after each pass in any case."""


def _always(job: Job) -> bool:
    return True


def _unchecked(job: Job) -> bool:
    # In debug mode everything is checked as it was written.
    return not job.debug


def _in_warps(job: Job) -> bool:
    return job.works_in_warps


def _in_a_loop(job: Job) -> bool:
    """Whether threads of a launch are rounds of a loop."""
    return not job.target.is_device and not job.debug


def _on_device(job: Job) -> bool:
    return job.target.is_device


def _reorders(job: Job) -> bool:
    # Processors look far enough ahead by themselves; checks write one by one.
    return job.target.is_device and not job.debug


@dataclass(frozen=True)
class Pass:
    """``applies``: whether there is anything to do for a job."""

    name: str
    run: Callable[[Program, Job], None]
    applies: Callable[[Job], bool] = _always


PIPELINE: Sequence[Pass] = (
    Pass("number_threads", lambda program, job: number_threads(program)),
    Pass("narrow_roots", lambda program, job: narrow_roots(program)),
    Pass("constant_arguments", fold_constants, _unchecked),
    Pass("unused", lambda program, job: remove_unused(program, job.debug)),
    Pass("runs", use_runs, lambda job: job.mode.by_population),
    Pass("own_bytes", lambda program, job: end_by_own_bytes(program), _unchecked),
    Pass("candidates", narrow_candidates),
    Pass("uncalled", lambda program, job: drop_uncalled(program)),
    Pass("narrow_counters", lambda program, job: narrow_counters(program)),
    Pass("cheap_tests", order_tests, _reorders),
    Pass("shared_loops", lambda program, job: share_loops(program), _in_warps),
    Pass("two_lists", lambda program, job: split_lists(program), _in_warps),
    Pass("owner_fields", lambda program, job: load_of_owners(program), _in_warps),
    Pass("cut_branches", lambda program, job: cut_branches(program), _in_warps),
    Pass("call_melding", lambda program, job: meld_calls(program), _in_warps),
    Pass("hoist_fields", hoist_fields, _reorders),
    Pass("flatten_loops", flatten_loops, _reorders),
    Pass("early_loads", load_early, _in_warps),
    Pass("fields_of_slots", lambda program, job: load_with_bytes(program), _in_warps),
    Pass("several_rounds", take_several_rounds, _in_warps),
    Pass("limit_copies", lambda program, job: limit_copies(program), _on_device),
    Pass("write_out_lists", lambda program, job: write_out_lists(program), _on_device),
    Pass("unroll_copies", lambda program, job: unroll_copies(program), _reorders),
    Pass("sink_stores", sink_stores, _reorders),
    Pass("idle_threads", ask_idle_threads, _in_a_loop),
    Pass("pack_threads", pack_threads, _in_warps),
    Pass("dispatch", choose_dispatch),
)


def optimised(job: Job) -> Program:
    """The job's program after the passes. Raises InternalError if one leaves it malformed, where
    that is looked at."""
    program = copy_program(job.program)
    for _ in run_passes(program, job):
        pass
    return program


def history(job: Job) -> str:
    """The job's program as text, before the passes and after each that changed it."""
    program = copy_program(job.program)
    text = program_text(program)
    found = f"; as the front end made it\n{text}"
    for each in run_passes(program, job):
        before, text = text, program_text(program)
        if text != before:
            found += f"\n; after {each.name}\n{text}"
    return found


def run_passes(program: Program, job: Job, passes: Sequence[Pass] = PIPELINE) -> Iterator[Pass]:
    """Run those of the passes that apply, in order; gives each when it has run."""
    after_each = job.debug or verifies == "after each pass"
    if after_each:
        verify(program)
    for each in passes:
        if each.applies(job):
            each.run(program, job)
            if after_each:
                verify(program, each.name)
            yield each
    if verifies == "after the last pass" and not after_each:
        verify(program, "the last pass")

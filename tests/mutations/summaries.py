"""Faults in what summaries say of functions in SSA form."""

from .mutation import Mutation

_ORIGINS = "sharedoa/ir/origins.py"
_SUMMARY = "sharedoa/ir/summary.py"
_CALLS = "sharedoa/ir/passes/calls.py"
_TESTS = "tests/ir/test_summary.py"

MUTATIONS = (
    Mutation(
        "what is loaded is the object itself", _ORIGINS,
        "[via.beyond for via in through] if effects else [ANYTHING]",
        "through",
        "a neighbour passes for the receiver, whose fields a thread has for itself",
        (f"{_TESTS}::test_objects_that_are_reached",),
    ),
    Mutation(
        "breaks give nothing to loops", _ORIGINS,
        "target = loop if kind.effects & Effects.LEAVES_LOOP else holder",
        "target = holder",
        "a reference that a loop is left with comes from nowhere, and accesses through it are lost",
        (f"{_TESTS}::test_leaving_a_loop_in_a_branch_carries_a_reference",),
    ),
    Mutation(
        "undeclared kinds of calls", _CALLS,
        "return not kind.calls or operation.kind in _CALLING",
        "return True",
        "an operation that calls functions in a way of its own does nothing",
        (f"{_TESTS}::test_kinds_that_may_do_anything",),
    ),
    Mutation(
        "sums that are looked at", _SUMMARY,
        "way is None or is_used",
        "way is None",
        "an atomic whose result tells the order of additions passes for one that does not",
        (f"{_TESTS}::test_other_atomics_read_and_write",),
    ),
    Mutation(
        "one round of calls in a circle", _SUMMARY,
        "changed |= new != found[symbol]",
        "pass",
        "what a function does by calling itself is missing",
        (f"{_TESTS}::test_circles_of_calls",),
    ),
)  # fmt: skip

"""Faults in assertions that come late."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/late_assertions.py"
_TESTS = "tests/ir/test_late_assertions.py"
_RANDOM = f"{_TESTS}::test_random_programs_mean_the_same"
_WHICH = f"{_TESTS}::test_what_comes_behind_an_assertion"
_NOTED = f"{_TESTS}::test_rounds_note_which_failed_first"
_FIRST = f"{_TESTS}::test_the_first_failure_of_a_loop"
_STATEMENTS = "sharedoa/frontend/statements.py"
_PROMISES = (
    "tests/frontend/test_statements.py::test_what_follows_an_assertion_that_promises_an_object",
)

MUTATIONS = (
    Mutation(
        "an assertion behind what reports", _PASS,
        "    Effects.LINGERS | Effects.REPORTS | Effects.RAISES | Effects.WAITS | Effects.LIVES",
        "    Effects.LINGERS | Effects.RAISES | Effects.WAITS | Effects.LIVES",
        "a failure comes behind what is printed after it", (_RANDOM,),
    ),
    Mutation(
        "an assertion behind the end of a round", _PASS,
        "return not effects_of(operation) & _ENDS and not", "return not",
        "who leaves the loop reports nothing", (_RANDOM, _WHICH),
    ),
    Mutation(
        "the last failure of a loop", _PASS,
        'noted = self._add(made, "select", [is_first, this, self._failed], i32)', "noted = this",
        "what failed last is reported", (_NOTED, _RANDOM),
    ),
    Mutation(
        "rounds that report themselves", _PASS,
        "return () if any(map(self._stops.of, inside[:first])) else", "return",
        "a failure of a round comes behind what later ones print", (_FIRST,),
    ),
    Mutation(
        "loops that return", _PASS,
        'or "shared" in loop.attributes or effects_of(loop) & Effects.RETURNS',
        'or "shared" in loop.attributes',
        "who leaves the function from within a loop reports no failure", (_FIRST,),
    ),
    Mutation(
        "what a loop is left with", _PASS,
        "self._failed if end is body.terminator else given", "self._failed",
        "a round that is left names what it has not computed", (_FIRST,),
    ),
    Mutation(
        "a promise that is asked", _STATEMENTS,
        "return used != owner or (field == other and isinstance(context, ast.Load))",
        "return used != owner",
        "what follows a failed assertion asks no object for a field", _PROMISES,
    ),
    Mutation(
        "a promise that another variable refers to", _STATEMENTS,
        "return used != owner or (field", "return (field",
        "a field of the object that is none is written by its other name", _PROMISES,
    ),
    Mutation(
        "a promise within a loop", _STATEMENTS,
        "return place < len(body) and not any(", "return not any(",
        "what comes in the next round is taken for nothing", _PROMISES,
    ),
)  # fmt: skip

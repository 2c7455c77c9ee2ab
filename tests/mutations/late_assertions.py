"""Faults in assertions that come late."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/late_assertions.py"
_TESTS = "tests/ir/test_late_assertions.py"
_RANDOM = f"{_TESTS}::test_random_programs_mean_the_same"
_WHICH = f"{_TESTS}::test_what_comes_behind_an_assertion"
_NOTED = f"{_TESTS}::test_rounds_note_which_failed_first"
_FIRST = f"{_TESTS}::test_the_first_failure_of_a_loop"
_CIRCLE = f"{_TESTS}::test_functions_that_call_each_other"
_PROMISED = "sharedoa/frontend/assertions.py"
_PROMISES = (
    "tests/frontend/test_statements.py::test_what_follows_an_assertion_that_promises_an_object",
)

_UNKNOWN = f"{_TESTS}::test_what_nobody_declared_keeps_them_where_they_are"
_SHARED = f"{_TESTS}::test_threads_that_share_rounds_report_in_them"

MUTATIONS = (
    Mutation(
        "an assertion behind what reports", _PASS,
        "    Effects.LINGERS | Effects.REPORTS | Effects.RAISES | Effects.WAITS | Effects.LIVES",
        "    Effects.LINGERS | Effects.RAISES | Effects.WAITS | Effects.LIVES",
        "a failure comes behind what is printed after it", (_RANDOM,),
    ),
    Mutation(
        "an assertion behind what waits for other threads", _PASS,
        "Effects.RAISES | Effects.WAITS |", "Effects.RAISES |",
        "who waits for ever at a barrier has reported nothing", (_WHICH,),
    ),
    Mutation(
        "an assertion behind an object's end", _PASS,
        "| Effects.WAITS | Effects.LIVES\n", "| Effects.WAITS\n",
        "a failure comes behind that of an object that is deleted twice", (_WHICH,),
    ),
    Mutation(
        "assertions behind what nobody declared", _PASS,
        "if not asserting or not all(map(is_known, operations_in(program))):",
        "if not asserting:",
        "a failure comes behind whatever a new operation does", (_UNKNOWN,),
    ),
    Mutation(
        "rounds that threads share note what failed", _PASS,
        'loop.kind != "for" or "shared" in loop.attributes or', 'loop.kind != "for" or',
        "who had others' rounds reports his own alone", (_SHARED,),
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
        "return () if any(map(self._stops.of, passed)) else", "return",
        "a failure of a round comes behind what later ones print", (_FIRST,),
    ),
    Mutation(
        "loops that return", _PASS,
        "effects_of(loop) & _ENDS", "effects_of(loop) & Effects.LEAVES_LOOP",
        "who leaves the function from within a loop reports no failure", (_FIRST,),
    ),
    Mutation(
        "loops whose else reports", _PASS,
        "passed = [*inside[:first], *after.operations]", "passed = inside[:first]",
        "a failure of a round comes behind one of the loop's else", (_FIRST,),
    ),
    Mutation(
        "loops whose else leaves the loop around", _PASS,
        "effects_of(loop) & _ENDS", "effects_of(loop) & Effects.RETURNS",
        "who leaves the loop around from an else reports no failure", (_FIRST,),
    ),
    Mutation(
        "functions that call each other", "sharedoa/ir/passes/calls.py",
        "for each in callers.get(pending.pop(), ()) if each not in found]",
        "for each in callers.get(pending.pop(), ()) if False]",
        "a failure comes behind what a function of a circle prints after it", (_CIRCLE,),
    ),
    Mutation(
        "what a loop is left with", _PASS,
        "self._failed if end is body.terminator else given", "self._failed",
        "a round that is left names what it has not computed", (_FIRST,),
    ),
    Mutation(
        "a promise that is asked", _PROMISED,
        "return isinstance(done, ast.Load) and not _is_number(context, owner, field)",
        "return False",
        "what follows a failed assertion asks no object for a field", _PROMISES,
    ),
    Mutation(
        "a promise that another variable refers to", _PROMISED,
        "        ) if used == owner:\n            return isinstance(done",
        "        ):\n            return isinstance(done",
        "a field of the object that is none is written by its other name", _PROMISES,
    ),
    Mutation(
        "a promise that a property asks", _PROMISED,
        "return isinstance(done, ast.Load) and not _is_number(context, owner, field)",
        "return isinstance(done, ast.Load) and field == promised.attr",
        "a property of the owner takes none for the promised object", _PROMISES,
    ),
    Mutation(
        "a promise that an operator asks", _PROMISED,
        "ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign,\n", "\n",
        "an operator's method takes none for the promised object", _PROMISES,
    ),
    Mutation(
        "a promise within a loop", _PROMISED,
        "return place < len(body) and not any(", "return not any(",
        "what comes in the next round is taken for nothing", _PROMISES,
    ),
)  # fmt: skip

"""Faults in loading elements before loops."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/rounds_ahead.py"
_WHICH = "tests/ir/test_rounds_ahead.py::test_which_are_loaded_ahead"
_RANDOM = "tests/ir/test_rounds_ahead.py::test_random_loops_mean_the_same"

MUTATIONS = (
    Mutation(
        "elements that rounds change", _PASS,
        "is_stored = any(may_meet(role, each) for each in stored)", "is_stored = False",
        "a round sees what an element was before the loop", (_WHICH,),
    ),
    Mutation(
        "rounds that may end before they load", _PASS,
        "        if operation.regions or effects_of(operation) & ~Effects.READS:\n"
        "            return None\n", "",
        "an element of null is read", (_WHICH,),
    ),
    Mutation(
        "objects that rounds find", _PASS,
        " and array[0].operands[0] not in inside", "",
        "what is not there yet is used before a loop", (_WHICH,),
    ),
    Mutation(
        "elements of other rounds", _PASS,
        '[boolean], operator="eq")', '[boolean], operator="ne")',
        "a round has the element of another one", (_WHICH, _RANDOM),
    ),
)  # fmt: skip

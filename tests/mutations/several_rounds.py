"""Faults in loops that run four rounds at once."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/several_rounds.py"
_TESTS = "tests/ir/test_several_rounds.py"

MUTATIONS = (
    Mutation(
        "fours that begin elsewhere", _PASS,
        "if constant_of(first) != 0 or constant_of(step) != 1 or length is None:",
        "if constant_of(step) != 1 or length is None:",
        "elements behind the last one are asked, and some twice",
        (f"{_TESTS}::test_which_loops",),
    ),
    Mutation(
        "more than whole fours", _PASS,
        'mask = add(before, "constant", value=-ROUNDS)',
        'mask = add(before, "constant", value=-1)',
        "elements behind the last one are asked",
        (f"{_TESTS}::test_any_number_of_objects",),
    ),
    Mutation(
        "what rounds hand on", _PASS,
        "now = [values.get(each, each) for each in end.operands]",
        "pass",
        "each of four rounds begins with what the first one did",
        (f"{_TESTS}::test_any_number_of_objects",),
    ),
    Mutation(
        "fours that are left early", _PASS,
        "return ends == [body.terminator] and size is not None and size <= _MOST",
        "return size is not None and size <= _MOST",
        "a break leaves the fours, and the rest of the loop runs",
        (f"{_TESTS}::test_which_loops",),
    ),
    Mutation(
        "stores in fours", _PASS,
        "if kind.is_loop or kind.effects & ~(_WITHIN | Effects.LEAVES_LOOP) != PURE:",
        "if kind.is_loop:",
        "a reference is loaded before a round that changes it",
        (f"{_TESTS}::test_which_loops",),
    ),
    Mutation(
        "fours of different lists", _PASS,
        'if length.kind != "length" or length.operands[0] not in arrays or loop.attributes:',
        'if length.kind != "length" or loop.attributes:',
        "threads whose lists are short go through a longer program",
        (f"{_TESTS}::test_which_loops",),
    ),
)  # fmt: skip

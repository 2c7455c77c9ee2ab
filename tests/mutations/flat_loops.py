"""Faults in making straight code of loops."""

from .mutation import Mutation

_FLAT = "sharedoa/ir/passes/flatten_loops.py"
_RANDOM = "tests/ir/test_flatten_loops.py::test_random_loops_mean_the_same"
_SEVERAL_STAY = (
    "tests/ir/test_flatten_loops.py::"
    "test_calls_that_may_run_several_methods_and_more_than_look_stay"
)
_SEVERAL_LATE = (
    "tests/ir/test_flatten_loops.py::test_calls_that_may_run_several_methods_come_after_all_loads"
)
_OVERFLOW = "tests/ir/test_flatten_loops.py::test_sums_that_overflow"

MUTATIONS = (
    Mutation(
        "every other round", _FLAT,
        "constant_of(step) != 1 or not 0",
        "not 0",
        "rounds that are left out are run",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[every other one]",),
    ),
    Mutation(
        "bounds that are read before there is a round", _FLAT,
        "        if not all(map(_is_total, before)):\n",
        "        if False:\n",
        "an element is read of a loop that has no round",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[bounds that are read]",),
    ),
    Mutation(
        "bounds by what is carried", _FLAT,
        'if "shared" in loop.attributes or around.is_stale(loop.operands[:3]):',
        'if "shared" in loop.attributes:',
        'a round too many begins loops elsewhere', ("tests/ir/test_flatten_loops.py::"
         "test_loops_within_are_flat_alone[bounds by what is carried]",),
    ),
    Mutation(
        "what arms give of what is carried", _FLAT,
        "used = [*operation.operands, *live_ins(operation.regions)]",
        "used = [*operation.operands]",
        "a round too many reads another place than the last one",
        ("tests/ir/test_flatten_loops.py::"
         "test_which_loops_are_flat[a place by what an arm gives that is carried]",),
    ),
    Mutation(
        "calls that choose, by what is carried", _FLAT,
        "        if scope.is_stale(call.operands):\n"
        "            raise _CannotError(_STALE)\n        types",
        "        types",
        "a method reads what is outside of a table", (_SEVERAL_STAY,),
    ),
    Mutation(
        "calls that choose and give objects", _FLAT,
        "        if not all(isinstance(type, ScalarType) for type in types):\n",
        "        if False:\n",
        "the number 0 stands for an object", (_SEVERAL_STAY,),
    ),
    Mutation(
        "straight code of what may come later", _FLAT,
        'if call.kind == "call_virtual" and not self._job.mode.closed_world:',
        "if False:",
        "objects of a class that comes later are asked another one's method",
        ("tests/ir/test_flatten_loops.py::test_calls_of_what_may_come_later_stay",),
    ),
    Mutation(
        "straight code of shared loops", _FLAT,
        'if "shared" in loop.attributes or around',
        "if around",
        "a warp is busy as long as its longest loop",
        ("tests/ir/test_flatten_loops.py::test_loops_that_threads_share_stay",),
    ),
    Mutation(
        "objects behind tests", _FLAT,
        "            if path:\n                nothing =",
        "            if False:\n                nothing =",
        "a field of null is read", (_RANDOM,),
    ),
    Mutation(
        "objects behind other tests", _FLAT,
        "if path[: len(tests)] == tests)", "if tests[: len(path)] == path)",
        "an object that was read behind more tests counts as one behind fewer", (_RANDOM,),
    ),
    Mutation(
        "tests of what is carried", _FLAT,
        "if scope.is_stale(choice.operands) and any(map(_reads, choice.regions)):", "if False:",
        "a round too many reads what a test keeps from being read",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[a test of what is carried]",),
    ),
    Mutation(
        "places by what is carried", _FLAT,
        "if place is None or scope.is_stale(place.operands):", "if place is None:",
        "a round too many reads another place than the last one",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[a place by what is carried]",),
    ),
    Mutation(
        "what loops within carry is made of what they begin with alone", _FLAT,
        "around.is_stale([*loop.operands[3:], *live_ins(loop.regions)])",
        "around.is_stale(loop.operands[3:])",
        "a round too many reads another place than the last one",
        ("tests/ir/test_flatten_loops.py::"
         "test_which_loops_are_flat[a place by what is carried around]", _RANDOM),
    ),
    Mutation(
        "tables by what is carried", _FLAT,
        "            if scope.is_stale(operation.operands):\n", "            if False:\n",
        "a round too many reads what is outside of a table",
        ("tests/ir/test_flatten_loops.py::"
         "test_which_loops_are_flat[an element of a table by what is carried]", _RANDOM),
    ),
    Mutation(
        "what is carried is never stale", _FLAT,
        "carried, is_stale = new, True", "carried, is_stale = new, is_stale",
        "what a round too many is given counts as what the last one was given",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[a test of what is carried]",),
    ),
    Mutation(
        "rounds too many count", _FLAT,
        "new = [self._select(is_one, here, before, loop) for here, before in pairs]",
        "new = [here for here, _ in pairs]",
        "what rounds too many compute is kept", (_RANDOM,),
    ),
    Mutation(
        "rounds too many go on", _FLAT,
        "at = self._select(is_one, next, last, loop)", "at = next",
        "rounds too many read what no round reads", (_RANDOM,),
    ),
    Mutation(
        "loops without rounds", _FLAT,
        "self._nonempty.append(is_one)", "pass",
        "a loop without rounds has one", (_RANDOM,),
    ),
    Mutation(
        "one round too few", _FLAT, "        high - low\n", "        high - low - 1\n",
        "the last round is left out", (_RANDOM,),
    ),
    Mutation(
        "minima below", _FLAT, 'in _near(start, "gt")', 'in _near(start, "lt")',
        "a loop that begins at a minimum has more rounds than is thought",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[a test of what is carried]",),
    ),
    Mutation(
        "sums that overflow", _FLAT,
        "is_one = is_within if count == 1 else self._all([is_one, is_within], loop)",
        "is_one = is_within",
        "a sum that overflows is below the end", (_OVERFLOW,),
    ),
    Mutation(
        "indices behind tests", _FLAT,
        'if path and place.kind == "inline_element" and not _is_inside(*given):', "if False:",
        "an element is read whose index only a test keeps inside",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[an index in an object]",),
    ),
    Mutation(
        "elements behind tests", _FLAT,
        'elif place.kind != "element" or path:', 'elif place.kind != "element":',
        "an element of an array is read that is not there",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[an index behind a test]",),
    ),
    Mutation(
        "divisions behind tests", _FLAT,
        'frozenset({"add",', 'frozenset({"floordiv", "add",',
        "a number is divided by zero",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[a division behind a test]",),
    ),
    Mutation(
        "calls that choose", _FLAT,
        "if len(symbols) != 1 or symbols[0] in self._under_way:",
        "if symbols[0] in self._under_way:",
        "a call runs the method of another class", (_SEVERAL_STAY,),
    ),
    Mutation(
        "calls that choose and store", _FLAT,
        "effects_of(operation) in _LOOKING", "True",
        "what a round stores comes after loads of the next one", (_SEVERAL_STAY,),
    ),
    Mutation(
        "calls that choose, where their tests fail", _FLAT,
        "        if path:\n            none = ", "        if False:\n            none = ",
        "a method is looked for in what is no object", (_SEVERAL_LATE,),
    ),
    Mutation(
        "what needs calls comes before them", _FLAT,
        "                given.update(operation.results)", "                pass",
        "a value is used before it is there", (_SEVERAL_LATE,),
    ),
    Mutation(
        "much behind tests", _FLAT,
        "or self._tested_cost > _COST_OF_LOAD * self._loads", "or False",
        "what few threads compute is computed by all",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[much behind a test]",),
    ),
    Mutation(
        "nothing is small", "sharedoa/codegen/expressions.py",
        'type = ir.ArrayType(I8, size)\n', 'type = ir.ArrayType(I8, 8)\n',
        "what is read of nothing is somebody else's memory",
        ("tests/codegen/test_flat_loops.py::test_the_same_everywhere",),
    ),
    Mutation(
        "zeros of both signs in straight code", "sharedoa/ir/rewrite.py",
        "        return repr(value)\n", "        return value\n",
        "-0.0 in a loop is the 0.0 that stands before it",
        ("tests/ir/test_flatten_loops.py::test_which_loops_are_flat[zeros of both signs]",),
    ),
    Mutation(
        "type tests in what threads ask first", "sharedoa/ir/rewrite.py",
        "return tuple(value) if isinstance(value, list) else value", "return value",
        "kernels that begin with isinstance are refused as a fault of ours",
        ("tests/runtime/test_array_classes.py::test_reading_takes_arrays_of_subclasses",),
    ),
)  # fmt: skip

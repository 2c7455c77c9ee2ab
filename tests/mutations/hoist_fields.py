"""Faults in loading fields before loops."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/hoist_fields.py"
_IN_PLACE = "sharedoa/ir/small_functions.py"
_TESTS = "tests/ir/test_hoist_fields.py"
_ONCE = f"{_TESTS}::test_which_are_loaded_once"
_NONE = f"{_TESTS}::test_none_is_asked_nothing"
_OTHERS = f"{_TESTS}::test_what_is_given_once_by_the_launch_and_once_by_others"
_RANDOM = f"{_TESTS}::test_random_loops_mean_the_same"

MUTATIONS = (
    Mutation(
        "None before a loop", _PASS,
        "if not all(map(self._facts.is_object, sorted(self._objects[object]))):", "if False:",
        "a field of null is read before a loop that asks it nothing", (_NONE, _OTHERS),
    ),
    Mutation(
        "code for objects runs with None", "sharedoa/runtime/binding.py",
        "            is_known &= (arguments[place] is not None) == is_object\n",
        "            pass\n",
        "a field of null is read before a loop that asks it nothing", (_NONE,),
    ),
    Mutation(
        "code for None runs with objects", "sharedoa/runtime/binding.py",
        "        if not all(is_object for _, is_object in self.objects):\n            return\n", "",
        "once None was given, fields are loaded in each round", (_NONE,),
    ),
    Mutation(
        "one of several arguments", _PASS, "elif not numbers <= known:", "elif False:",
        "a function asks the None that another call gives it", (_OTHERS,),
    ),
    Mutation(
        "fields that rounds change", _PASS,
        "if any(may_meet(role, each) for each in self._stored):", "if False:",
        "rounds see what a field was before the loop", (_ONCE, _RANDOM),
    ),
    Mutation(
        "objects of others", _PASS, "if numbers is None:", "if False:",
        "what may be none counts as an object",
        (_OTHERS,),
    ),
    Mutation(
        "fields of subclasses before a loop", _PASS,
        'if chain[0]["owner"] not in object.type.cls.ancestry():', "if False:",
        "a field is read of an object that has none", (f"{_TESTS}::test_fields_of_a_subclass",),
    ),
    Mutation(
        "short loops that LLVM keeps", _PASS, "        self._write_out(loop)\n", "",
        "rounds wait for each other", (f"{_TESTS}::test_short_loops_are_written_out",),
    ),
    Mutation(
        "parts of one field", _PASS, "return (self.object, self.chain[0][\"owner\"], *steps)",
        "return (self.object, self.chain[0][\"owner\"], *steps[:1])",
        "a member of a struct counts as another one", (_ONCE, _RANDOM),
    ),
    Mutation(
        "functions in the place of their own calls", _IN_PLACE,
        "if callee is None or callee in around:", "if callee is None or callee is around[0]:",
        "loops whose functions call themselves nest too deeply to be compiled", (_ONCE,),
    ),
    Mutation(
        "chains of functions in the place of calls", _IN_PLACE,
        "or self._left <= 0 or", "or",
        "to compile a loop takes minutes whose functions call others several times",
        (f"{_TESTS}::test_chains_of_small_functions_stay_calls_at_some_point",),
    ),
)  # fmt: skip

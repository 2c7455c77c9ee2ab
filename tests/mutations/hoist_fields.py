"""Faults in loading fields before loops."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/hoist_fields.py"
_BEFORE = "sharedoa/ir/before_loop.py"
_IN_PLACE = "sharedoa/ir/small_functions.py"
_TESTS = "tests/ir/test_hoist_fields.py"
_FILES = "tests/ir/test_files.py"
_ONCE = f"{_TESTS}::test_which_are_loaded_once"
_NONE = f"{_TESTS}::test_none_is_asked_nothing"
_OTHERS = f"{_TESTS}::test_what_is_given_once_by_the_launch_and_once_by_others"

MUTATIONS = (
    Mutation(
        "None before a loop", _PASS,
        "numbers is not None and all(map(self._facts.is_object, sorted(numbers)))",
        "numbers is not None",
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
        "fields that rounds change", _BEFORE,
        "if any(may_meet(role, each) for each in self._stored):", "if False:",
        "rounds go on with what a field was before they, or other threads, stored to it",
        (f"{_TESTS}::test_which_are_loaded_once",),
    ),
    Mutation(
        "objects of others", _PASS, "if numbers is None:", "if False:",
        "what may be none counts as an object",
        (_OTHERS,),
    ),
    Mutation(
        "fields of subclasses before a loop", _BEFORE,
        'if chain[0]["owner"] not in object.type.cls.ancestry():', "if False:",
        "memory behind an object is read as a field of its subclass",
        (f"{_FILES}::test_file[owner_fields_arrays]",),
    ),
    Mutation(
        "short loops that LLVM keeps", _PASS, "        self._write_out(loop)\n", "",
        "rounds wait for each other", (f"{_TESTS}::test_short_loops_are_written_out",),
    ),
    Mutation(
        "parts of one field", _BEFORE, "key = object, cls, *steps",
        "key = object, cls, *[*steps][:1]",
        "a member of a struct counts as another one", (f"{_TESTS}::test_which_are_loaded_once",),
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

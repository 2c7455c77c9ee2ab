"""Faults in loading early."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/early_loads.py"
_LOADS = "sharedoa/ir/field_loads.py"
_NEXT = "sharedoa/ir/next_elements.py"
_SMALL = "sharedoa/ir/small_functions.py"
_TESTS = "tests/ir/test_early_loads.py"
_RANDOM = f"{_TESTS}::test_random_loops_mean_the_same"
_ENDS = f"{_TESTS}::test_elements_at_the_ends"
_WHICH = f"{_TESTS}::test_what_is_loaded_early"
_ONCE = f"{_TESTS}::test_what_is_loaded_early_outside_of_loops"
_FIRST = f"{_TESTS}::test_the_first_element_of_an_array_in_rows"
_CODE = "tests/codegen/test_early_loads.py::test_no_branch_between_loads"
_FILES = "tests/ir/test_files.py"

MUTATIONS = (
    Mutation(
        "functions that end in themselves", _NEXT,
        "or symbols[0] in under_way:",
        ":",
        "a kernel does not compile", (f"{_TESTS}::test_a_function_that_ends_in_a_call_of_itself",),
    ),
    Mutation(
        "elements at a place of their own", _NEXT,
        "if base not in given or unconverted(index) not in given:",
        "if base not in given:",
        "a kernel does not compile", (_WHICH,),
    ),
    Mutation(
        "indices that rounds read", _NEXT,
        'if next is None or next.kind != "binary" or next["operator"] not in ("add", "sub"):',
        "if next is None:",
        "a kernel does not compile", (_WHICH,),
    ),
    Mutation(
        "what was asked before", _PASS,
        "if place is None or place < begin:",
        "if place is None:",
        "what few ask is loaded when all ask for more", (_WHICH,),
    ),
    Mutation(
        "early loads of rounds that are shared", _PASS,
        'is_loop = kind is not None and kind.is_loop and "shared" not in operation.attributes',
        "is_loop = kind is not None and kind.is_loop",
        "what owners load before a loop is loaded in each round",
        (f"{_TESTS}::test_rounds_that_threads_share_do_not",),
    ),
    Mutation(
        "the next element is not looked at", _NEXT,
        "next = write(\"select\", [is_inside, next, zero], counts)", "pass",
        "what is behind the last element of an array is read", (_ENDS,),
    ),
    Mutation(
        "elements before the first", _NEXT,
        'for operator, bound in (("lt", length), ("ge", zero)):',
        'for operator, bound in (("lt", length),):',
        "what is before the first element of an array is read", (_ENDS,),
    ),
    Mutation(
        "arrays that a function may leave alone", _NEXT,
        "if any(effects_of(each) & Effects.RETURNS for each in before):", "if False:",
        "an element is read of an array that has none",
        (f"{_TESTS}::test_no_next_element_where_a_function_gives_another_object", _RANDOM),
    ),
    Mutation(
        "arrays that rounds change", _NEXT,
        "if step is None or root in inside or", "if step is None or",
        "an element of another array is read than the next round's",
        (f"{_TESTS}::test_what_is_loaded_early",),
    ),
    Mutation(
        "fields of subclasses", _PASS,
        "if place not in at_once and place.owner in ancestry", "if place not in at_once",
        "a field is read of an object that has none",
        (f"{_TESTS}::test_fields_of_subclasses_are_not",),
    ),
    Mutation(
        "before the first load", _LOADS,
        "if operation.regions or effects_of(operation) & ~_PLAIN:", "if False:",
        "an object's fields are read before a test that it is none",
        (f"{_TESTS}::test_random_loops_mean_the_same",),
    ),
    Mutation(
        "several methods", _LOADS,
        "if len(symbols) != 1:\n            return None\n        numbers",
        "if not symbols:\n            return None\n        numbers",
        "what one of several methods reads counts as read by all",
        (f"{_TESTS}::test_random_loops_mean_the_same",),
    ),
    Mutation(
        "behind loops", _PASS,
        "is_behind_a_loop = order.loops[place + 1] > order.loops[begin]",
        "is_behind_a_loop = False",
        "what is needed behind a loop is read before it", (_WHICH, _FILES),
    ),
    Mutation(
        "every element of an array in rows", _PASS,
        "place.is_known or is_beside or not any(step in place.steps for step in _LATER)", "True",
        "four rows are read for an element, of which one is needed", (_FIRST,),
    ),
    Mutation(
        "what a condition leads to", _PASS,
        "order is here and place not in here.changing and not is_own", "order is here",
        "fields are read of objects that are not asked for them", (_ONCE,),
    ),
    Mutation(
        "what threads ask of their own objects", _PASS,
        'value.source.kind == "run_element"', "False",
        "all threads read what is to tell which few go on", (_FILES,),
    ),
    Mutation(
        "behind tests of functions", _PASS,
        "        if function is program.kernel:\n", "        if True:\n",
        "fields are read wherever a function is called", (_FILES,),
    ),
    Mutation(
        "before any test", _PASS,
        "        if is_behind:\n            yield region", "        yield region",
        "all threads read what few need", (_ONCE,),
    ),
    Mutation(
        "what a function may load", _PASS,
        "places = self.loads.certain(operation, value) or ()", "pass",
        "what a call reads behind a test of its own is read in any case", (_ONCE,),
    ),
    Mutation(
        "loops of known length", _PASS,
        'return is_loop and (operation.kind != "for" or rounds_of(operation) is None)',
        "return is_loop",
        "loops that are written out anyway load early", (_FILES,),
    ),
    Mutation(
        "what the next round begins with", _LOADS,
        'self._flow(operands, loop.regions[0].arguments[skipped:])', "pass",
        "the next round waits for its object again", (_WHICH, _FILES),
    ),
    Mutation(
        "together is what compilers know", "sharedoa/targets/nvptx_warp.py",
        "taken = builder.and_(every, none)", "taken = I64(0)",
        "ptxas moves the loads back behind the branch", (_CODE,),
    ),
    Mutation(
        "what follows an early return", _SMALL,
        "replace_uses(rest, given)", "pass",
        "behind a branch of a function that stands in place, its results are those of nobody",
        (_RANDOM,),
    ),
)  # fmt: skip

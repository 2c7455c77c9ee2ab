"""Faults in what is known of arguments, and in what is computed of it when code is compiled."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/constant_arguments.py"
_EVALUATION = "sharedoa/ir/evaluation.py"
_SCALARS = "sharedoa/model/scalars.py"
_JOB = "sharedoa/ir/job.py"
_FUNCTIONS = "sharedoa/targets/mathematics.py"
_VARIANTS = "sharedoa/runtime/specialisation.py"
_FILES = ("tests/ir/test_files.py",)
_NUMBERS = ("tests/ir/test_evaluation.py",)
_UNKNOWN = (f"{_NUMBERS[0]}::test_what_is_not_known",)
_STEPS = ("tests/runtime/test_specialisation.py",)
_BINDING = "sharedoa/runtime/binding.py"
_QUICK = "sharedoa/runtime/launch_code.py"
_FROZEN = "tests/runtime/test_frozen.py"
_LIBRARY = "sharedoa/ir/library_arguments.py"
_LAUNCHES = ("tests/runtime/test_specialised_launches.py",)
_OWN = (f"{_LAUNCHES[0]}::test_each_launch_sees_its_own_numbers",)
_EQUAL = (f"{_STEPS[0]}::test_numbers_that_compare_equal",)


MUTATIONS = (
    Mutation(
        "variants that cannot be compiled", "sharedoa/runtime/specialisation.py",
        "if task is not None and task.failure is not None:",
        "if task is None:",
        "a launch fails as code failed that it does not need",
        ("tests/runtime/test_specialised_launches.py::"
         "test_launches_go_on_where_a_variant_cannot_be_compiled",),
    ),
    # ---------------------------------------------------------------- arguments
    Mutation(
        "calls that nobody declared", _PASS,
        "    if not all(map(is_known, operations_in(program))):\n", "    if False:\n",
        "an operation calls a function with another number than all calls that are seen", _FILES,
    ),
    Mutation(
        "one call stands for all", _PASS,
        "        if before is None or not all(map(same, before, after)):\n",
        "        if before is None:\n",
        "a second call passes another number", _FILES,
    ),
    Mutation(
        "one candidate is given it", _PASS,
        "            for symbol in callees(operation):\n",
        "            for symbol in callees(operation)[:1]:\n",
        "the other methods of a call keep what another call passes", _FILES,
    ),
    Mutation(
        "calls that are not reached", _PASS,
        "for arm in _arms(operation, known)]\n                if not",
        "for arm in operation.regions]\n                if not",
        "a call that is never made hides what all others pass", _FILES,
    ),
    Mutation(
        "zeros of both signs", _EVALUATION,
        "    return repr(one) == repr(other)", "    return one == other",
        "0.0 and -0.0 are passed, and one of them is taken for both", (*_FILES, *_NUMBERS),
    ),
    Mutation(
        "arms that differ", _PASS,
        "known[result] = first if all(same(first, each) for each in rest) else None",
        "known[result] = first",
        "a branch gives what its first arm yields",
        ("tests/ir/test_files.py::test_file[constant_arguments_branches]",),
    ),
    Mutation(
        "the other arm", _PASS, "[then if test else otherwise]", "[otherwise if test else then]",
        "the arm that is not run stands in the place of the branch",
        ("tests/ir/test_files.py::test_file[constant_arguments_branches]",),
    ),
    Mutation(
        "behind an arm that ends elsewhere", _PASS,
        "                    rest, pending = [*rest, end], []  # what follows is not reached\n",
        "                    rest = [*rest, end]\n",
        "what follows a branch that returns is run",
        ("tests/ir/test_files.py::test_file[constant_arguments_branches]",),
    ),
    Mutation(
        "tests of loops that end elsewhere", _PASS,
        "arm.terminator.kind == \"yield\" or region.terminator.kind != \"condition\"", "True",
        "the test of a loop has no condition", _FILES,
    ),
    Mutation(
        "the other value", _PASS, "operation.operands[1 if test else 2]",
        "operation.operands[2 if test else 1]",
        "a choice gives what was not chosen",
        ("tests/ir/test_files.py::test_file[constant_arguments_branches]",),
    ),
    # ----------------------------------------------------------- library functions
    Mutation(
        "sines of constants", _LIBRARY,
        "    return not on_device or operation[\"name\"] == \"pow\"\n", "    return False\n",
        "LLVM computes a sine otherwise than the processor's library",
        ("tests/ir/test_files.py::test_file[constant_arguments_functions]",),
    ),
    Mutation(
        "powers of constants", _LIBRARY,
        "operation[\"operator\"] == \"pow\" and _is_float(operation.result)", "False",
        "a power whose exponent is 2 becomes a product", _FILES,
    ),
    Mutation(
        "what is stored to a field", _LIBRARY,
        "self._memory.get(role, 0) | given | way", "self._memory.get(role, 0) | way",
        "LLVM knows what is loaded, as it was stored before",
        ("tests/ir/test_library_arguments.py::test_what_is_known[stored-nb]",),
    ),
    Mutation(
        "what is not stored to a field", _LIBRARY,
        "self._memory.get(role, 0) | given | way", "self._memory.get(role, 0) | given",
        "LLVM knows what is loaded, as nothing was stored since",
        ("tests/ir/test_library_arguments.py::test_what_is_known[not_stored-na]",),
    ),
    Mutation(
        "tests of unknown numbers", _LIBRARY, "        self._test(decisive)\n", "",
        "LLVM knows a number where it is equal to a constant",
        ("tests/ir/test_library_arguments.py::test_what_is_known[left-ab]",),
    ),
    Mutation(
        "what is returned", _LIBRARY, "= found | given | way", "= found | way",
        "LLVM knows what a function returns",
        ("tests/ir/test_library_arguments.py::test_what_is_known[computed-nb]",),
    ),
    Mutation(
        "numbers of rounds", _LIBRARY,
        "self._pass_on([], [bodies[0][:1]], decisive, True)", "pass",
        "LLVM knows a counter where it has written out a loop",
        ("tests/ir/test_library_arguments.py::test_what_is_known[rounds-ab]",),
    ),
    Mutation(
        "exact functions", _FUNCTIONS,
        "frozenset({*EXACT_INTRINSICS, *_CLASSIFICATIONS})",
        "frozenset({*EXACT_INTRINSICS, *_CLASSIFICATIONS, \"sin\"})",
        "a function of a library is taken for an exact one",
        ("tests/ir/test_files.py::test_file[constant_arguments_functions]",),
    ),
    # ------------------------------------------------------------------ arithmetic
    Mutation(
        "integers by zero", _EVALUATION,
        " or (operator in (\"floordiv\", \"mod\") and right == 0):", ":",
        "the compiler divides by zero", (*_FILES, *_NUMBERS),
    ),
    Mutation(
        "wide shifts", _EVALUATION,
        "    if operator in (\"lshift\", \"rshift\") and not 0 <= right < type.bits:\n",
        "    if operator in (\"lshift\", \"rshift\") and not 0 <= right:\n",
        "a shift by more than the width is computed", (*_FILES, *_NUMBERS),
    ),
    Mutation(
        "numbers that are none", _EVALUATION,
        "    return number if number == number else None\n", "    return number\n",
        "a NaN of the source is one of many", _UNKNOWN,
    ),
    Mutation(
        "constants of too many digits", _EVALUATION,
        "    if type.is_integer and not type.range[0] <= value <= type.range[1]:\n",
        "    if False:\n",
        "what a constant beyond its type is, nobody said", _UNKNOWN,
    ),
    Mutation(
        "results that wrap", _EVALUATION,
        "    return None if found is None else _of_type(found, result.type)\n",
        "    return found\n",
        "a sum of u8 is more than 255", (*_NUMBERS, *_FILES),
    ),
    Mutation(
        "two roundings", _SCALARS, "self.dtype.type(_once_rounded(value))",
        "self.dtype.type(value)",
        "an integer becomes f64 before it becomes f32",
        ("tests/model/test_scalars.py",),
    ),
    # ----------------------------------------------------------- launches and steps
    Mutation(
        "numbers that launches compare", _JOB,
        "self._ask(\"constant\", parameter)", "self._answer((\"constant\", parameter))",
        "a step takes the code of another one that differs in a number", _EQUAL,
    ),
    Mutation(
        "words that are no numbers", _JOB,
        "    return number if number == number else None\n", "    return number\n",
        "one NaN stands for all", _EQUAL,
    ),
    Mutation(
        "parameters that nobody uses", _JOB,
        "isinstance(type, ScalarType) and parameter in used",
        "isinstance(type, ScalarType)",
        "the same code is compiled again", (f"{_STEPS[0]}::test_numbers_that_nobody_uses",),
    ),
    Mutation(
        "variants without end", _VARIANTS,
        "            if len(self._variants) >= MOST_VARIANTS:\n", "            if False:\n",
        "a hundred steps are a hundred compilations",
        (f"{_STEPS[0]}::test_a_few_variants_then_what_all_run",),
    ),
    Mutation(
        "blocks of other launches", "sharedoa/runtime/facts.py",
        "None if word is None else (word & 0xFFFFFFFF, word >> 32)",
        "None if word is None else (word >> 32, word & 0xFFFFFFFF)",
        "threads take themselves for others", (f"{_STEPS[0]}::test_blocks_are_known",),
    ),
    Mutation(
        "variants by their blocks", _VARIANTS,
        "return found if self._admits(found) else ()",
        "return found if self._admits((*words.items(),)) else ()",
        "each block is a variant more", (f"{_STEPS[0]}::test_blocks_are_known",),
    ),
    Mutation(
        "values of other slots", _VARIANTS, "{place: slots[slot] for", "{place: slots[place] for",
        "a number is the address of an array", _EQUAL,
    ),
    # ------------------------------------------------------- numbers that launches repeat
    Mutation(
        "quick launches with other numbers", _QUICK,
        "fits=f\" and {FITS}\" if has_scalars else \"\"", "fits=\"\"",
        "a launch runs code for the numbers of the one before", _OWN,
    ),
    Mutation(
        "careful launches with other numbers", _BINDING,
        "is_known = bool(self.slots_view == self.known_words)", "is_known = True",
        "a launch that is converted runs code for other numbers", _OWN,
    ),
    Mutation(
        "one row of slots", _VARIANTS,
        "if rows and slot == rows[-1][0] + len(rows[-1][1]):", "if rows:",
        "a number is compared with another argument",
        (f"{_LAUNCHES[0]}::test_only_those_that_repeat",),
    ),
    Mutation(
        "numbers that always change", _VARIANTS,
        "self._watch = None if pause is None else", "self._watch =",
        "launches are looked at for ever",
        (f"{_LAUNCHES[0]}::test_numbers_that_always_change_cost_nothing",),
    ),
    Mutation(
        "numbers that changed", _VARIANTS,
        "if place not in self._changed and", "if",
        "what changed between two looks becomes a constant",
        (f"{_LAUNCHES[0]}::test_only_those_that_repeat",),
    ),
    Mutation(
        "slower variants", _VARIANTS, "Verdict(saved >= least,", "_Verdict(True,",
        "a variant that takes longer stays",
        (f"{_LAUNCHES[0]}::test_a_slower_variant_is_dropped",),
    ),
    Mutation(
        "variants that spill", _VARIANTS, "spilled[1] <= spilled[0] and", "",
        "a variant that needs more memory of its own stays",
        (f"{_LAUNCHES[0]}::test_what_a_device_says_of_the_code",),
    ),
    # -------------------------------------------------------------------- frozen objects
    Mutation(
        "objects in the place of deleted ones", "sharedoa/heap/by_type.py",
        "        if cls.frozen:\n", "        if False:\n",
        "code knows what another object held",
        (f"{_FROZEN}::test_a_deleted_object_is_not_remembered",),
    ),
    Mutation(
        "other objects of a frozen class", _JOB,
        "return [*[(place, word) for place, word in found if word is not None], *frozen]",
        "return [(place, word) for place, word in found if word is not None]",
        "a launch runs code that knows another object",
        (f"{_FROZEN}::test_subclasses_and_other_scenes",),
    ),
    Mutation(
        "kernels that write", "sharedoa/frontend/program.py", "        check_frozen(found)\n", "",
        "a kernel changes what code knows", (f"{_FROZEN}::test_kernels_cannot_write",),
    ),
    Mutation(
        "NumPy's views of frozen fields", "sharedoa/heap/field_view.py",
        "fixed = self._cls.frozen or holds_references(self.type)",
        "fixed = holds_references(self.type)",
        "the host changes what code knows",
        (f"{_FROZEN}::test_the_host_cannot_write[aos-elements that were read]",),
    ),
    Mutation(
        "rows of frozen fields", "sharedoa/heap/field_view.py",
        "if self._cls.frozen and isinstance(value, np.ndarray):", "if False:",
        "the host changes what code knows",
        (f"{_FROZEN}::test_the_host_cannot_write[aos-NumPy, of rows]",),
    ),
    Mutation(
        "references to frozen objects", "sharedoa/ir/frozen.py",
        "return operation[\"operator\"] == \"is_not\" if is_asked else None",
        "return operation[\"operator\"] == \"is\" if is_asked else None",
        "an object is taken for null",
        (f"{_FROZEN}::test_results_are_those_of_what_is_read[cpu-launches]",),
    ),
    Mutation(
        "fast arithmetic of constants", "sharedoa/runtime/launch.py",
        "return is_asked and not heap.fastmath", "return is_asked",
        "results depend on when code is replaced",
        (f"{_LAUNCHES[0]}::test_where_results_might_differ",),
    ),
    # ------------------------------------------------------------------- structs
    Mutation(
        "numbers of structs are not compared", "sharedoa/runtime/launch_code.py",
        "isinstance(type, ScalarType) or bool(number_parts(type))", "isinstance(type, ScalarType)",
        "a launch with another struct runs the code of the last one",
        ("tests/runtime/test_known_structs.py::test_changes_of_the_only_numbers_are_seen",),
    ),
    Mutation(
        "slots of other numbers", "sharedoa/ir/number_parts.py",
        "max((place >> _SHIFT) - 1, 0)", "max((place >> _SHIFT) - 2, 0)",
        "a number of a struct is taken for its neighbour",
        ("tests/runtime/test_known_structs.py::test_changes_are_seen",),
    ),
    Mutation(
        "structs that libraries get", "sharedoa/ir/library_arguments.py",
        "or _is_frozen(type) or is_struct:", "or _is_frozen(type):",
        "LLVM computes other bits of a number in a struct than the library",
        ("tests/runtime/test_known_structs.py::test_what_a_library_is_given_stays",),
    ),
    Mutation(
        "structs of more than numbers", "sharedoa/ir/number_parts.py",
        "isinstance(each, ScalarType) or (isinstance(each, ValueType) and _holds_numbers(each))",
        "True",
        "a reference counts as a number",
        ("tests/runtime/test_known_structs.py::test_structs_with_references_stay",),
    ),
)  # fmt: skip

"""Faults in analyses of the typed tree."""

from .mutation import Mutation

_SHARED = "sharedoa/frontend/shared_loops.py"
_EFFECTS = "sharedoa/frontend/loop_effects.py"
_STALE = "sharedoa/frontend/stale_variables.py"
_USE = "sharedoa/frontend/array_use.py"
_STREAMING = "sharedoa/frontend/streaming.py"
_COMMON = "sharedoa/frontend/common_functions.py"
_COPIES = "sharedoa/frontend/loop_copies.py"
_DEPENDENCIES = "sharedoa/frontend/dependencies.py"
_OF_LOOPS = ("tests/frontend/test_shared_loops.py",)
_OF_CUTS = (
    "tests/codegen/test_cut_branches.py::test_threads_that_take_different_branches",
    "tests/codegen/test_cut_branches.py::test_what_helpers_leave_is_read_by_nobody",
)
_SAME = ("tests/runtime/test_same_arrays.py::test_stores_through_another_name_are_seen",)

MUTATIONS = (
    # --------------------------------------------------------------- array_use
    Mutation(
        "the same array as two parameters", _USE,
        "    if stores_references(program):\n        return tuple(",
        "    if False:\n        return tuple(",
        "an array that another name stores to is still taken for a run",
        _SAME,
    ),
    Mutation(
        "atomics store no references", _USE,
        "    if node.__class__ not in STORE:\n",
        "    if node.__class__ not in STORE or node.__class__.__name__ == 'Atomic':\n",
        "atomic_exch puts another object into an array that is taken for a run",
        _SAME,
    ),
    Mutation(
        "arrays in fields stay", _USE,
        "    return in_array or _is_reference_array(place.type)\n",
        "    return in_array\n",
        "a kernel gives a field another array, and elements of the old one are computed",
        ("tests/runtime/test_pieces.py::test_kernels_that_change_arrays_or_fields_end_it",),
    ),
    Mutation(
        "an array that is assigned to is only indexed", _USE,
        "            used.update(assigned_by(node))\n", "",
        "a parameter that becomes another array is taken for the run that came in",
        _SAME,
    ),
    # --------------------------------------------------------- stale variables
    Mutation(
        "a branch clears what its loop left", _STALE,
        "self.over(node.otherwise, stale | left_in_then)\n"
        "            return after | left_in_then | left_in_else\n",
        "self.over(node.otherwise, stale | self.over(node.then, stale))\n"
        "            return after\n",
        "threads that skip a branch help with its loop and keep what an iteration left",
        _OF_CUTS,
    ),
    Mutation(
        "a branch clears what its other loop left", _STALE,
        "            return after | left_in_then | left_in_else\n",
        "            return after | left_in_then\n",
        "the same of a loop in the else branch",
        _OF_CUTS,
    ),
    Mutation(
        "else does not see loops of then", _STALE,
        "self.over(node.otherwise, stale | left_in_then)", "self.over(node.otherwise, stale)",
        "threads that come to else have helped with loops of the other branch before",
        (*_OF_LOOPS, *_OF_CUTS),
    ),
    Mutation(
        "a loop's head is clean", _STALE,
        "        return stale | self._left_in(node.body)\n", "        return stale\n",
        "the next turn of an outer loop reads what an iteration left",
        _OF_LOOPS,
    ),
    Mutation(
        "else of a while clears for all", _STALE,
        "            self.over(node.body, stale)\n            return stale | self.over",
        "            self.over(node.body, stale)\n            return self.over",
        "who leaves a loop by break has not seen what its else assigns",
        ("tests/frontend/test_effects.py", *_OF_LOOPS, *_OF_CUTS),
    ),
    # ------------------------------------------------------------ shared loops
    Mutation(
        "iterations may read what others left", _SHARED,
        "    if reads_stale(loop.body, private) or reads_stale(",
        "    if reads_stale(",
        "an iteration reads a variable of the iteration before",
        _OF_LOOPS,
    ),
    Mutation(
        "what iterations left may be read afterwards", _SHARED,
        " or reads_stale(function.body, frozenset(), loop, left):", ":",
        "the last iteration's value is read after the loop",
        _OF_LOOPS,
    ),
    Mutation(
        "any step", _SHARED, "    return by_one and not is_fixed", "    return not is_fixed",
        "iterations of a loop that counts by two, or down, are numbered by one", _OF_LOOPS,
    ),
    Mutation(
        "loops with else", _SHARED, " and not is_fixed and not loop.otherwise", " and not is_fixed",
        "what stands in else is not run", _OF_LOOPS,
    ),
    Mutation(
        "breaks in else of inner loops", _SHARED,
        "_leaves(node.otherwise, inner)", "_leaves(node.otherwise, True)",
        "a break in the else of an inner loop ends the outer one", _OF_LOOPS,
    ),
    Mutation(
        "the loop's number is assigned", _SHARED,
        "    if loop.variable in changed:\n        return None\n", "",
        "an iteration changes the number that the next one counts from", _OF_LOOPS,
    ),
    Mutation(
        "sums and stores", _SHARED, "bool(stored) == bool(combined)", "not (stored or combined)",
        "an iteration sums what another one stores", _OF_LOOPS,
    ),
    Mutation(
        "objects of two assignments", _SHARED,
        "if assigned.count(variable) == 1)", "if assigned.count(variable) >= 1)",
        "an iteration reads a field of one object and stores to it in another", _OF_LOOPS,
    ),
    Mutation(
        "a sum that is read", _SHARED,
        "not isinstance(writes[0], tree.Assign) or reads != 1",
        "not isinstance(writes[0], tree.Assign)",
        "an iteration looks at the sum so far", _OF_LOOPS,
    ),
    Mutation(
        "narrow sums", _SHARED, " or type.bits not in _WIDTHS", "",
        "sums of i8 and i16 are combined in registers of 32 bits", _OF_LOOPS,
    ),
    # ------------------------------------------------------------ loop effects
    Mutation(
        "many fields that are read", _EFFECTS,
        "        if len(stored) > 1 or reader.has_loop:", "        if reader.has_loop:",
        "an iteration passes on in one field what it sees in another", _OF_LOOPS,
    ),
    Mutation(
        "loops that wait", _EFFECTS,
        "        if len(stored) > 1 or reader.has_loop:", "        if len(stored) > 1:",
        "an iteration goes on and on until another one has stored", _OF_LOOPS,
    ),
    Mutation(
        "two stores to a field", _EFFECTS,
        "        if field in self.stored or not _known", "        if not _known",
        "which of two values stays depends on the order", _OF_LOOPS,
    ),
    Mutation(
        "values that differ", _EFFECTS,
        " or not _known(node.value, variables).invariant:", ":",
        "each iteration stores its own number", _OF_LOOPS,
    ),
    Mutation(
        "objects without a name", _EFFECTS,
        "        if None in read_in or read_in", "        if read_in",
        "two elements that are computed may be two objects", _OF_LOOPS,
    ),
    Mutation(
        "parameters that change", _EFFECTS,
        "                known[node.variable] = _UNKNOWN\n", "                pass\n",
        "a method reads one object and stores to another by the same name", _OF_LOOPS,
    ),
    Mutation(
        "one candidate stands for all", _EFFECTS,
        "            return all(self._call(symbol, arguments, variables) for symbol in symbols)",
        "            return any(self._call(symbol, arguments, variables) for symbol in symbols)",
        "some candidate of a call stores or counts", _OF_LOOPS,
    ),
    # --------------------------------------------------------------- streaming
    Mutation(
        "fields of others that are stored to", _STREAMING,
        "    return fits and not reader.stored & reader.read_elsewhere", "    return fits",
        "a thread with several objects loads before it stores what it loads",
        ("tests/frontend/test_streaming.py",),
    ),
    Mutation(
        "elements of the receiver by variables", _STREAMING,
        "not isinstance(node.index, tree.Constant)", "False",
        "two elements of an inline array may be the same", ("tests/frontend/test_streaming.py",),
    ),
    Mutation(
        "self becomes another object", _STREAMING,
        "    return None if variable in assigned else variable", "    return variable",
        "what is stored to is not the receiver", ("tests/frontend/test_streaming.py",),
    ),
    # ---------------------------------------------- common functions and copies
    Mutation(
        "recursive functions in common", _COMMON,
        "for symbol in found if symbol not in calls.behind(symbol))", "for symbol in found)",
        "a function that calls itself is led through one place",
        ("tests/frontend/test_common_functions.py",),
    ),
    Mutation(
        "nothing after a branch that returns", _COMMON,
        "[*node.otherwise, *(rest if returns else ())]", "[*node.otherwise]",
        "what follows a branch that returns is its other way",
        ("tests/frontend/test_common_functions.py",),
    ),
    Mutation(
        "copies of the last caller", _COPIES,
        "            self.limited[loop] = min(copies, self.limited.get(loop, copies))",
        "            self.limited[loop] = copies",
        "a loop that several calls lead to is copied as one of them has room for",
        ("tests/frontend/test_loop_copies.py",),
    ),
    Mutation(
        "methods side by side add up", _COPIES,
        "together = min(count * len(methods), INSTRUCTIONS)",
        "together = min(len(methods), INSTRUCTIONS)",
        "calls below calls choose among products of methods",
        ("tests/frontend/test_loop_copies.py",),
    ),
    # ------------------------------------------------------------ dependencies
    Mutation(
        "methods that are overridden later", _DEPENDENCIES,
        "        return self == ResolutionDependency.of(self.cls, self.name)",
        "        return True",
        "a subclass that is defined later is called by the old code",
        ("tests/frontend/test_dependencies.py",),
    ),
    Mutation(
        "subclasses that are defined later", _DEPENDENCIES,
        "        return tuple(self.cls.concrete()) == self.concrete", "        return True",
        "isinstance does not know them", ("tests/frontend/test_dependencies.py",),
    ),
    Mutation(
        "equal constants of another type", _DEPENDENCIES,
        "        return type(now) is type(self.value) and isinstance(now, plain) and repr(now)",
        "        return isinstance(now, plain) and str(now == self.value and self.text)",
        "1, True and 1.0, or 0.0 and -0.0, are taken for the same",
        ("tests/runtime/test_constants.py",),
    ),
)  # fmt: skip

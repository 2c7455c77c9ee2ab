"""Faults in analyses and passes over programs in SSA form."""

from .mutation import Mutation

_USE = "sharedoa/ir/array_use.py"
_STREAMING = "sharedoa/ir/streaming.py"
_ROLES = "sharedoa/ir/roles.py"
_SHARED = "sharedoa/ir/passes/shared_loops.py"
_STORES = "sharedoa/ir/passes/independent_stores.py"
_CUT = "sharedoa/ir/passes/cut_branches.py"
_SINK = "sharedoa/ir/passes/sink_stores.py"
_UNROLL = "sharedoa/ir/passes/unroll_copies.py"
_UNUSED = "sharedoa/ir/passes/unused.py"
_IDLE = "sharedoa/ir/passes/idle_threads.py"
_OF_IDLE = ("tests/ir/test_idle_threads.py",)
_MELDING = "sharedoa/ir/passes/call_melding.py"
_AT_CALLS = "sharedoa/ir/passes/cut_at_calls.py"
_COPIES = "sharedoa/ir/passes/limit_copies.py"
_OF_STREAMING = ("tests/frontend/test_streaming.py",)
_OF_LOOPS = ("tests/ir/test_shared_loops.py",)
_OF_UNDECLARED = ("tests/ir/test_undeclared.py",)

MUTATIONS = (
    # -------------------------------------------------------------------- lists
    Mutation(
        "functions with lists are cut", _AT_CALLS,
        "(self._recursive(symbol) or _has_lists(function))", "self._recursive(symbol)",
        "a list is used when the function in whose memory it is has returned",
        (
            "tests/codegen/test_melded_calls.py::"
            "test_lists_that_are_made_before_and_used_behind",
        ),
    ),
    Mutation(
        "lists go with rounds of loops", _SHARED,
        "if any(isinstance(each.type, ListType) for each in live_ins([body])):", "if False:",
        "a loop is shared whose rounds need a list that other threads cannot reach",
        ("tests/runtime/test_lists.py::test_lists_are_private_where_threads_share_loops",),
    ),
    Mutation(
        "lists of earlier rounds are forgotten", "sharedoa/frontend/list_lifetimes.py",
        "if any(argument in reached and used.get(argument) for argument in carried):",
        "if False:",
        "two names refer to one list that CPython makes anew in each round",
        ("tests/runtime/test_lists.py::test_complaints",),
    ),
    Mutation(
        "loads of lists are invariant", "sharedoa/codegen/memory.py",
        "    if lvalue.stack is None:  # which LLVM itself knows best", "    if True:",
        "LLVM moves a load of an element before the stores that made the list",
        ("tests/runtime/test_lists.py::test_everywhere_as_in_cpython",),
    ),
    Mutation(
        "rows of inline arrays are as far apart as elements", "sharedoa/model/record.py",
        "dtype.base.itemsize * math.prod(lengths[axis + 1 :])", "dtype.base.itemsize",
        "views of fields with two indices overlap",
        ("tests/runtime/test_inline_arrays.py::test_everywhere_as_in_cpython",),
    ),
    # --------------------------------------------------------------- array_use
    Mutation(
        "the same array as two parameters", _USE,
        "    if stores_references(program):\n        return tuple(",
        "    if False:\n        return tuple(",
        "an array that another name stores to is still taken for a run",
        (
            "tests/runtime/test_same_arrays.py"
            "::test_stores_through_another_name_are_seen[exchanged-cpu-tile]",
        ),
    ),
    Mutation(
        "atomics store no references", _USE,
        "        elif kind.changes:\n", "        elif kind.name == \"store\":\n",
        "atomic_exch puts another object into an array that is taken for a run",
        (
            "tests/runtime/test_same_arrays.py"
            "::test_stores_through_another_name_are_seen[exchanged-cpu-tile]",
        ),
    ),
    Mutation(
        "arrays in fields stay", _USE,
        "_are_references(type)) or _element_class(type) is not None\n", "_are_references(type))\n",
        "a kernel gives a field another array, and elements of the old one are computed",
        ("tests/runtime/test_pieces.py::test_kernels_that_change_arrays_or_fields_end_it",),
    ),
    Mutation(
        "an array that is assigned to is only indexed", _USE,
        "        return False\n\n\ndef _loads(",
        "        return operation.kind in (\"yield\", \"continue\", \"select\")\n\n\ndef _loads(",
        "a parameter that becomes another array is taken for the run that came in",
        (
            "tests/runtime/test_same_arrays.py"
            "::test_stores_through_another_name_are_seen[becomes_another-interpreted-aos]",
        ),
    ),
    # ------------------------------------------------------------ shared loops
    Mutation(
        "what rounds left may be read", _SHARED,
        "        if how is None:\n            return None\n        found",
        "        if how is None:\n            how = \"add\"\n        found",
        "a round reads a variable of the round before, or the last one's is read after the loop",
        _OF_LOOPS,
    ),
    Mutation(
        "any step", _SHARED, "constant_of(step) != 1 or len", "len",
        "rounds of a loop that counts by two, or down, are numbered by one", _OF_LOOPS,
    ),
    Mutation(
        "loops with else", _SHARED, " or len(otherwise.operations) > 1 or not is_plain:", ":",
        "what stands in else is not run", _OF_LOOPS,
    ),
    Mutation(
        "breaks in else of inner loops", _SHARED,
        "            is_own = kind.is_loop and each is not operation.regions[-1]\n",
        "            is_own = kind.is_loop\n",
        "a break in the else of an inner loop ends the outer one", _OF_LOOPS,
    ),
    Mutation(
        "sums and stores", _SHARED, "bool(stored) == bool(found)", "not (stored or found)",
        "a round sums what another one stores", _OF_LOOPS,
    ),
    Mutation(
        "a sum that is read", _SHARED,
        "            if any(use not in self._allowed for use in self._uses.get(value, ())):\n",
        "            if False:\n",
        "a round looks at the sum so far", _OF_LOOPS,
    ),
    Mutation(
        "narrow sums", _SHARED, " or type.bits not in _WIDTHS", "",
        "sums of i8 and i16 are combined in registers of 32 bits", _OF_LOOPS,
    ),
    Mutation(
        "what inner loops leave with", _SHARED, "[\"continue\", \"break\"]", "[\"continue\"]",
        "an inner loop that is left by break begins the sum anew", _OF_LOOPS,
    ),
    Mutation(
        "what inner loops begin with", _SHARED,
        "        found = [_Way(source.operands[place], carried)]\n",
        "        found: list[_Way] = []\n",
        "an inner loop sums from something else on than the sum so far",
        ("tests/ir/test_shared_loops.py", "tests/ir/test_shared_orders.py"),
    ),
    # ------------------------------------------------------ independent stores
    Mutation(
        "many fields that are read", _STORES,
        "        if len(stored) > 1 or reader.has_loop:", "        if reader.has_loop:",
        "a round passes on in one field what it sees in another", _OF_LOOPS,
    ),
    Mutation(
        "loops that wait", _STORES,
        "        if len(stored) > 1 or reader.has_loop:", "        if len(stored) > 1:",
        "a round goes on and on until another one has stored", _OF_LOOPS,
    ),
    Mutation(
        "two stores to a field", _STORES,
        "        if field in self.stored or not values", "        if not values",
        "which of two values stays depends on the order", _OF_LOOPS,
    ),
    Mutation(
        "values that methods read", _STORES,
        "return value.source is not None and _computes(value.source)\n\n\nclass _Reader",
        "return True\n\n\nclass _Reader",
        "of several values that rounds store the last one is another one in each run", _OF_LOOPS,
    ),
    Mutation(
        "values that differ", _STORES,
        " or not values.of(value).invariant:", ":",
        "each round stores its own number", _OF_LOOPS,
    ),
    Mutation(
        "objects without a name", _STORES,
        "        if None in read_in or read_in", "        if read_in",
        "two elements that are computed may be two objects", _OF_LOOPS,
    ),
    Mutation(
        "objects that functions find", _STORES,
        "self._given.get(unconverted(value), _UNKNOWN).identity",
        "self._given.get(unconverted(value), _Known(value)).identity",
        "a method that is called twice in a round finds two objects by one name", _OF_LOOPS,
    ),
    Mutation(
        "one candidate stands for all", _STORES,
        "return all(self._call(symbol, operation.operands, values) for symbol in symbols)",
        "return any(self._call(symbol, operation.operands, values) for symbol in symbols)",
        "some candidate of a call stores or counts", _OF_LOOPS,
    ),
    # ---------------------------------------------------------------- branches
    Mutation(
        "else for all", _CUT,
        "[own, others] if is_then else [others, own]", "[own, others]",
        "the threads that ran the branch run the other one, too",
        (
            "tests/ir/test_meaning.py::test_branches_around_loops",
            "tests/codegen/test_cut_branches.py::test_threads_that_take_different_branches",
            "tests/codegen/test_cut_branches.py::test_those_that_skip_the_loop_help",
        ),
    ),
    Mutation(
        "loops for all", _CUT,
        "[value, elsewhere] if is_then else [elsewhere, value]", "[value, elsewhere]",
        "the loop of the other branch has rounds in threads that skip it, and none in its own",
        (
            "tests/ir/test_meaning.py::test_branches_around_loops",
            "tests/codegen/test_cut_branches.py::test_threads_that_take_different_branches",
            "tests/codegen/test_cut_branches.py::test_those_that_skip_the_loop_help",
        ),
    ),
    Mutation(
        "arms that end elsewhere", _CUT,
        "    return ends and not any", "    return not any",
        "threads that left a loop in a branch go on behind it",
        (
            "tests/ir/test_meaning.py::test_branches_around_loops",
            "tests/codegen/test_cut_branches.py::test_threads_that_take_different_branches",
            "tests/codegen/test_cut_branches.py::test_those_that_skip_the_loop_help",
        ),
    ),
    # ------------------------------------------------------------------ stores
    Mutation(
        "an index and a member", _ROLES,
        "all(a == b or a is ANY or b is ANY for a, b in", "all(a == b for a, b in",
        "an element by a variable is taken for another one than one by a number",
        (
            "tests/codegen/test_pending_stores.py"
            "::test_the_same_as_on_the_cpu_whatever_is_the_same[from_the_end-aos]",
        ),
    ),
    Mutation(
        "indices from the end", _ROLES,
        "ANY if index is None or index < 0 else index", "ANY if index is None else index",
        "-1 and the last number are taken for different elements",
        (
            "tests/codegen/test_pending_stores.py"
            "::test_the_same_as_on_the_cpu_whatever_is_the_same[from_the_end-aos]",
        ),
    ),
    Mutation(
        "stores that wait behind a barrier", _SINK,
        "effects_of(operation) & ~Effects.ASKS_THREAD\n",
        "effects_of(operation) & ~(Effects.ASKS_THREAD | Effects.WAITS)\n",
        "other threads of the block read shared memory before it is written",
        ("tests/differential/test_blocks.py::test_programs_agree",),
    ),
    Mutation(
        "calls while stores wait", _SINK,
        "effects_of(operation) & ~Effects.ASKS_THREAD\n            or operation.regions\n",
        "operation.regions\n",
        "what a function reads was stored before it is called",
        (
            "tests/codegen/test_pending_stores.py"
            "::test_the_same_as_on_the_cpu_whatever_is_the_same[calls-tile]",
        ),
    ),
    Mutation(
        "stores pass loads", _SINK,
        "if _meets(role_of(operation.operands[0]), waiting):\n", "if False:\n",
        "an operation reads what waits to be stored",
        (
            "tests/codegen/test_pending_stores.py"
            "::test_the_same_as_on_the_cpu_whatever_is_the_same[from_the_end-aos]",
        ),
    ),
    Mutation(
        "copies of the first round", _UNROLL,
        "[body.arguments[0].type], value=number)", "[body.arguments[0].type], value=rounds[0])",
        "every copy of a loop has the number of its first round",
        (
            "tests/codegen/test_pending_stores.py"
            "::test_the_same_as_on_the_cpu_whatever_is_the_same[from_the_end-aos]",
        ),
    ),
    # ------------------------------------------------------------------ unused
    Mutation(
        "what loops begin with", _UNUSED,
        "            found.append(operation.operands[skipped + number])\n", "",
        "a value goes that the first round is given",
        ("tests/ir/test_meaning.py::test_kernels_with_loops",),
    ),
    Mutation(
        "what undeclared operations are given", _UNUSED,
        "return operation.operands if operation in self._whole else ()", "return ()",
        "a value goes that a region yields to an operation of which nobody knows what it does",
        _OF_UNDECLARED,
    ),
    # --------------------------------------------------------------- streaming
    Mutation(
        "fields of others that are stored to", _STREAMING,
        "    return fits and not reader.stored & reader.read_elsewhere", "    return fits",
        "a thread with several objects loads before it stores what it loads", _OF_STREAMING,
    ),
    Mutation(
        "elements of the receiver by variables", _STREAMING,
        "constant_of(operation.operands[1]) is None", "False",
        "two elements of an inline array may be the same", _OF_STREAMING,
    ),
    Mutation(
        "every object is the receiver", _STREAMING,
        "if operation.kind == \"field\" and unconverted(operation.operands[0]) is not receiver:",
        "if False:",
        "what is stored to is not the receiver", _OF_STREAMING,
    ),
    # ---------------------------------------------- threads that are asked
    Mutation(
        "threads with two things to do", _IDLE,
        "if does[True] != does[False]:", "if does[True]:",
        "a thread that has something else to do does nothing", _OF_IDLE,
    ),
    Mutation(
        "what is done before the test", _IDLE,
        "if operation.regions or effects_of(operation) & ~_MAY_BE_ASKED:", "if operation.regions:",
        "a thread that stored something before its test does not", _OF_IDLE,
    ),
    Mutation(
        "the answer of one", "sharedoa/targets/thread_loops.py",
        "someone = builder.or_(someone, answer)", "someone = answer",
        "a group is passed over whose last thread has nothing to do",
        ("tests/targets/test_thread_loops.py",),
    ),
    # ---------------------------------------------- common functions and copies
    Mutation(
        "recursive functions in common", _MELDING,
        " and not self.is_recursive(each)]", "]",
        "a function that calls itself is led through one place",
        ("tests/ir/test_call_melding.py",),
    ),
    Mutation(
        "nothing after a branch that returns", _MELDING,
        "[*otherwise.operations, *(rest if returns else ())]", "[*otherwise.operations]",
        "what follows a branch that returns is its other way",
        ("tests/ir/test_call_melding.py",),
    ),
    Mutation(
        "slots of ways that are not apart", _AT_CALLS,
        "            self._give_slots(inner, taken)\n",
        "            self._give_slots(inner, Counter())\n",
        "what an arm passes on takes the slot of what was made before its branch",
        ("tests/codegen/test_melded_calls.py::test_random_methods_mean_the_same",),
    ),
    Mutation(
        "ways left from within loops", _AT_CALLS,
        "parts = [None if _leaves(operation) else NO_CALL]", "parts = [NO_CALL]",
        "the first part of a method returns what the method gives, and no code",
        ("tests/codegen/test_melded_calls.py::test_random_methods_mean_the_same",),
    ),
    Mutation(
        "the same code for both ways", _AT_CALLS,
        "return (2 * self._exits + calls,)", "return (2 * (self._exits // 2) + calls,)",
        "threads go on where others were",
        ("tests/ir/test_files.py::test_file[call_melding_branches]",),
    ),
    Mutation(
        "operands of what is repeated", _AT_CALLS,
        "            used.update(operation.operands)\n", "",
        "the index of an element is not passed on, as only the element is used",
        ("tests/ir/test_files.py::test_file[call_melding_ways]",),
    ),
    Mutation(
        "copies of the last caller", _COPIES,
        "= min(copies, loop.attributes.get(\"copies\", copies))", "= copies",
        "a loop that several calls lead to is copied as one of them has room for",
        (
            "tests/ir/test_limit_copies.py"
            "::test_a_function_has_the_least_room_that_its_callers_leave",
        ),
    ),
    Mutation(
        "methods side by side add up", _COPIES,
        "together = min(count * len(called), INSTRUCTIONS)",
        "together = min(len(called), INSTRUCTIONS)",
        "calls below calls choose among products of methods",
        ("tests/ir/test_limit_copies.py::test_what_is_limited",),
    ),
)  # fmt: skip

"""Faults in what passes and analyses refuse, one a decision, beside those of ``passes``."""

from .mutation import Mutation

_PASSES = "sharedoa/ir/passes"
_SINK = f"{_PASSES}/sink_stores.py"
_UNROLL = f"{_PASSES}/unroll_copies.py"
_UNUSED = f"{_PASSES}/unused.py"
_CUT = f"{_PASSES}/cut_branches.py"
_UNIFORM = "sharedoa/ir/uniformity.py"
_ROOTS = f"{_PASSES}/narrow_roots.py"
_STREAMING = "sharedoa/ir/streaming.py"
_CERTAIN = "sharedoa/ir/certain_receivers.py"
_USE = "sharedoa/ir/array_use.py"
_RANGES = "sharedoa/runtime/known_ranges.py"
_OF_RANGES = (
    "tests/runtime/test_known_ranges.py::test_no_launch_waits_for_code_when_a_class_grows",
)
_FILES = ("tests/ir/test_files.py",)
_LATER = "tests/ir/test_undeclared.py"
_OF_WAITING = (f"{_LATER}::test_stores_wait_for_no_kind_with_effects",)
_OF_STREAMING = (f"{_LATER}::test_what_streams_loads_and_stores",)
_OF_MELDING = ("tests/ir/test_call_melding.py",)
_OF_RECEIVERS = ("tests/ir/test_certain_receivers.py",)
_OF_LOOPS = ("tests/ir/test_shared_loops.py",)
_PLANNED = "sharedoa/runtime/planned_clusters.py"
_DESCRIPTION = "sharedoa/ir/description.py"
_OF_DESCRIPTIONS = (
    "tests/runtime/test_descriptions.py::test_each_setting_alone_changes_it",
    "tests/runtime/test_descriptions.py::test_each_property_of_a_type_alone_changes_it",
    "tests/runtime/test_descriptions.py::test_slots_are_told_where_they_are_not_those_of_the_base",
    "tests/runtime/test_descriptions.py::test_each_answer_alone_changes_it",
)
_OF_ARRAYS = ("tests/ir/test_array_use.py",)

MUTATIONS = (
    # ------------------------------------------------------------------ stores
    Mutation(
        "as many values as there are", _SINK,
        "if bytes + sum(size for _, _, size in waiting) > _MOST_BYTES:", "if False:",
        "more values wait than there are registers", _FILES,
    ),
    Mutation(
        "stores wait for branches", _SINK, "            or operation.regions\n", "",
        "a branch stands between a value and its store", _FILES,
    ),
    Mutation(
        "other reads while stores wait", _SINK,
        "effects_of(operation) & ~Effects.ASKS_THREAD",
        "effects_of(operation) & ~(Effects.ASKS_THREAD | Effects.READS)",
        "an operation that is no load reads what waits to be stored", _OF_WAITING,
    ),
    Mutation(
        "rounds that are the last", _UNROLL, "stores and end.kind == \"continue\"", "stores",
        "a loop that its first round leaves is written out", _FILES,
    ),
    Mutation(
        "loops that only read", _UNROLL, "return stores and end", "return end",
        "a loop is written out that brings no load before a store", _FILES,
    ),
    Mutation(
        "loops that choose", _UNROLL, "not operation.regions and not effects", "not effects",
        "a loop is written out that does more than copy", _FILES,
    ),
    Mutation(
        "elements that nobody knows", f"{_PASSES}/write_out_lists.py",
        "each is counter or (", "True or (",
        "a loop is written out, and its list is memory all the same", _FILES,
    ),
    Mutation(
        "functions that call themselves", f"{_PASSES}/write_out_lists.py",
        "self._known[symbol] = inf", "self._known[symbol] = 0",
        "a loop of any length is written out", _FILES,
    ),
    # ------------------------------------------------------------------ unused
    Mutation(
        "loops that may not end", _UNUSED,
        "_MAY_GO = Effects.READS", "_MAY_GO = Effects.READS | Effects.LINGERS",
        "a program that goes on for ever ends", _FILES,
    ),
    Mutation(
        "what the test of a loop passes on", _UNUSED,
        "            found.append(terminator.operands[_BEFORE.get(terminator.kind, 0) + number])",
        "            found.append(terminator.operands[number])",
        "a value goes that the body is given", _FILES,
    ),
    # ---------------------------------------------------------------- branches
    Mutation(
        "branches that all threads take alike", _CUT,
        "if operation.kind != \"if\" or is_of_launch(operation.operands[0], function):",
        "if operation.kind != \"if\":",
        "a branch is cut for nobody", _FILES,
    ),
    Mutation(
        "arguments of any function", _UNIFORM,
        "{*function.parameters} if function.kind == \"kernel\" else set()",
        "{*function.parameters}",
        "each thread calls the function with an argument of its own", (*_FILES, *_OF_MELDING),
    ),
    Mutation(
        "what branches yield to tests", _UNIFORM,
        "            pending += region.terminator.operands\n", "            pass\n",
        "a test that asks what memory holds is taken for one of the launch", _OF_MELDING,
    ),
    Mutation(
        "roots of any function", _ROOTS, " or root[\"name\"] != \"sqrt\"", "",
        "a sine becomes a root", _FILES,
    ),
    Mutation(
        "roots of any number", _ROOTS,
        "return narrow if narrow.type == f32 else None", "return narrow",
        "the root of an integer is taken with 32 bits", _FILES,
    ),
    *(
        Mutation(
            f"neighbours by their {which}", f"{_PASSES}/shared_loops.py",
            f" and not _is_chosen({which})", "",
            "loops over a few neighbours are shared, which costs more than it spares", _OF_LOOPS,
        )
        for which in ("start", "stop")
    ),
    # --------------------------------------------------------------- streaming
    Mutation(
        "reads that are no loads", _STREAMING,
        "            return operation.kind == \"load\"\n", "            return True\n",
        "an operation reads what a neighbour stores", _OF_STREAMING,
    ),
    Mutation(
        "writes that are no stores", _STREAMING,
        "if operation.kind == \"store\" else None", "if len(operation.operands) > 1 else None",
        "an operation writes more than the field that it names", _OF_STREAMING,
    ),
    # --------------------------------------------------------------- receivers
    Mutation(
        "kinds of which something is not declared", _CERTAIN,
        "Effects.RAISES | Effects.UNKNOWN", "Effects.RAISES",
        "None is refused though the kernel may never come to use it", _OF_RECEIVERS,
    ),
    Mutation(
        "behind assertions", _CERTAIN, "Effects.RETURNS | Effects.RAISES", "Effects.RETURNS",
        "None is refused though an assertion fails before", _OF_RECEIVERS,
    ),
    Mutation(
        "used with and without elements", _CERTAIN,
        "found.setdefault(used, needed)", "found[used] = needed",
        "None is accepted where an array is empty, and used all the same", _OF_RECEIVERS,
    ),
    Mutation(
        "functions that look for elements", _CERTAIN, "if not needed)", "if True)",
        "None is refused though the array is empty", _OF_RECEIVERS,
    ),
    Mutation(
        "threads beyond an array", _CERTAIN, " or compare[\"operator\"] != \"lt\"", "",
        "a branch for no thread is taken for one that some enter", _OF_RECEIVERS,
    ),
    Mutation(
        "any number below a length", _CERTAIN, "    if is_index and right", "    if right",
        "a branch that an argument decides is taken for one that some enter", _OF_RECEIVERS,
    ),
    Mutation(
        "functions that call themselves with objects", _CERTAIN,
        "self._always[symbol] = frozenset()", "self._always[symbol] = frozenset({0})",
        "a function that calls itself is taken to use what it is given", _OF_RECEIVERS,
    ),
    # --------------------------------------------------------------- array_use
    Mutation(
        "functions that pass arrays to themselves", _USE,
        "        self._found[function.symbol] = ()\n", "",
        "the compiler goes in circles", _OF_ARRAYS,
    ),
    Mutation(
        "writes to no place", _USE, "            if not lvalues:\n                yield None\n", "",
        "an operation stores to an array that is taken for a run", _OF_ARRAYS,
    ),
    Mutation(
        "references in structs", _USE,
        "return any(map(_are_references, type.fields.values()))", "return False",
        "an array of structs gets another reference", _OF_ARRAYS,
    ),
    # ------------------------------------------------------------------ beside the program
    Mutation(
        "clusters before there is code", _PLANNED,
        "plan is not None and plan.is_ready\n", "plan is not None\n",
        "objects are rearranged by the next launch, which waits for its code",
        ("tests/runtime/test_background.py::test_kernels_go_on_and_change_when_there_is_code",),
    ),
    Mutation(
        "nobody looks when there is code", _PLANNED,
        "        if plan.is_ready:\n            heap.books.change_code()\n", "",
        "kernels that were settled go on as they are",
        ("tests/runtime/test_background.py::test_a_captured_step",),
    ),
    Mutation(
        "code that nobody finds", "sharedoa/runtime/launch.py",
        "            if is_used:\n                self._keep(made)\n", "",
        "code that was made beside the program is compiled again by the launch",
        ("tests/runtime/test_background.py::test_a_captured_step",),
    ),
    # ------------------------------------------------------------------ ranges
    Mutation(
        "launches wait for code for other ranges", _RANGES,
        "if known.ranges and ranges not in known.ranges and _makes_both(heap):", "if False:",
        "a launch compiles when a class has grown", _OF_RANGES,
    ),
    Mutation(
        "general code when it is needed", _RANGES,
        "if not asked or not _makes_both(heap):",
        "if asked != [GENERAL] or not _makes_both(heap):",
        "the first launch after a class has grown compiles", _OF_RANGES,
    ),
    Mutation(
        "launches begin with what they wait for", "sharedoa/runtime/pipeline.py",
        "found = None if described is None else descriptions.recall(other, described)", "pass",
        "the second process of wa-tor compiles before its first step, as its clusters are others",
        ("tests/runtime/test_known_ranges.py"
         "::test_launches_begin_with_general_code_that_is_on_disk",),
    ),
    Mutation(
        "structs for which something was made", "sharedoa/ir/description.py",
        '    "made", "properties",\n', '    "properties",\n',
        "each process compiles all kernels that have structs with methods",
        ("tests/apps/test_second_process.py::test_the_second_process_finds_everything[wator]",),
    ),
    Mutation(
        "launches go back to general code", "sharedoa/runtime/launch.py",
        "        if stale < sum(unit.heap() is heap for unit in loaded):", "        if False:",
        "launches in another mode have those in the usual one look addresses up",
        ("tests/runtime/test_known_ranges.py::test_launches_do_not_go_back_to_general_code",),
    ),
    Mutation(
        "general code for good", _RANGES, "    if is_new:\n", "    if False:\n",
        "launches look addresses up where they could compare", _OF_RANGES,
    ),
    Mutation(
        "what a parent wanted its child will get", _RANGES,
        "        if before is not None and before.task.is_dropped:", "        if False:",
        "a child looks addresses up where it could compare",
        (
            "tests/runtime/test_known_ranges.py::"
            "test_a_child_compiles_what_its_parent_was_about_to",
        ),
    ),
    Mutation(
        "what LLVM was given waits for the collector", "sharedoa/runtime/pipeline.py",
        "            take_apart(lowered.module)\n", "            pass\n",
        "each compilation leaves memory and work until Python looks for cycles",
        ("tests/runtime/test_pipeline.py::test_what_llvm_was_given_goes_at_once",),
    ),
    # ------------------------------------------------------------------ descriptions
    Mutation(
        "code of classes that changed after they were described", "sharedoa/runtime/pipeline.py",
        "description is not None and _is_still(world)", "description is not None",
        "code is found that was made of something else", _OF_DESCRIPTIONS,
    ),
    Mutation(
        "classes in the hierarchy before their slots", "sharedoa/model/classes.py",
        "        self.family: Family = self.base.family if self.base else Family(self)\n",
        "        self.family: Family = self.base.family if self.base else Family(self)\n"
        "        if self.base:\n"
        "            self.base.subclasses = [*self.base.subclasses, self]\n",
        "other threads compile calls of classes that have no methods yet", _OF_DESCRIPTIONS,
    ),
    *(
        Mutation(
            f"a description without {what}", _DESCRIPTION, old, new,
            "code is found that was made of something else", _OF_DESCRIPTIONS,
        )
        for what, old, new in (
            ("debug mode", " debug {job.debug} fast", " fast"),
            ("entries", "{cls.entry_base} {_slots(cls)}", "{_slots(cls)}"),
            ("slots of subclasses", "if name not in inherited}", "if False}"),
            ("types of fields", "{name!r}: {types.type(type)}", "{name!r}"),
            ("answers", ": {_answer(answer, types)}", ""),
        )
    ),
    Mutation(
        "questions that nobody noted", "sharedoa/ir/job.py",
        "(question, known._answers[question]) for question in questions)",
        "(question, known._answers[question]) for question in ())",
        "code that was found holds whatever changes", _OF_DESCRIPTIONS,
    ),
)  # fmt: skip

"""Faults in captured calls with a thread for each slot, and in what says who has ended."""

from .mutation import Mutation

_CALLS, _PASS = "sharedoa/runtime/slot_calls.py", "sharedoa/ir/passes/own_bytes.py"
_CODE, _KERNELS = "sharedoa/runtime/vectorised_code.py", "sharedoa/backends/slot_code.py"
_SEQUENCE = "sharedoa/runtime/population_sequence.py"
_TESTS = "tests/runtime/test_slot_calls.py"
_SAME = (f"{_TESTS}::test_the_same_as_with_lists[pretended-aos-32]",)
_SEEN = (f"{_TESTS}::test_methods_of_which_the_number_of_a_thread_is_seen_have_a_list",)
_TAKEN = (f"{_TESTS}::test_those_that_others_end_meanwhile_are_called[64]",)
_EARLY = "sharedoa/ir/passes/fields_of_slots.py"
_AT_ONCE = ("tests/runtime/test_fields_of_slots.py::test_no_branch_between_byte_and_field",)
_FILES = ("tests/ir/test_files.py",)
_SLOTS = "tests/heap/test_slots_on_device.py"
_SETTLED = (f"{_SLOTS}::test_what_lives_after_launches[pretended-1-40]",)

MUTATIONS = (
    Mutation(
        "an end with a slot and no bytes", "sharedoa/ir/verify.py",
        "if not operands or place not in ([], _PLACE_OF_ONE):", "if not operands:",
        "a pass that leaves it malformed is not found",
        ("tests/ir/test_verify.py::test_malformed[a slot without bytes]",),
    ),
    Mutation(
        "who makes objects is called slot by slot",
        _CALLS,
        "Effects.ASKS_THREAD | Effects.REPORTS",
        "Effects.REPORTS",
        "new objects are at places of slots, which are more than there are",
        _SEEN,
    ),
    Mutation(
        "who reports is called slot by slot", _CALLS,
        "Effects.ASKS_THREAD | Effects.REPORTS | ", "Effects.ASKS_THREAD | ",
        "what failed is said of a thread of another number than elsewhere", _SEEN,
    ),
    Mutation(
        "however few of the slots have objects", _CALLS,
        "if threads > min(_MOST_SLOTS * listed, AXIS_LIMIT):", "if threads > AXIS_LIMIT:",
        "a class of which few are left costs as many threads as it had objects",
        (f"{_TESTS}::test_few_objects_in_many_slots_have_a_list",),
    ),
    Mutation(
        "more stretches than a launch takes", _CALLS,
        "not 0 < most * len(regions) <= MOST_STRETCHES", "not 0 < most * len(regions)",
        "code grows with every region",
        (f"{_TESTS}::test_as_many_regions_as_code_is_made_for",),
    ),
    Mutation(
        "as much code as there are numbers of regions", _CALLS,
        "most = 1 << (most - 1).bit_length() if most else 0", "pass",
        "each region more compiles",
        (f"{_TESTS}::test_as_many_regions_as_code_is_made_for",),
    ),
    Mutation(
        "where threads of regions begin is a constant", _SEQUENCE,
        "each.varying = varying.union(each.varying)", "each.varying = varying",
        "each plan compiles",
        (f"{_TESTS}::test_other_numbers_of_slots_have_the_same_code",),
    ),
    Mutation(
        "programs are asked where the books are locked",
        _SEQUENCE,
        "births=planned.births or None if by_slot is None else None,",
        "births=program.uses().births or None,",
        "a run and who compiles beside it wait for each other for ever",
        (f"{_TESTS}::test_programs_are_asked_before_the_books_are_locked",),
    ),
    Mutation(
        "a plan counts before all is noted", _SEQUENCE,
        "self._made_at = ()  # a signal", "self._made_at = made_at  # a signal",
        "after Ctrl-C while it was planned a step fails for ever",
        (f"{_TESTS}::test_a_plan_that_was_interrupted_is_made_again",),
    ),
    Mutation(
        "who lives is counted before one looks what has moved", _SEQUENCE,
        "                    heap.settle()\n                # Another",
        "                    heap.settle()\n                    reports.begin()\n"
        "                # Another",
        "a launch comes to memory that another thread's oa.compact has given back",
        ("tests/runtime/test_steps_of_several_threads.py::"
         "test_what_moves_before_a_run_has_the_books",),
    ),
    Mutation(
        "warps of several regions", _CALLS,
        "counts = [-(-count // warp) * warp for count in counts]", "pass",
        "warps run the code of two classes, one after the other", _TAKEN,
    ),
    Mutation(
        "classes without memory have slots", _CALLS,
        "    regions = {each: own for each, own in regions.items() if own}\n", "",
        "a step fails where a class that others make and end has no region",
        (f"{_TESTS}::test_a_class_without_memory_has_no_threads",),
    ),
    Mutation(
        "fields are asked when bytes are there", "sharedoa/ir/pipeline.py",
        "lambda program, job: load_with_bytes(program), _in_warps", "lambda *_: None, _in_warps",
        "a thread waits twice for memory, with little else to do", _AT_ONCE,
    ),
    Mutation(
        "bytes are known before their fields", _EARLY,
        "replace_uses(program.kernel, {byte: together.result})", "pass",
        "LLVM moves fields back behind the test of their bytes", _AT_ONCE,
    ),
    Mutation(
        "fields of other slots", _EARLY,
        "each.operands == [objects, slot]", "each.operands[0] is objects",
        "what is loaded is not what is asked, maybe behind the region", _FILES,
    ),
    Mutation(
        "elements that nobody knows are loaded with bytes", _EARLY,
        "if place.is_known and place.owner in ancestry", "if place.owner in ancestry",
        "all of an array is loaded for one element", _FILES,
    ),
    Mutation(
        "any number of fields with a byte", _EARLY,
        "if 0 < len(places) <= _MOST_PLACES:", "if places:",
        "holes are read as a whole", _FILES,
    ),
    Mutation(
        "all slots are called", _CODE,
        'lived = tree.Binary(live_byte, self._location, "and", byte, self._byte(LIVED))',
        "lived = self._byte(LIVED)",
        "methods are called where nobody lives", _TAKEN,
    ),
    Mutation(
        "who was ended meanwhile is not called", _CODE,
        'test = tree.Compare(boolean, self._location, "ne", lived, self._byte(0))',
        'test = tree.Compare(boolean, self._location, "eq", byte, self._byte(LIVED))',
        "who is called depends on who comes first", _TAKEN,
    ),
    Mutation(
        "the byte of another region", _PASS,
        "return dict(zip(parameters, bytes, strict=False))",
        "return dict(zip(parameters, bytes[::-1], strict=False))",
        "an object of another class ends", _SAME,
    ),
    Mutation(
        "runs without bytes", _PASS,
        "            if array in bytes_of:\n", "            if True:\n",
        "a kernel that has other runs beside its slots does not compile", _FILES,
    ),
    Mutation(
        "others end by one's own byte", _PASS,
        'elif operation.kind == "delete" and _takes_receiver(operation, made):',
        'elif operation.kind == "delete":',
        "who deletes others ends itself", _TAKEN,
    ),
    Mutation(
        "those that a method calls look for the byte", _PASS,
        "each.kind == \"delete\" or each.attributes.get(\"symbol\") in found",
        'each.kind == "delete"',
        "they search for what is known", _FILES,
    ),
    Mutation(
        "who ended first is not asked", "sharedoa/codegen/births.py",
        "        return end(emitter.builder.add(emitter.builder.extract_value(bytes, 0), slot))",
        "        end(emitter.builder.add(emitter.builder.extract_value(bytes, 0), slot))\n"
        "        return TRUE",
        "two threads have ended the same object", _TAKEN,
    ),
    Mutation(
        "bytes that nobody writes to",
        "sharedoa/codegen/roles.py",
        "self._stored |= {element_role(live_byte)}",
        "pass",
        "code promises a GPU that memory stays as it is which the launch changes",
        (f"{_TESTS}::test_bytes_are_asked_and_written_without_a_search",),
    ),
    Mutation(
        "reports of what is gone that nobody writes", _KERNELS,
        "is_new = builder.and_(is_gone, _is_none(builder, gone_before))",
        "is_new = builder.and_(is_gone, is_any(builder, gone_before))",
        "the host does not learn that objects have ended", _SETTLED,
    ),
    Mutation(
        "more words than a list takes along", "sharedoa/backends/slot_kernels.py",
        "if not batches or len(words) > STORED:", "if not batches:",
        "tables of many classes are written with what is not theirs",
        (f"{_SLOTS}::test_a_table_of_any_length[pretended-33]",),
    ),
    Mutation(
        "some that are counted together are left out", "sharedoa/backends/slot_kernels.py",
        "for some in _batches(regions, max(kernels)):", "for some in _batches(regions, 16)[:1]:",
        "regions behind the first ones have as many objects as before",
        (f"{_SLOTS}::test_lists_of_several_regions[together-pretended-50]",),
    ),
)  # fmt: skip

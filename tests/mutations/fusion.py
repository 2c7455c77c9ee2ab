"""Faults in which launches become one."""

from .mutation import Mutation

_LEGALITY = "sharedoa/runtime/fusion/legality.py"
_PART = "sharedoa/runtime/fusion/part.py"
_GROUPING = "sharedoa/runtime/fusion/grouping.py"
_ACCESSES = "sharedoa/ir/thread_accesses.py"
_SIDES = "sharedoa/runtime/fusion/sides.py"
_TESTS = "tests/runtime/test_fusion.py"
_BLOCKS = "tests/runtime/test_fused_blocks.py"
_SIDES_TESTS = "tests/runtime/test_fusion_sides.py"
_DISTINCT = "tests/runtime/test_distinct_fields.py"
_TRIALS = "tests/runtime/test_fusion_trials.py"

MUTATIONS = (
    Mutation(
        "float atomics in any order", _LEGALITY,
        "a.how in _ATOMICS and a.is_exact and b.is_exact",
        "a.how in _ATOMICS",
        "sums of floats are rounded in another order",
        (f"{_TESTS}::test_what_others_see_is_not",),
    ),
    Mutation(
        "reads of what changes", _LEGALITY,
        'if a.how == "read" == b.how and not self._is_changed(a, b):',
        'if a.how == "read" == b.how:',
        "a neighbour's field is read by one launch and the own one, which it changes, by the next",
        (f"{_TESTS}::test_what_others_see_is_not",),
    ),
    Mutation(
        "one of them is own", _LEGALITY,
        "if a.reach.via != b.reach.via or not a.reach.is_own:",
        "if not (a.reach.is_own or b.reach.is_own):",
        "what a thread has written is read by another one before or after",
        (f"{_TESTS}::test_what_others_see_is_not", f"{_TESTS}::test_adversarial_traces"),
    ),
    Mutation(
        "write after read", _LEGALITY,
        'if a.how == "read" == b.how and not self._is_changed(a, b):',
        'if a.how == "read":',
        "others read what is written too soon",
        (f"{_TESTS}::test_what_others_see_is_not", f"{_TESTS}::test_adversarial_traces"),
    ),
    Mutation(
        "constants that reach a math library", _LEGALITY,
        "    return _inexact(group, new)",
        "    return None",
        "a sine is computed when code is compiled, and rounded otherwise",
        (f"{_TESTS}::test_what_others_see_is_not",),
    ),
    Mutation(
        "overlapping arrays", _PART,
        "return is_elsewhere or self.stop <= other.start or other.stop <= self.start",
        "return is_elsewhere or self.start != other.start",
        "elements of an array are taken for those of another one",
        (f"{_TESTS}::test_arrays_that_overlap_are_not_own",),
    ),
    Mutation(
        "objects of arrays that are no runs", _PART,
        "return self.objects.get(reach.parameter)",
        "return self.objects.get(reach.parameter) or self.arrays.get(reach.parameter)",
        "two threads have the same object, which is in the array twice",
        (f"{_TESTS}::test_arrays_with_an_object_twice_are_not_own",),
    ),
    Mutation(
        "launches that store references", _GROUPING,
        "return record.program.uses().stores_references and not source.keeps_arrays",
        "return False",
        "threads have other objects by then",
        (f"{_TESTS}::test_arrays_that_change_in_between_are_not_own",),
    ),
    Mutation(
        "what runs were", _GROUPING,
        "if _place(record.arguments[place]) != known:",
        "if record is None:",
        "the host has put an object into an array twice since",
        (f"{_TESTS}::test_arrays_that_the_host_changes_are_asked_again",),
    ),
    Mutation(
        "classes that come to have objects", _GROUPING,
        "return World.epoch, heap.books.population_epoch",
        "return (World.epoch,)",
        "a method that reaches neighbours is run with those that do not",
        (f"{_TESTS}::test_a_class_that_comes_to_have_objects_is_seen",),
    ),
    Mutation(
        "one candidate of a virtual call", _ACCESSES,
        "yield from dict.fromkeys(each.symbol for each in met)",
        "yield from [each.symbol for each in met][:1]",
        "what another class does in its place is not seen",
        (f"{_TESTS}::test_virtual_calls_in_kernels_have_the_classes_that_live",),
    ),
    Mutation(
        "any index is the thread's", _ACCESSES,
        'if made.kind != "convert" or not type.is_integer:',
        'if made.kind not in ("convert", "binary") or not type.is_integer:',
        "two threads have the same element",
        (f"{_TESTS}::test_adversarial_traces",),
    ),
    Mutation(
        "what waits when objects are made", "sharedoa/heap/recording.py",
        "    heap.launch_deferred()\n    if is_recorded(heap):",
        "    if is_recorded(heap):",
        "launches visit objects that were made after them",
        (f"{_BLOCKS}::test_creation_and_deletion_come_between",),
    ),
    Mutation(
        "launches of other threads", "sharedoa/runtime/launch_code.py",
        "and (deferred is None or deferred.is_launching_here())",
        "and deferred is deferred",
        "a thread's launch comes before one that was asked for before it",
        (f"{_BLOCKS}::test_launches_of_other_threads_come_after_what_waits",),
    ),
    Mutation(
        "writes after reads side by side", _SIDES,
        'if a.how == "read" == b.how or not may_meet(a.role, b.role):',
        'if a.how == "read" or not may_meet(a.role, b.role):',
        "a launch reads what another one is writing",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "sums of floats side by side", _SIDES,
        "if a.how == b.how and a.how in _ATOMICS and a.is_exact and b.is_exact:",
        "if a.how == b.how and a.how in _ATOMICS:",
        "sums are rounded in another order each time",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "atomics of two kinds side by side", _SIDES,
        "if a.how == b.how and a.how in _ATOMICS and a.is_exact and b.is_exact:",
        "if a.how in _ATOMICS and b.how in _ATOMICS and a.is_exact and b.is_exact:",
        "whether the minimum is taken before or after the sum is left to chance",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "unknown memory side by side", _SIDES,
        "if here is None or there is None or not here.is_apart(there):",
        "if here is not None and there is not None and not here.is_apart(there):",
        "two objects that may be the same are written at the same time",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "messages side by side", _SIDES,
        "_TELLING = (Effects.UNKNOWN, Effects.LIVES, Effects.REPORTS)",
        "_TELLING = (Effects.UNKNOWN, Effects.LIVES)",
        "lines of two launches are mixed",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "populations side by side", _SIDES,
        "if part.calls is not None or any(effect",
        "if any(effect",
        "launches over populations are not part of the graph's branches",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "only neighbours side by side", _SIDES,
        "any(_meet(groups[each], group) for each in before)",
        "_meet(groups[before[-1]], group)",
        "a launch runs beside one that it meets, with another one between",
        (f"{_SIDES_TESTS}::test_launches_side_by_side",),
    ),
    Mutation(
        "what the host writes to references", "sharedoa/heap/pieces.py",
        "self._distinct.written(cls, name)",
        "pass",
        "two objects have come to refer to the same one",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "quick writes to references", "sharedoa/heap/one_field.py",
        "is_watched = (cls.field_owner(name), name) in heap.distinct.watched",
        "is_watched = False",
        "two objects have come to refer to the same one",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "what kernels write to references", "sharedoa/runtime/launch.py",
        "watched if fields is None else fields & watched,",
        "frozenset(),",
        "a kernel has let two objects refer to the same one",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "what captured steps write to references", "sharedoa/runtime/launch_sequence.py",
        "heap.note_launch(self._stores_references, self._stores_fields)",
        "heap.note_launch(self._stores_references, ())",
        "a captured step has let two objects refer to the same one",
        (f"{_DISTINCT}::test_a_captured_step_that_shares_seats",),
    ),
    Mutation(
        "what quick launches write to references", "sharedoa/runtime/launch_code.py",
        "if binding.is_noted:",
        "if binding.stores_references:",
        "a kernel has let two objects refer to the same one",
        (f"{_DISTINCT}::test_a_captured_step_that_shares_seats",),
    ),
    Mutation(
        "references that a launch among them changes", _GROUPING,
        "if self._may_change or stored is None or field in stored:",
        "if self._may_change or stored is None:",
        "one method goes by references that another one changes",
        (f"{_DISTINCT}::test_other_ways_to_the_same",),
    ),
    Mutation(
        "distinct references that are asked once", _GROUPING,
        "return self.asked.still_hold(partial(_answer, heap))",
        "return True",
        "two objects have come to refer to the same one",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "references of some objects", "sharedoa/heap/distinct_fields.py",
        "return books.population_version, books.moves, books.deletions, self._changes[field]",
        "return books.moves, books.deletions, self._changes[field]",
        "a new object refers to what another one does",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "any references", "sharedoa/heap/distinct_fields.py",
        "return len(np.unique(values)) == len(values)",
        "return True",
        "two objects refer to the same one",
        (f"{_DISTINCT}::test_changes_in_between_are_seen",),
    ),
    Mutation(
        "numbers in lists", "sharedoa/runtime/fusion/block.py",
        "later = program.plan.kept(arguments)",
        "later = arguments",
        "the host has changed the list by the time of the launch",
        (f"{_BLOCKS}::test_numbers_are_those_that_they_were",),
    ),
    Mutation(
        "names when launches wait", "sharedoa/runtime/fusion/block.py",
        "if all(names.hold() or names.are_equal() for names in every):",
        "if every is not None:",
        "a constant is what it is when the block ends",
        (f"{_BLOCKS}::test_what_waits_means_what_it_meant",),
    ),
    Mutation(
        "methods when launches wait", "sharedoa/runtime/fusion/block.py",
        "World.before_change.append(_launch_all)",
        "pass",
        "a method is what it is when the block ends",
        (f"{_BLOCKS}::test_what_waits_means_what_it_meant",),
    ),
    Mutation(
        "spills of fused code", "sharedoa/runtime/fusion/trial.py",
        "spills = max(each.stack for each in now) > max(each.stack for each in known)",
        "spills = False",
        "one launch that keeps registers in memory is slower than two",
        (f"{_TRIALS}::test_a_device_is_asked_what_its_code_uses",),
    ),
    Mutation(
        "occupancy of fused code", "sharedoa/runtime/fusion/trial.py",
        "self.pays = not spills and all(each.warps >= fewest for each in now)",
        "self.pays = not spills",
        "one launch that leaves room for fewer threads is slower than two",
        (f"{_TRIALS}::test_a_device_is_asked_what_its_code_uses",),
    ),
    Mutation(
        "times of fused code", "sharedoa/runtime/fusion/trial.py",
        "self.pays = one <= _SLOWER * apart",
        "self.pays = True",
        "what is slower as one launch stays one",
        (f"{_TRIALS}::test_a_processor_is_timed",),
    ),
)  # fmt: skip

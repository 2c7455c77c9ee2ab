"""Faults in which launches become one."""

from .mutation import Mutation

_LEGALITY = "sharedoa/runtime/fusion/legality.py"
_PART = "sharedoa/runtime/fusion/part.py"
_GROUPING = "sharedoa/runtime/fusion/grouping.py"
_ACCESSES = "sharedoa/ir/thread_accesses.py"
_TESTS = "tests/runtime/test_fusion.py"
_BLOCKS = "tests/runtime/test_fused_blocks.py"

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
        "return a.reach.is_own and b.reach.is_own and here is not None and here == there",
        "return (a.reach.is_own or b.reach.is_own) and here == there",
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
)  # fmt: skip

"""Faults in the way back through programs, and in what tapes note."""

from .mutation import Mutation

_ADJOINT = "sharedoa/ir/adjoint"
_RULES = "tests/gradients/test_rules.py"
_EVERYTHING = (f"{_RULES}::test_everything_in_two_classes_and_two_steps",)
_TAPES = "tests/gradients/test_records.py"
_WORDS = "tests/gradients/test_tape_words.py"

MUTATIONS = (
    Mutation(
        "copies do not hold clusters",
        "sharedoa/heap/heap.py",
        "return self.upkeep.has_adjoints or self.upkeep.copies > 0",
        "return self.upkeep.has_adjoints",
        "states are put back over objects that have got other clusters",
        ("tests/gradients/test_checkpoints.py::test_objects_keep_their_clusters_while_there_are_copies",),
    ),
    Mutation(
        "what is overwritten keeps its adjoint",
        f"{_ADJOINT}/memory.py",
        '        to.code.add("store", [to.code.number(0.0, type), part])\n',
        "",
        "a value that a store has replaced gets adjoints that are the new one's",
        (f"{_RULES}::test_a_neighbour_that_is_oneself",),
    ),
    Mutation(
        "stores that may meet forget nothing",
        f"{_ADJOINT}/loads.py",
        "if may_meet(own, role)]",
        "if own == role and False]",
        "a load gives what was there before a store by another name",
        (f"{_RULES}::test_a_store_by_another_name",),
    ),
    Mutation(
        "rounds know what was loaded before",
        f"{_ADJOINT}/loads.py",
        "{} if is_loop else dict(known)",
        "dict(known)",
        "a round of a loop loads what its first round did",
        (f"{_WORDS}::test_tapes_that_are_too_short_at_first",),
    ),
    Mutation(
        "returns go on behind them",
        f"{_ADJOINT}/reverse.py",
        "not (self.plan.touches(operation) or _may_leave(operation))",
        "not self.plan.touches(operation)",
        "what an early return gives has no adjoint",
        _EVERYTHING,
    ),
    Mutation(
        "short tapes are taken as they are",
        "sharedoa/runtime/gradients.py",
        "if needed <= room:",
        "if True:",
        "the way back reads what other rounds have kept",
        (f"{_WORDS}::test_tapes_that_are_too_short_at_first",),
    ),
    Mutation(
        "nothing begins again",
        "sharedoa/runtime/gradients.py",
        "            before.restore()\n",
        "",
        "a launch that needed a longer tape runs twice",
        (f"{_WORDS}::test_tapes_that_are_too_short_at_first",),
    ),
    Mutation(
        "no launch is looked at",
        "sharedoa/runtime/gradients.py",
        "if not is_debug and not _is_free_of_races",
        "if False and not _is_free_of_races",
        "adjoints of launches whose threads race are anything",
        (f"{_TAPES}::test_writes_that_meet",),
    ),
    Mutation(
        "the host changes what it likes",
        "sharedoa/heap/heap.py",
        "        refuse_change(self)\n",
        "",
        "adjoints go back beyond what the host has overwritten",
        (f"{_RULES}::test_the_host_changes_nothing_in_the_block",),
    ),
    Mutation(
        "adjoints stay from one way back to the next",
        "sharedoa/runtime/tape.py",
        "before = adjoints.take()",
        "before = None",
        "those of the first loss go back once more",
        (f"{_RULES}::test_ten_launches_and_scalars_of_each",),
    ),
    Mutation(
        "what is called again reads memory",
        f"{_ADJOINT}/program.py",
        "if summary.accesses or",
        "if",
        "the way back reads what has been overwritten since",
        (f"{_RULES}::test_a_function_that_reads_what_changes",),
    ),
    Mutation(
        "every index along two axes is a thread's own",
        f"{_ADJOINT}/races.py",
        "threads[self.axis] <= stride <=",
        "stride <=",
        "threads that race along two axes are not looked at",
        (f"{_WORDS}::test_threads_that_meet_along_two_axes",),
    ),
    Mutation(
        "numbers of eight bits are a thread's own",
        f"{_ADJOINT}/races.py",
        "type.bits >= 32",
        "type.bits >= 8",
        "threads whose indices wrap are not looked at",
        (f"{_WORDS}::test_threads_that_meet_along_two_axes",),
    ),
    Mutation(
        "what is in a loop is kept once",
        f"{_ADJOINT}/bounds.py",
        "* (frame.size + inside)",
        "* frame.size",
        "threads write behind the end of their tapes",
        (f"{_WORDS}::test_loops_over_arrays_and_to_numbers",),
    ),
    Mutation(
        "calls of no use keep what they can",
        f"{_ADJOINT}/forward.py",
        "if operation in self._plan.plain:",
        "if False:",
        "what such calls keep overwrites what is of use",
        (f"{_WORDS}::test_calls_that_no_way_leads_back_through_keep_nothing",),
    ),
    Mutation(
        "debug mode adds plainly",
        "sharedoa/runtime/gradients.py",
        "atomic = heap.debug or",
        "atomic =",
        "the way back in debug mode is refused as a race",
        ("tests/gradients/test_random_programs.py::test_gradients_agree_in_debug_mode",),
    ),
)

"""Faults in packing threads that go on."""

from .mutation import Mutation

_CODE = "sharedoa/targets/packed_threads.py"
_PASS = "sharedoa/ir/passes/idle_threads.py"
_OF_PASS = "tests/ir/test_idle_threads.py::test_who_is_asked"
_CHOICE = "sharedoa/runtime/packing.py"
_TESTS = "tests/targets/test_packed_threads.py"
_STEPS = "sharedoa/runtime/packed_steps.py"
_OF_STEPS = "tests/runtime/test_packed_steps.py"

MUTATIONS = (
    Mutation(
        "threads beyond the last one", _CODE,
        "answers.append(builder.and_(answer, is_inside))",
        "answers.append(answer)",
        "the last thread runs once for each that is not there",
        (f"{_TESTS}::test_the_same_threads_do_the_same",),
    ),
    Mutation(
        "places of threads that are packed", _CODE,
        "earlier = builder.lshr(warp.up_to_this(builder), I32(1))",
        "earlier = warp.up_to_this(builder)",
        "the first place of a warp is empty, and its last one that of another warp",
        (f"{_TESTS}::test_the_same_threads_do_the_same",),
    ),
    Mutation(
        "a packed thread that does not say which it is", _CODE,
        "        builder.store(x, emit_noted(target, builder))", "        pass",
        "an assertion that fails is said of another thread",
        (f"{_TESTS}::test_errors_name_the_thread_of_the_launch",),
    ),
    Mutation(
        "the thread of the GPU instead of that of the launch", "sharedoa/codegen/report.py",
        "if program.notes_thread:", "if False:",
        "an assertion that fails is said of another thread",
        (f"{_TESTS}::test_errors_name_the_thread_of_the_launch",),
    ),
    Mutation(
        "places of the next threads", _CODE,
        "slot = builder.add(slot, own)",
        "pass",
        "threads take the places of others that are asked before",
        (f"{_TESTS}::test_the_same_threads_do_the_same",),
    ),
    Mutation(
        "more threads than a block has", _CODE,
        "turn.add_incoming(builder.add(turn, width), builder.block)",
        "turn.add_incoming(builder.add(turn, every), builder.block)",
        "where more go on than a block has threads the others are left out",
        (f"{_TESTS}::test_the_same_threads_do_the_same",),
    ),
    Mutation(
        "barriers of packed threads", _PASS,
        'return operation.kind == "tile" or bool(effects_of(operation) & _WITH_OTHERS)',
        'return operation.kind == "tile"',
        "threads wait for others of their block in a loop that these have left",
        (f"{_TESTS}::test_who_is_not_packed",),
    ),
    Mutation(
        "packed threads in blocks of any size", "sharedoa/runtime/binding.py",
        "if self.is_packed and not geometry.is_usual:",
        "if False:",
        "a warp votes with threads that it does not have",
        (f"{_TESTS}::test_blocks_of_ones_own_are_not_packed",),
    ),
    Mutation(
        "what comparisons of packed threads say", _CHOICE,
        "self._comparison, self._is_on = None, verdict.is_better",
        "self._comparison, self._is_on = None, True",
        "threads are packed where that takes longer",
        (f"{_TESTS}::test_the_quicker_one_stays",),
    ),
    Mutation(
        "launches that nobody can time", _CHOICE,
        "if math.isnan(seconds):",
        "if False:",
        "a comparison never ends, or by numbers that are none",
        (f"{_TESTS}::test_the_quicker_one_stays",),
    ),
    Mutation(
        "the next comparison", _CHOICE,
        "if self._launches >= self._look_at and self._comparison is None:",
        "if self._launches >= self._look_at and not self.speedup:",
        "what was found when few threads went on holds for ever",
        (f"{_TESTS}::test_it_is_compared_again",),
    ),
    Mutation(
        "events without end", _CHOICE,
        "if len(self._under_way) >= _MOST_TIMED:",
        "if False:",
        "a host that is far ahead of its device asks for thousands of events",
        (f"{_TESTS}::test_who_is_far_ahead_waits_with_more_comparisons",),
    ),
    Mutation(
        "small launches with packed threads", _CHOICE,
        "return bool(backend.keeps_busy((nx // ASKED_AT_ONCE, 1), geometry.block))",
        "return True",
        "a sixth of the threads leaves most of a device idle",
        (f"{_TESTS}::test_small_launches_are_not_compared",),
    ),
    Mutation(
        "events that are not ready", "sharedoa/backends/timing.py",
        "if error and int(error) == NOT_READY:",
        "if False:",
        "a launch that is under way is asked how long it took",
        ("tests/backends/test_cuda_graph.py::test_launches_are_timed_without_waiting",),
    ),
    Mutation(
        "what comparisons of steps say", _STEPS,
        "each.launch.packs = each.verdict.is_better",
        "each.launch.packs = True",
        "threads of captured steps are packed where that takes longer",
        (f"{_OF_STEPS}::test_each_launch_goes_the_quicker_way",),
    ),
    Mutation(
        "code for comparisons that cannot be compiled", _CHOICE,
        "if failure is not None:",
        "if False:",
        "a launch fails as code failed that it does not need",
        (f"{_TESTS}::test_launches_go_on_where_code_for_comparisons_cannot_be_compiled",),
    ),
    Mutation(
        "signals amid a comparison of steps", _STEPS,
        "with uninterrupted:  # else",
        "if True:  # else",
        "some launches of a step have run once more than others",
        (f"{_OF_STEPS}::test_a_signal_amid_a_comparison_waits_for_the_end_of_the_run",),
    ),
    Mutation(
        "steps that run long at once", _STEPS,
        "return max(1, self._look_at - self._runs)",
        "return 1 << 60",
        "what runs a step a thousand times at once has no packed threads",
        (f"{_OF_STEPS}::test_they_are_compared_again",),
    ),
    Mutation(
        "comparisons go on when launches are bound anew", "sharedoa/runtime/launch_sequence.py",
        "        self._packed.drop()\n",
        "",
        "runs go on code for where objects were",
        (f"{_OF_STEPS}::test_what_changes_amid_a_comparison_is_seen",),
    ),
    Mutation(
        "packed threads of launches that are one", "sharedoa/runtime/packed_steps.py",
        "or launch.births is not None:",
        "or launch.several or launch.births is not None:",
        "launches that have become one are never packed",
        (f"{_OF_STEPS}::test_launches_that_are_one_are_packed_where_they_ask_the_same",),
    ),
    Mutation(
        "the same question asked again", _PASS,
        "operands = [self._numbers[operand] for operand in operation.operands]",
        "operands: list[int] = []",
        "what is asked of one object is taken for the answer of another one",
        ("tests/ir/test_files.py",),
    ),
    Mutation(
        "a method asked once more", _PASS,
        "            self._numbers[result] = number",
        "            number = self._numbers.setdefault(result, number)",
        "what a method says of one object is taken for its answer of another one",
        (f"{_OF_PASS}[a method of another object]",),
    ),
    Mutation(
        "the opposite question", _PASS,
        "                return not answer",
        "                return answer",
        "threads go on for which the first test fails, and the others do not",
        ("tests/ir/test_files.py",),
    ),
    Mutation(
        "memory for what nobody packs", _CODE,
        "MOST_BLOCK_THREADS = 256",
        "MOST_BLOCK_THREADS = 1024",
        "the list takes four times the memory, which the first-level cache lacks",
        (f"{_TESTS}::test_ptxas_takes_them",),
    ),
)  # fmt: skip

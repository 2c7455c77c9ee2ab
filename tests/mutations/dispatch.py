"""Faults in what becomes of virtual calls: uniform receivers, decisions, code."""

from .mutation import Mutation

_UNIFORMITY = "sharedoa/ir/uniformity.py"
_CANDIDATES = "sharedoa/ir/passes/candidates.py"
_DECISION = "ptxpass/ir/decision.py"
_LOWERING = "ptxpass/ir/lowering.py"
_EMITTER = "ptxpass/ir/emitter.py"
_TABLES = "ptxpass/ir/tables.py"
_OF_LOWERING = ("tests/ptxpass/test_lowering.py",)
_OF_FILES = ("tests/ir/test_files.py",)

MUTATIONS = (
    Mutation(
        "loops left in different rounds", _UNIFORMITY,
        "value in self.divergent or any(map(self._is_uneven, left[: self._made_in(value, join)]))",
        "value in self.divergent",
        "the counter of a loop passes for the same in threads that left it one after the other",
        ("tests/ir/test_uniformity.py::test_a_while_loop_that_threads_leave_at_different_rounds",),
    ),
    Mutation(
        "threads that part within a branch", _UNIFORMITY,
        "            at = _At(at.loops, len(at.loops))\n        for region in branch",
        "            at = _At(at.loops, at.parted)\n        for region in branch",
        "a break that some threads come to leaves the loop even",
        ("tests/ir/test_uniformity.py::test_an_else_clause_that_goes_on_with_the_outer_loop",),
    ),
    Mutation(
        "an else clause after a break", _UNIFORMITY,
        "self._region(last, apart if has_break else at)", "self._region(last, at)",
        "all threads are thought to come where those do that left a loop without break",
        ("tests/ir/test_uniformity.py::test_an_else_clause_that_goes_on_with_the_outer_loop",),
    ),
    Mutation(
        "callers of what turned out to differ", _UNIFORMITY,
        "                self._program.look_again(caller)", "                pass",
        "results of functions that call each other pass for uniform",
        ("tests/ir/test_uniform_calls.py", "tests/ir/test_uniform_programs.py"),
    ),
    Mutation(
        "uniformity beside undeclared operations", _UNIFORMITY,
        "    if not all(map(_is_followed, operations_in(program))):\n        return frozenset()\n",
        "",
        "an operation that nobody declared is taken for one that moves no control",
        ("tests/ir/test_uniform_calls.py", "tests/ir/test_uniform_programs.py"),
    ),
    Mutation(
        "results of new kinds", _UNIFORMITY,
        "kind.effects in (PURE, Effects.READS)", "not kind.effects & Effects.ATOMIC",
        "what a new operation gives each thread for itself passes for uniform",
        ("tests/ir/test_uniformity.py::test_a_while_loop_that_threads_leave_at_different_rounds",),
    ),
    Mutation(
        "classes without objects", _CANDIDATES,
        "if populated is None or each.type_index in populated", "if True",
        "calls choose among classes that no object has",
        _OF_FILES,
    ),
    Mutation(
        "the paper's modes call directly", _DECISION,
        "if mode.closed_world and methods == 1:", "if methods == 1:",
        "a mode that is there to be compared skips the lookup that it is compared by",
        ("tests/ptxpass/test_lowering.py::test_what_is_decided",),
    ),
    Mutation(
        "type tests of one class in an open world", _DECISION,
        "if mode.closed_world and classes <= 1 and not debug:", "if classes <= 1 and not debug:",
        "a class that comes later passes for the one that is known",
        ("tests/ptxpass/test_lowering.py::test_what_tells_the_class_of_a_type_test",),
    ),
    Mutation(
        "direct calls in debug mode", _LOWERING,
        "                emitter.require_type(type_index, call.candidates)\n", "",
        "an object of another class is called without a word",
        (
            "tests/ptxpass/test_lowering.py"
            "::test_debug_refuses_an_object_of_another_class[1-tag+vtable]",
        ),
    ),
    Mutation(
        "results of refused calls", _EMITTER,
        "            results.append((self.no_result(), block))\n",
        "            results.append((result, block))\n",
        "a call that nothing answers gives what another one did",
        (
            "tests/ptxpass/test_lowering.py"
            "::test_debug_refuses_an_object_of_another_class[1-tag+vtable]",
        ),
    ),
    Mutation(
        "entries of another slot", _TABLES,
        "each.entry_base + call.slot, each.symbol", "each.entry_base, each.symbol",
        "vtable records name other methods than the function table has",
        _OF_LOWERING,
    ),
    Mutation(
        "rows that begin elsewhere", _TABLES,
        "self._columns[slot] - self._first * stride", "self._columns[slot]",
        "methods are looked up before or behind the table",
        _OF_LOWERING,
    ),
)  # fmt: skip

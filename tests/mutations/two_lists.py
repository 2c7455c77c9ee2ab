"""Faults in shared loops along two lists, and in what they load of their owners."""

from .mutation import Mutation

_LISTS = "sharedoa/ir/passes/two_lists.py"
_OWNERS = "sharedoa/ir/passes/owner_fields.py"
_BEFORE = "sharedoa/ir/before_loop.py"
_RUN = "tests/codegen/test_two_lists.py"
_FILES = "tests/ir/test_files.py"

MUTATIONS = (
    Mutation(
        "two lists behind the first round", _LISTS,
        "if constant_of(loop.operands[0]) != 0 or not _has_choice",
        "if not _has_choice",
        "rounds before the first one are run",
        (f"{_RUN}::test_what_becomes_of_loops",),
    ),
    Mutation(
        "bounds below zero", _LISTS,
        'loop = self._loop(none, self._add("select", [is_odd, none, left]), loop.results)',
        "loop = self._loop(none, left, loop.results)",
        "threads whose bound is negative run rounds twice",
        (f"{_RUN}::test_bounds_may_be_anything",),
    ),
    Mutation(
        "what is taken off the number of a round", _LISTS,
        "and each.operands[1] is bound",
        "",
        "whatever is taken off it, rounds of the second list go on with their own number",
        (f"{_RUN}::test_bounds_may_be_anything",),
    ),
    Mutation(
        "tests of two lists that are turned round", _LISTS,
        "operator, one, other = _TURNED.get(operator), other, one",
        "one, other = other, one",
        "the rounds at the bound take the wrong list",
        (f"{_FILES}",),
    ),
    Mutation(
        "which of two lists comes first", _LISTS,
        'return _Choice(place, other, int(operator == "ge"))',
        "return _Choice(place, other, 0)",
        "each list is asked for elements of the other one",
        (f"{_FILES}",),
    ),
    Mutation(
        "a counter that does not fit", _BEFORE,
        "if not type.is_integer or type.bits < bounds.bits:",
        "if not type.is_integer:",
        "rounds whose number is cut to fewer bits count as those of the first list",
        (f"{_FILES}",),
    ),
    Mutation(
        "indices of rounds that begin below zero", _BEFORE,
        "if constant_of(loop.operands[0]) != 0:",
        "if False:",
        "elements are read before their array where they count from its end",
        (f"{_FILES}",),
    ),
    Mutation(
        "objects that nobody has asked before a loop", _BEFORE,
        "return chain if self._is_there(object) else None",
        "return chain",
        "threads without rounds load fields of None",
        (f"{_RUN}::test_nobody_is_asked_where_there_are_no_rounds",),
    ),
    Mutation(
        "more words to fetch in each round", _OWNERS,
        "if not once.made or _words(draft.loop, function) > _words(loop, function):",
        "if not once.made:",
        "shared loops get slower, as they fetch arrays and lengths in place of a reference",
        (f"{_FILES}",),
    ),
)  # fmt: skip

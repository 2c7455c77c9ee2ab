"""Faults in making tests that search wait for others."""

from .mutation import Mutation

_PASS = "sharedoa/ir/passes/cheap_tests.py"
_LATER = "tests/ir/test_cheap_tests.py::test_searches_of_what_may_come_later"
_WHICH = "tests/ir/test_cheap_tests.py::test_which_wait"

MUTATIONS = (
    Mutation(
        "calls of what may come later", _PASS,
        ' or (operation.kind == "call_virtual" and not self._closed_world)',
        "",
        "a method that stores is left out", (_LATER,),
    ),
    Mutation(
        "calls of what may come later, within", _PASS,
        '            and (each.kind != "call_virtual" or self._closed_world)\n',
        "",
        "a method that stores is left out", (_LATER,),
    ),
    Mutation(
        "searches that call themselves", _PASS,
        "self._looks[symbol] = False  # one",
        "self._looks[symbol] = True  # one",
        "what is asked of them goes round for ever", (_WHICH,),
    ),
    Mutation(
        "what is asked behind a return", _PASS,
        "            if operation.regions or effects_of(operation) & "
        "~_LOOKING:\n                return False\n",
        "",
        "a field of null is read", (_WHICH,),
    ),
    Mutation(
        "numbers that are chosen by a search", _PASS,
        "if len(choice.results) != 1 or choice.result.type != choice.operands[0].type:",
        "if len(choice.results) != 1:",
        "a number stands where a test is awaited", (_WHICH,),
    ),
    Mutation(
        "what is done otherwise", _PASS,
        "if is_settled and all(effects_of(each) == PURE for each in others):",
        "if is_settled:",
        "a store is left out", (_WHICH,),
    ),
    Mutation(
        "returns otherwise", _PASS,
        '        if end.kind != "yield":\n            continue\n',
        "",
        "a kernel that returns where a search has failed does not compile", (_WHICH,),
    ),
    Mutation(
        "objects that may be none", _PASS, "return is_its and is_asked(object)", "return is_its",
        "a field of null is read", (_WHICH,),
    ),
    Mutation(
        "loops that may have no round", _PASS,
        'elif operation.kind == "for" and rounds_of(operation):', 'elif operation.kind == "for":',
        "what is asked in no round counts as asked", (_WHICH,),
    ),
    Mutation(
        "fields of subclasses to wait for", _PASS,
        'and field["owner"] in object.type.cls.ancestry()', "",
        "a field is read of an object that has none", (_WHICH,),
    ),
    Mutation(
        "searches that store", _PASS,
        "_WITHIN = _LOOKING |", "_WITHIN = _LOOKING | Effects.WRITES |",
        "threads that need not search do not store", (_WHICH,),
    ),
    Mutation(
        "stores before a test", _PASS,
        "elif effects_of(operation) & ~Effects.READS:", "elif False:",
        "a search sees what was stored behind it", (_WHICH,),
    ),
    Mutation(
        "other uses of a search", _PASS,
        "bool(uses) and all(use.operation in moved for use in uses)", "bool(uses)",
        "what was found is not there for others", (_WHICH,),
    ),
    Mutation(
        "either and both", _PASS,
        "is_settled = constant is not None and bool(constant) is not is_and",
        "is_settled = constant is not None",
        "a choice of two tests counts as a condition", (_WHICH,),
    ),
    Mutation(
        "divisions before a search", _PASS,
        'return operation["operator"] in _EXACT_OPERATORS', "return True",
        "a number is divided by zero where no test asked it", (_WHICH,),
    ),
    Mutation(
        "indices before a search", "sharedoa/ir/field_loads.py",
        "if number is None or not 0 <= number < type.shape[0]:", "if False:",
        "an element is read that there is not", (_WHICH,),
    ),
)  # fmt: skip

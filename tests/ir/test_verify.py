"""Malformed programs are found, and what the front end makes is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa.errors import InternalError
from sharedoa.ir import Operation, Program, Value
from sharedoa.ir.text import NOWHERE
from sharedoa.ir.verify import verify
from sharedoa.model.scalars import f32

from ..differential.effort import examples
from ..differential.programs import Size
from .filetest_types import NAMES
from .parse import parse_program
from .programs import app_kernels, job, program_of, random_program, run_all

#: Around the operations of a case.
_PROGRAM = """
program @main
kernel @main "main" (%node: Node, %values: Array[f32], %n: int, %a: f32, %test: bool) -> void {
%OPERATIONS
}
method @Node.weight "Node.weight" (%self: Node, %by: f32) -> f32 { return %by }
"""


def _program(operations: str) -> Program:
    return parse_program(_PROGRAM.replace("%OPERATIONS", operations), NAMES)


_FIELD = '%at: lvalue[f32] = field %node <owner = class Node, name = "value">\n'
_LOOP = "%r: f32 = for %n, %n, %n, %a (%i: int, %c: f32)"
_WHILE = "%r: f32 = while %a (%c: f32)"
_ELSE = "(%d: f32) { yield %d }"
_TEST = "{ condition %test, %c }"
_CALL = '%r: f32 = call %node, %a <symbol = "Node.weight">'
_VIRTUAL = (
    '%r: f32 = call_virtual %node, %a <cls = class Node, method = "weight", slot = 0, '
    "candidates = (Node -> @Node.weight,)>"
)
_END = "a terminator is what a region ends with, only there"

_WELL_FORMED = [
    "return",
    f"{_FIELD} %r: f32 = load %at store %r, %at return",
    f"{_LOOP} {{ continue %c }} {_ELSE} return",
    f"{_LOOP} {{ break %c }} (%d: f32) {{ return }} return",
    f"{_WHILE} {_TEST} (%e: f32) {{ if %test {{ break %e }} {{ yield }} continue %e }} {_ELSE}"
    " return",
    f"{_CALL} return",
    f"{_VIRTUAL} return",
    "%r: f32, %s: int = unheard_of %a, %n <of = 1> { yield %a, %n } return",
]

_MALFORMED = {
    # Values.
    "used before it is made": (
        "%x: f32 = unary %y <operator = \"neg\"> %y: f32 = unary %a <operator = \"neg\"> return",
        "%y is not visible here",
    ),
    "used behind its region": (
        "if %test { %x: f32 = zero yield } { yield } %y: f32 = convert %x return",
        "%x is not visible here",
    ),
    "used in the other arm": (
        "if %test { %x: f32 = zero yield } { %y: f32 = convert %x yield } return",
        "%x is not visible here",
    ),
    "an argument of a loop used behind it": (
        f"{_LOOP} {{ continue %c }} {_ELSE} %y: f32 = convert %c return",
        "%c is not visible here",
    ),
    "a result used in its own loop": (
        f"{_LOOP} {{ continue %r }} {_ELSE} return",
        "%r is not visible here",
    ),
    "used by its own operation": ("%x: f32 = convert %x return", "%x is not visible here"),
    # Regions.
    "without an end": ("%x: f32 = zero", _END),
    "an end in the middle": ("return return", _END),
    "an operation that nobody declared at the end": ("unheard_of", _END),
    "nothing at all": ("if %test {} { yield } return", "a region without operations"),
    # What was declared of a kind.
    "operands": ('%x: f32 = binary %a <operator = "add"> return', "1 operands instead of 2"),
    "a slot without bytes": (
        "%x: bool = delete %node, %n return",
        "takes an object, or one with the bytes of its region and its slot",
    ),
    "an end of nothing": (
        "%x: bool = delete return",
        "takes an object, or one with the bytes of its region and its slot",
    ),
    "results": ("zero return", "0 results instead of 1"),
    "regions": ("if %test { yield } return", "1 regions instead of 2"),
    "attributes": ("%x: f32 = binary %a, %a return", "without operator"),
    "more attributes": ("return <to = 1>", "with undeclared to"),
    # What terminators pass on.
    "a result of a kernel": ("return %a", "passes [f32] where [] is awaited"),
    "a yield of nobody": ("yield", "yields to nobody"),
    "a yield from a round": (f"{_LOOP} {{ yield %c }} {_ELSE} return", "yields to nobody"),
    "a yield of another type": (
        "%x: f32 = if %test { yield %n } { yield %a } return",
        "passes [int] where [f32] is awaited",
    ),
    "a yield of too little": (
        "%x: f32 = if %test { yield } { yield %a } return",
        "passes [] where [f32] is awaited",
    ),
    "a break outside of loops": ("if %test { break } { yield } return", "is in no loop"),
    "a continue outside of loops": ("continue", "is in no loop"),
    "a break when no round is left": (
        f"{_LOOP} {{ continue %c }} (%d: f32) {{ break %d }} return",
        "is in no loop",
    ),
    "a break with another type": (
        f"{_LOOP} {{ break %i }} {_ELSE} return",
        "passes [int] where [f32] is awaited",
    ),
    "a continue with too much": (
        f"{_LOOP} {{ continue %c, %c }} {_ELSE} return",
        "passes [f32, f32] where [f32] is awaited",
    ),
    "a condition of nobody": ("condition %test", "tests for no loop"),
    "a condition in a round": (
        f"{_WHILE} {_TEST} (%e: f32) {{ condition %test, %e }} {_ELSE} return",
        "tests for no loop",
    ),
    "a condition with too little": (
        f"{_WHILE} {{ condition %test }} (%e: f32) {{ continue %e }} {_ELSE} return",
        "passes [] where [f32] is awaited",
    ),
    # Lvalues are not passed on.
    "an lvalue that is yielded": (
        f"{_FIELD} %x: lvalue[f32] = if %test {{ yield %at }} {{ yield %at }} return",
        "takes an lvalue",
    ),
    "an lvalue that is returned": (f"{_FIELD} return %at", "takes an lvalue"),
    "an lvalue that is selected": (
        f"{_FIELD} %x: lvalue[f32] = select %test, %at, %at return",
        "takes an lvalue",
    ),
    "an lvalue that is carried": (
        f"{_FIELD} %r: lvalue[f32] = for %n, %n, %n, %at (%i: int, %c: lvalue[f32]) "
        "{ continue %c } (%d: lvalue[f32]) { yield %d } return",
        "takes an lvalue",
    ),
    "an lvalue that is an argument": (
        f'{_FIELD} %x: f32 = call %node, %at <symbol = "Node.weight"> return',
        "takes an lvalue",
    ),
    # Types.
    "a sum of different types": (
        '%x: f32 = binary %a, %n <operator = "add"> return',
        "operands and result differ in type",
    ),
    "a sum of another type": (
        '%x: int = binary %a, %a <operator = "add"> return',
        "operands and result differ in type",
    ),
    "a choice of different types": (
        "%x: f32 = select %test, %a, %n return",
        "operands and result differ in type",
    ),
    "a comparison of different types": (
        '%x: bool = compare %a, %n <operator = "lt"> return',
        "compares different types",
    ),
    "a load of another type": (f"{_FIELD} %x: int = load %at return", "loads another type"),
    "a load of no lvalue": ("%x: f32 = load %a return", "loads another type"),
    "a store of another type": (f"{_FIELD} store %n, %at return", "stores another type"),
    "a loop that begins with another type": (
        "%r: f32 = for %n, %n, %n, %n (%i: int, %c: f32) { continue %c } "
        f"{_ELSE} return",
        "passes [int] where [f32] is awaited",
    ),
    "a loop whose rounds have another type": (
        f"%r: f32 = for %n, %n, %n, %a (%i: int, %c: int) {{ break %a }} {_ELSE} return",
        "passes [int] where [f32] is awaited",
    ),
    # Calls.
    "a call of nothing": ('%r: f32 = call %a <symbol = "lost"> return', "lost is not part of"),
    "a call with other types": (
        '%r: f32 = call %a, %node <symbol = "Node.weight"> return',
        "passes [f32, Node] where [Node, f32] is awaited",
    ),
    "a call with another result": (
        '%r: int = call %node, %a <symbol = "Node.weight"> return',
        "gives [int], not f32",
    ),
    "a candidate without a function": (
        _VIRTUAL.replace("@Node.weight", "@lost") + " return",
        "lost is not part of",
    ),
}  # fmt: skip


def _fails(program: Program, problem: str) -> None:
    with pytest.raises(InternalError) as caught:
        verify(program, "the test")
    assert "after the test: " in str(caught.value) and problem in str(caught.value)


@pytest.mark.parametrize("operations", _WELL_FORMED)
def test_well_formed(operations: str) -> None:
    verify(_program(operations))


@pytest.mark.parametrize("name", _MALFORMED)
def test_malformed(name: str) -> None:
    operations, problem = _MALFORMED[name]
    _fails(_program(operations), problem)


def test_a_value_of_another_function() -> None:
    program = _program("return")
    foreign = program.functions["Node.weight"].parameters[1]
    made = Value(f32)
    operation = Operation("convert", [foreign], NOWHERE, {}, [made])
    made.source = operation
    program.kernel.body.operations.insert(0, operation)
    _fails(program, "%by is not visible here")


def test_a_value_that_is_made_twice() -> None:
    program = _program("%x: f32 = zero return")
    made, end = program.kernel.body.operations
    other = Operation("zero", [], NOWHERE, {}, [made.result])
    program.kernel.body.operations = [made, other, end]
    made.result.source = other
    _fails(program, "%x names another source")
    program.kernel.body.operations = [other, other, end]
    _fails(program, "%x is made twice")


def test_a_parameter_that_is_made_again() -> None:
    program = _program("return")
    parameter = program.kernel.parameters[3]
    parameter.source = Operation("zero", [], NOWHERE, {}, [parameter])
    program.kernel.body.operations.insert(0, parameter.source)
    _fails(program, "%a is made twice")


def test_a_result_that_names_no_source() -> None:
    program = _program("%x: f32 = zero return")
    program.kernel.body.operations[0].result.source = None
    _fails(program, "%x names another source")


def test_functions_under_other_symbols() -> None:
    program = _program("return")
    program.functions["other"] = program.functions["Node.weight"]
    _fails(program, "other holds the function Node.weight")


def test_a_kernel_that_is_not_there() -> None:
    program = _program("return")
    program.kernel = _program("return").kernel
    _fails(program, "the kernel is not among its functions")


_SIZES = st.builds(Size, st.integers(0, 12), st.integers(1, 5), st.integers(1, 10))


@settings(max_examples=examples(10))
@given(seed=st.integers(0, 2**32 - 1), size=_SIZES, device=st.booleans(), debug=st.booleans())
def test_random_programs_through_all_passes(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: Size, device: bool, debug: bool
) -> None:
    program = random_program(tmp_path_factory.mktemp("program"), seed, size)
    run_all(program, job(device, debug, shares_loops=True))


@pytest.mark.slow  # those of test_text.py, which are verified, too
@pytest.mark.parametrize("name", sorted(app_kernels()))
def test_programs_of_the_applications_through_all_passes(name: str) -> None:
    run_all(program_of(app_kernels()[name]), job(device=True, shares_loops=True))

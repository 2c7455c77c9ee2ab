"""Which values are the same for every thread of a warp."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import ir

from .flow import I64, Flow, Program


@pytest.fixture
def program() -> Program:
    return Program()


@pytest.fixture
def kernel(program: Program) -> Flow:
    """A kernel with one leaf; ``arguments`` are leaf, x, y, nx, ny."""
    return program.kernel()


def test_parameters_and_what_is_computed_from_them(program: Program, kernel: Flow) -> None:
    leaf, x, y, nx, ny = kernel.arguments
    for name, value in {"leaf": leaf, "x": x, "y": y, "nx": nx, "ny": ny, "7": I64(7)}.items():
        kernel.probe(name, value)
    kernel.probe("leaf + nx", kernel.builder.add(leaf, nx))
    kernel.probe("leaf + x", kernel.builder.add(leaf, x))
    kernel.probe("select", kernel.builder.select(kernel.less(x, nx), leaf, nx))
    kernel.give()
    assert program.uniform() == {"leaf", "nx", "ny", "7", "leaf + nx"}


def test_loads(program: Program, kernel: Flow) -> None:
    leaf, x, *_ = kernel.arguments
    kernel.probe("uniform address", kernel.at(leaf))
    kernel.probe("twice", kernel.at(kernel.at(leaf)))
    kernel.probe("own address", kernel.at(kernel.builder.add(leaf, x)))
    kernel.give()
    assert program.uniform() == {"uniform address", "twice"}


def test_atomics_differ_even_at_one_address(program: Program, kernel: Flow) -> None:
    pointer = kernel.builder.inttoptr(kernel.arguments[0], ir.PointerType())
    kernel.probe("add", kernel.builder.atomic_rmw("add", pointer, I64(1), "monotonic"))
    swapped = kernel.builder.cmpxchg(pointer, I64(0), I64(1), "monotonic")
    kernel.probe("cas", kernel.builder.extract_value(swapped, 0))
    kernel.give()
    assert program.uniform() == set()


def test_declared_functions(program: Program, kernel: Flow) -> None:
    leaf, x, *_ = kernel.arguments
    math = program.declare("__nv_sqrt", 1)
    own = program.declare("llvm.nvvm.read.ptx.sreg.tid.x")
    kernel.probe("math", kernel.builder.call(math, [leaf]))
    kernel.probe("math of x", kernel.builder.call(math, [x]))
    kernel.probe("register", kernel.builder.call(own, []))
    kernel.give()
    assert program.uniform() == {"math"}


@pytest.mark.parametrize("divergent", [True, False])
def test_variable_assigned_under_a_branch(program: Program, kernel: Flow, divergent: bool) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    touched, untouched, same = kernel.variable(leaf), kernel.variable(leaf), kernel.variable(3)

    def then() -> None:
        kernel.set(touched, nx)
        kernel.set(same, 3)
        kernel.probe_variable("touched inside", touched)

    kernel.when(kernel.less(x if divergent else leaf, nx), then)
    kernel.probe_variable("touched", touched)
    kernel.probe_variable("untouched", untouched)
    kernel.probe_variable("same", same)
    kernel.set(touched, leaf)
    kernel.probe_variable("assigned again", touched)
    kernel.give()
    always = {"touched inside", "untouched", "same", "assigned again"}
    assert program.uniform() == (always if divergent else always | {"touched"})


def test_phi_of_a_divergent_choice(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    builder = kernel.builder
    before = builder.block
    then, end = (kernel.llvm.append_basic_block() for _ in range(2))
    builder.cbranch(kernel.less(x, nx), then, end)
    builder.position_at_end(then)
    builder.branch(end)
    builder.position_at_end(end)
    for name, values in {"different": (leaf, nx), "equal": (leaf, leaf)}.items():
        phi = builder.phi(I64)
        phi.add_incoming(values[0], before)
        phi.add_incoming(values[1], then)
        kernel.probe(name, phi)
    kernel.give()
    assert program.uniform() == {"equal"}


def test_switch_on_a_divergent_value(program: Program, kernel: Flow) -> None:
    leaf, x, *_ = kernel.arguments
    slot = kernel.variable(leaf)
    one, two, end = (kernel.llvm.append_basic_block() for _ in range(3))
    switch = kernel.builder.switch(x, end)
    for number, block in enumerate((one, two)):
        switch.add_case(I64(number), block)
        kernel.builder.position_at_end(block)
        kernel.set(slot, number)
        kernel.probe_variable(f"case {number}", slot)
        kernel.builder.branch(end)
    kernel.builder.position_at_end(end)
    kernel.probe_variable("after", slot)
    kernel.give()
    assert program.uniform() == {"case 0", "case 1"}


@pytest.mark.parametrize("divergent", [True, False])
def test_loop_counter_and_early_exit(program: Program, kernel: Flow, divergent: bool) -> None:
    """M-14: uniform over the threads that still run, not over those that left earlier."""
    leaf, x, _, nx, _ = kernel.arguments
    before = kernel.variable(leaf)

    def body(i: Any) -> None:
        kernel.probe_variable("counter", i)
        kernel.probe("element", kernel.at(kernel.builder.add(leaf, kernel.get(i))))
        own = kernel.at(kernel.builder.add(x, kernel.get(i)))
        test = own if divergent else kernel.at(leaf)
        kernel.when(kernel.less(test, nx), kernel.break_)
        kernel.probe_variable("counter behind the break", i)

    i = kernel.count(nx, body)
    kernel.probe_variable("counter after the loop", i)
    kernel.probe_variable("untouched", before)
    kernel.give()
    inside = {"counter", "element", "counter behind the break", "untouched"}
    assert program.uniform() == (inside if divergent else inside | {"counter after the loop"})


def test_loop_of_divergent_length(program: Program, kernel: Flow) -> None:
    leaf, x, *_ = kernel.arguments
    other = kernel.variable(0)

    def body(i: Any) -> None:
        kernel.probe_variable("inside", i)
        kernel.set(other, leaf)

    i = kernel.count(x, body)
    kernel.probe_variable("counter after", i)
    # A thread that never entered has not assigned it.
    kernel.probe_variable("assigned inside", other)
    kernel.give()
    assert program.uniform() == {"inside"}


def test_value_of_a_loop_used_behind_it(program: Program, kernel: Flow) -> None:
    """Not only variables: a value computed in the last pass differs too."""
    leaf, x, _, nx, _ = kernel.arguments
    last: list[Any] = []

    def body(i: Any) -> None:
        last.append(kernel.builder.add(kernel.get(i), leaf))
        kernel.when(kernel.less(x, last[0]), kernel.break_)

    kernel.count(nx, body, else_=lambda: kernel.give())
    kernel.probe("value", last[0])
    kernel.probe("sum with it", kernel.builder.add(last[0], leaf))
    kernel.give()
    assert program.uniform() == set()


def test_divergent_continue_keeps_the_counter(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    skipped = kernel.variable(0)

    def body(i: Any) -> None:
        kernel.when(kernel.less(x, kernel.get(i)), kernel.continue_)
        kernel.set(skipped, kernel.get(i))
        kernel.probe_variable("assigned", skipped)

    i = kernel.count(nx, body)
    kernel.probe_variable("counter after", i)
    kernel.probe_variable("assigned after", skipped)
    kernel.give()
    assert program.uniform() == {"assigned", "counter after"}


def test_outer_loop_of_an_uneven_inner_loop(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments

    def inner(i: Any) -> Any:
        def body(j: Any) -> None:
            kernel.probe_variable("inner", j)
            kernel.when(kernel.less(x, kernel.get(j)), kernel.break_)

        j = kernel.count(nx, body)
        kernel.probe_variable("inner after", j)
        kernel.probe_variable("outer", i)

    i = kernel.count(leaf, inner)
    kernel.probe_variable("outer after", i)
    kernel.give()
    assert program.uniform() == {"inner", "outer", "outer after"}


def test_break_out_of_a_nested_choice(program: Program, kernel: Flow) -> None:
    """The branch that diverges is not the one that leaves."""
    leaf, x, _, nx, _ = kernel.arguments

    def body(i: Any) -> None:
        def then() -> None:
            kernel.when(kernel.less(leaf, kernel.get(i)), kernel.break_)

        kernel.when(kernel.less(x, kernel.get(i)), then)
        kernel.probe_variable("counter", i)

    i = kernel.count(nx, body)
    kernel.probe_variable("after", i)
    kernel.give()
    assert program.uniform() == {"counter"}


def test_loop_that_never_ends(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    slot = kernel.variable(leaf)
    loop = kernel.llvm.append_basic_block()
    kernel.builder.branch(loop)
    kernel.builder.position_at_end(loop)
    kernel.when(kernel.less(x, nx), lambda: kernel.set(slot, nx))
    kernel.probe_variable("in the loop", slot)
    kernel.probe("leaf", leaf)
    kernel.builder.branch(loop)
    assert program.uniform() == {"leaf"}


def test_code_behind_a_divergent_return(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    slot = kernel.variable(leaf)
    kernel.when(kernel.less(x, nx), kernel.give)
    kernel.probe_variable("slot", slot)
    kernel.give()
    assert program.uniform() == {"slot"}


def test_parameter_is_uniform_if_it_is_at_all_calls(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    functions = [program.function(f"f{i}", 2) for i in range(2)]
    for number, function in enumerate(functions):
        for place, argument in enumerate(function.arguments):
            function.probe(f"f{number}.{place}", argument)
        function.give()
    kernel.builder.call(functions[0].llvm, [leaf, nx])
    kernel.builder.call(functions[0].llvm, [nx, x])
    kernel.when(kernel.less(x, nx), lambda: kernel.builder.call(functions[1].llvm, [leaf, I64(1)]))
    kernel.give()
    assert program.uniform() == {"f0.0", "f1.0", "f1.1"}


def test_result_of_a_function(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    total = program.function("total", 2, I64)
    total.give(total.builder.add(*total.arguments))
    chosen = program.function("chosen", 2, I64)
    chosen.when(chosen.less(*chosen.arguments), lambda: chosen.give(1))
    chosen.give(2)
    constant = program.function("constant", 2, I64)
    constant.when(constant.less(*constant.arguments), lambda: constant.give(5))
    constant.give(5)
    kernel.probe("total", kernel.builder.call(total.llvm, [leaf, nx]))
    kernel.probe("chosen", kernel.builder.call(chosen.llvm, [leaf, x]))
    kernel.probe("constant", kernel.builder.call(constant.llvm, [leaf, x]))
    kernel.give()
    assert program.uniform() == {"total", "constant"}


def test_return_out_of_an_uneven_loop(program: Program, kernel: Flow) -> None:
    _, x, _, nx, _ = kernel.arguments
    search = program.function("search", 2, I64)
    wanted, stop = search.arguments

    def body(i: Any) -> None:
        search.when(search.less(wanted, search.get(i)), lambda: search.give(search.get(i)))

    search.count(stop, body)
    search.give(stop)
    kernel.probe("found", kernel.builder.call(search.llvm, [x, nx]))
    kernel.give()
    assert program.uniform() == set()


def test_recursion(program: Program, kernel: Flow) -> None:
    leaf, x, *_ = kernel.arguments
    down = program.function("down", 2, I64)
    depth, own = down.arguments
    down.probe("depth", depth)
    down.probe("own", own)
    down.when(down.less(depth, I64(1)), lambda: down.give(0))
    down.give(down.builder.call(down.llvm, [down.builder.sub(depth, I64(1)), own]))
    kernel.probe("result", kernel.builder.call(down.llvm, [leaf, x]))
    kernel.give()
    assert program.uniform() == {"depth", "result"}


def test_virtual_calls_reach_every_candidate(program: Program, kernel: Flow) -> None:
    leaf, x, _, nx, _ = kernel.arguments
    for symbol in ("A.m", "B.m"):
        method = program.function(symbol, 2, I64)
        for place, argument in enumerate(method.arguments):
            method.probe(f"{symbol}.{place}", argument)
        method.give(7)
    methods = ["A.m", "B.m"]
    same = program.add_site(kernel.builder, "same", methods, leaf, nx)
    other = program.add_site(kernel.builder, "other", methods, x, nx)
    only = program.add_site(kernel.builder, "only", methods[:1], x, nx)
    for name, value in {"same": same, "other": other, "only": only}.items():
        kernel.probe(name, value)
    kernel.give()
    assert program.uniform() == {"A.m.1", "B.m.1", "same", "only"}
    assert program.uniform_methods() == {"same"}


def test_function_that_the_kernel_does_not_reach(program: Program, kernel: Flow) -> None:
    kernel.give()
    stranger = program.function("stranger")
    stranger.probe("parameter", stranger.arguments[0])
    stranger.give()
    assert program.uniform() == set()


def test_stack_memory_that_is_not_a_variable(program: Program, kernel: Flow) -> None:
    leaf, *_ = kernel.arguments
    slot = kernel.variable(leaf)
    escape = ir.Function(
        program.module, ir.FunctionType(ir.VoidType(), [ir.PointerType()]), "escape"
    )
    kernel.builder.call(escape, [slot])
    kernel.probe_variable("slot", slot)
    kernel.give()
    assert program.uniform() == set()


def test_ray_tracer(program: Program) -> None:
    """M-14: every thread tests its ray against one object after the other, so those calls are
    uniform, also in the shadow loop that ends early; the object hit is each thread's own."""
    kernel = program.kernel(leaves=2)
    objects, count, x, *_ = kernel.arguments
    for symbol in ("Sphere.hit", "Plane.hit"):
        method = program.function(symbol, 2, I64)
        method.give(method.builder.add(*method.arguments))
    methods = ["Sphere.hit", "Plane.hit"]
    closest, best = kernel.variable(0), kernel.variable(1 << 40)

    def call(name: str, receiver: Any) -> Any:
        return program.add_site(kernel.builder, name, methods, receiver, x)

    def intersect(i: Any) -> None:
        candidate = kernel.at(kernel.builder.add(objects, kernel.get(i)))
        distance = call("intersect", candidate)

        def nearer() -> None:
            kernel.set(best, distance)
            kernel.set(closest, candidate)

        kernel.when(kernel.less(distance, kernel.get(best)), nearer)

    def shadow(i: Any) -> None:
        candidate = kernel.at(kernel.builder.add(objects, kernel.get(i)))
        kernel.when(kernel.less(call("shadow", candidate), I64(1)), kernel.break_)

    kernel.count(count, intersect)
    call("normal", kernel.get(closest))
    last = kernel.count(count, shadow)
    call("blocker", kernel.at(kernel.builder.add(objects, kernel.get(last))))
    kernel.give()
    assert program.uniform_methods() == {"intersect", "shadow"}

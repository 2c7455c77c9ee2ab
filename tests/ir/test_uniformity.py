"""Which receivers are the same for every thread of a warp: operations, branches, loops.

Comments in the kernels say it (``uniform_lines``). Calls are in ``test_uniform_calls``, whole
programs in ``test_uniform_programs``.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from .uniform_lines import Leaf, Node, Nodes, as_comments_say

# ------------------------------------------------------------------- operations


@as_comments_say
def test_parameters_and_what_is_computed_from_them(nodes: Nodes, node: Node, n: i32) -> None:
    x, y = oa.grid(2)
    nx, ny = oa.gridsize(2)
    node.ask()  # uniform
    nodes[n].ask()  # uniform
    nodes[7].ask()  # uniform
    nodes[n + nx * ny].ask()  # uniform
    nodes[len(nodes) - 1].ask()  # uniform
    nodes[x].ask()  # divergent
    nodes[y].ask()  # divergent
    nodes[n + x].ask()  # divergent
    nodes[n if x < nx else 3].ask()  # divergent
    nodes[n if n < nx else 3].ask()  # uniform
    node.value = i32(isinstance(nodes[n], Leaf))  # uniform
    node.value = i32(isinstance(nodes[x], Leaf))  # divergent


@as_comments_say
def test_loads(nodes: Nodes, node: Node, numbers: oa.Array[i32]) -> None:
    i = oa.grid(1)
    node.other.ask()  # uniform
    node.other.other.ask()  # uniform
    nodes[numbers[node.near[2]]].ask()  # uniform
    nodes[i].other.ask()  # divergent
    nodes[numbers[i]].ask()  # divergent
    nodes[node.near[i]].ask()  # divergent


@as_comments_say
def test_atomics_differ_even_at_one_address(nodes: Nodes, numbers: oa.Array[i32]) -> None:
    nodes[oa.atomic_add(numbers, 0, 1)].ask()  # divergent
    nodes[oa.atomic_cas(numbers, 0, 0, 1)].ask()  # divergent


@as_comments_say
def test_mathematics(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    nodes[int(oa.f64(n) ** 0.5)].ask()  # uniform
    nodes[int(oa.f64(i) ** 0.5)].ask()  # divergent


# --------------------------------------------------------------------- branches


@as_comments_say
def test_a_variable_assigned_under_a_divergent_branch(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    touched, untouched, same, twice = n, n, 3, 0.0
    if i < n:
        touched = 5
        same = 3
        twice = -0.0
        nodes[touched].ask()  # uniform
    nodes[touched].ask()  # divergent
    nodes[untouched].ask()  # uniform
    nodes[same].ask()  # uniform
    nodes[int(1 / (1 + twice))].ask()  # divergent
    touched = n
    nodes[touched].ask()  # uniform


@as_comments_say
def test_a_variable_assigned_under_a_uniform_branch(nodes: Nodes, n: i32) -> None:
    touched = n
    if n < 9:
        touched = 5
    nodes[touched].ask()  # uniform


@as_comments_say
def test_a_choice_among_several(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k = n
    if i == 0:
        k = 1
        nodes[k].ask()  # uniform
    elif i == 1:
        k = 2
        nodes[k].ask()  # uniform
    nodes[k].ask()  # divergent


@as_comments_say
def test_a_test_of_two_parts(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k, m = 0, 0
    if n > 3 and nodes[n].value > 2:
        k = 1
    if n > 3 and nodes[i].value > 2:
        m = 1
    nodes[k].ask()  # uniform
    nodes[m].ask()  # divergent


@as_comments_say
def test_a_uniform_branch_within_a_divergent_one(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k = 0
    if i < n:
        if n < 7:
            k = 1
        nodes[k].ask()  # uniform
    nodes[k].ask()  # divergent


@as_comments_say
def test_code_behind_a_divergent_return(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k = n
    if i < n:
        k = 3
        return
    nodes[k].ask()  # uniform


@as_comments_say
def test_one_arm_alone_goes_on(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k = 0
    if i < n:
        if n < 7:
            k = 5
        else:
            k = 6
    else:
        return
    nodes[k].ask()  # uniform


# ------------------------------------------------------------------------ loops


@as_comments_say
def test_a_counter_and_a_divergent_break(nodes: Nodes, n: i32) -> None:
    """M-14: uniform over the threads that still run, not over those that left earlier."""
    i = oa.grid(1)
    k, before = 0, n
    for k in range(n):
        nodes[k].ask()  # uniform
        if nodes[i + k].value < n:
            break
        nodes[k].ask()  # uniform
    nodes[k].ask()  # divergent
    nodes[before].ask()  # uniform


@as_comments_say
def test_a_counter_and_a_uniform_break(nodes: Nodes, n: i32) -> None:
    k = 0
    for k in range(n):
        if nodes[n].value < k:
            break
    nodes[k].ask()  # uniform


@as_comments_say
def test_a_loop_of_divergent_length(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k, other = 0, 0
    for k in range(i):
        nodes[k].ask()  # uniform
        other = n
    nodes[k].ask()  # divergent
    # A thread that never entered has not assigned it.
    nodes[other].ask()  # divergent


@as_comments_say
def test_a_counter_that_starts_differently(nodes: Nodes, n: i32) -> None:
    for k in range(oa.grid(1), n):
        nodes[k].ask()  # divergent


@as_comments_say
def test_a_counter_that_steps_differently(nodes: Nodes, n: i32) -> None:
    for k in range(0, n, oa.grid(1)):
        nodes[k].ask()  # divergent


@as_comments_say
def test_a_while_loop_that_threads_leave_at_different_rounds(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k, rounds = 0, 0
    while nodes[i + k].value < n:
        nodes[k].ask()  # uniform
        k += 2
        nodes[k].ask()  # uniform
    nodes[k].ask()  # divergent
    while rounds < n:
        rounds += 1
    nodes[rounds].ask()  # uniform


@as_comments_say
def test_a_carried_value_that_takes_a_divergent_one(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k, m = 0, i
    while k < n:
        nodes[k].ask()  # divergent
        nodes[m - m].ask()  # divergent
        k += nodes[i].value
        nodes[k].ask()  # divergent


@as_comments_say
def test_a_carried_value_that_begins_with_a_divergent_one(nodes: Nodes, n: i32) -> None:
    k, m = oa.grid(1), oa.grid(1)
    while k < n:
        nodes[k].ask()  # divergent
        k += 2
    for _ in range(n):
        nodes[m].ask()  # divergent
        m = 3
        nodes[m].ask()  # uniform
    nodes[m].ask()  # divergent


@as_comments_say
def test_divergence_comes_by_way_of_another_round(nodes: Nodes, n: i32) -> None:
    a, b, c = 0, 1, 2
    for _ in range(n):
        nodes[a].ask()  # divergent
        a = b
        b = c
        c = oa.grid(1)


@as_comments_say
def test_what_the_last_round_computed_differs_too(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    last = 0
    for k in range(n):
        last = k + n
        if i < last:
            break
    else:
        return
    nodes[last].ask()  # divergent
    nodes[last + n].ask()  # divergent


@as_comments_say
def test_a_divergent_continue_keeps_the_counter(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k, skipped = 0, 0
    for k in range(n):
        nodes[skipped].ask()  # divergent
        if i < k:
            continue
        skipped = k
        nodes[skipped].ask()  # uniform
    nodes[k].ask()  # uniform
    nodes[skipped].ask()  # divergent


@as_comments_say
def test_a_uniform_continue(nodes: Nodes, n: i32) -> None:
    skipped = 0
    for k in range(n):
        if n < k:
            continue
        skipped = k
    nodes[skipped].ask()  # uniform


@as_comments_say
def test_a_continue_within_a_divergent_branch(nodes: Nodes, n: i32) -> None:
    """The branch that diverges is not the one that goes on."""
    i = oa.grid(1)
    last = 0
    for k in range(n):
        nodes[last].ask()  # divergent
        if i < k:
            if n < 3:
                continue
        last = k


@as_comments_say
def test_an_outer_loop_of_an_uneven_inner_loop(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    j, k = 0, 0
    for k in range(n):
        for j in range(n):
            nodes[j].ask()  # uniform
            if i < j:
                break
        nodes[j].ask()  # divergent
        nodes[k].ask()  # uniform
    nodes[k].ask()  # uniform


@as_comments_say
def test_a_break_within_a_divergent_branch(nodes: Nodes, n: i32) -> None:
    """The branch that diverges is not the one that leaves."""
    i = oa.grid(1)
    k = 0
    for k in range(n):
        if i < k:
            if n < k:
                break
        nodes[k].ask()  # uniform
    nodes[k].ask()  # divergent


@as_comments_say
def test_an_even_loop_within_a_divergent_branch(nodes: Nodes, n: i32) -> None:
    """All threads that are in it leave it together."""
    i = oa.grid(1)
    if i < n:
        k = 0
        for k in range(n):
            if n < k:
                break
        nodes[k].ask()  # uniform


@as_comments_say
def test_an_else_clause_after_a_divergent_break(nodes: Nodes, n: i32) -> None:
    """Threads that left by ``break`` are not there."""
    i = oa.grid(1)
    j, k, m = 0, 0, 0
    for k in range(n):
        nodes[k].ask()  # uniform
        for j in range(n):
            if i < j:
                break
        else:
            m = 1
            nodes[m].ask()  # uniform
            break
    nodes[k].ask()  # divergent
    nodes[m].ask()  # divergent


@as_comments_say
def test_an_else_clause_after_a_loop_without_break(nodes: Nodes, n: i32) -> None:
    """All threads come to it, though they left the loop in different rounds."""
    i = oa.grid(1)
    k, j, m = 0, 0, 0
    for k in range(n):
        nodes[k].ask()  # uniform
        for j in range(i):
            nodes[j].ask()  # uniform
            m += n
        else:
            nodes[j].ask()  # divergent
            break
    nodes[k].ask()  # uniform
    nodes[m].ask()  # divergent


@as_comments_say
def test_an_else_clause_that_goes_on_with_the_outer_loop(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    last = 0
    for k in range(n):
        nodes[last].ask()  # divergent
        for j in range(n):
            if i < j:
                break
        else:
            continue
        last = k


@as_comments_say
def test_a_loop_that_never_ends(nodes: Nodes, n: i32) -> None:
    i = oa.grid(1)
    k = n
    while True:
        if i < n:
            k = 3
        nodes[k].ask()  # divergent
        nodes[n].ask()  # uniform

"""Kernels that say in comments which receivers are the same for every thread of a warp.

They say it of each line that calls a method or asks for a class; ``nodes[k]`` is as uniform as
``k``.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import Operation, operations_in
from sharedoa.ir.passes.unused import remove_unused
from sharedoa.ir.uniformity import uniform_receivers

from .programs import program_of


class Node(oa.Object):
    value: i32
    other: Node
    near: oa.inline[i32, 4]

    def ask(self) -> None: ...


class Leaf(Node):
    def ask(self) -> None:
        self.value = 1


class Inner(Node):
    def ask(self) -> None:
        self.value = 2


Nodes = oa.Array[Node]


def optimised(kernel: Callable[..., Any]) -> ir.Program:
    program = program_of(kernel)
    remove_unused(program, debug=False)
    return program


def sites(program: ir.Program) -> list[Operation]:
    return [o for o in operations_in(program) if o.kind in ("call_virtual", "type_test")]


def _is_said_uniform(site: Operation) -> bool:
    line = linecache.getline(site.location.file, site.location.line)
    code, _, comment = line.partition("  # ")
    assert comment.strip() in ("uniform", "divergent"), code
    return comment.strip() == "uniform"


def check(kernel: Callable[..., Any]) -> None:
    """What is found is what the comments say."""
    program = optimised(kernel)
    said = {site.location.line: _is_said_uniform(site) for site in sites(program)}
    assert said
    uniform = uniform_receivers(program)
    assert {site.location.line: site in uniform for site in sites(program)} == said


def as_comments_say(kernel: Callable[..., Any]) -> Callable[[], None]:
    """A test that checks the kernel."""

    def test() -> None:
        check(kernel)

    test.__name__, test.__doc__ = kernel.__name__, kernel.__doc__
    return test

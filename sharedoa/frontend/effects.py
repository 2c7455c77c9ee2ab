"""What each kind of node does, beside what the nodes below it do.

Analyses accept kinds that are known to be harmless to them. A kind that is in none of these sets
may do anything: it reads, stores, calls and assigns.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from . import tree
from .walk import nodes

Kinds = frozenset[Any]

#: Compute from what is below them. Some are places, which say where without touching it.
COMPUTE: Kinds = frozenset({
    tree.Constant, tree.Null, tree.Local, tree.Let, tree.Convert, tree.Truth, tree.Unary,
    tree.Binary, tree.Compare, tree.Logical, tree.Conditional, tree.ArrayLength, tree.MakeValue,
    tree.ValueField, tree.MakeTuple, tree.TupleItem, tree.MathCall, tree.FieldPlace,
    tree.ElementPlace, tree.InlinePlace, tree.MemberPlace,
})  # fmt: skip
#: Read memory.
READ: Kinds = frozenset({tree.Load, tree.TypeTest})
#: Differ from thread to thread, or from launch to launch.
ASK_LAUNCH: Kinds = frozenset({tree.ThreadIndex, tree.GridSize})
#: Run a function of the program; nothing else does.
CALL: Kinds = frozenset({tree.DirectCall, tree.VirtualCall})
#: Change a variable, or what is run next, of this thread alone.
CONTROL: Kinds = frozenset({
    tree.Assign, tree.Evaluate, tree.If, tree.While, tree.ForRange, tree.Break, tree.Continue,
    tree.Return,
})  # fmt: skip
#: Change what lies at their ``place``, and no other memory.
STORE: Kinds = frozenset({tree.Store, tree.AugmentedStore, tree.Atomic})
#: Tell the host something, or wait for other threads; they change no memory of the program.
SIGNAL: Kinds = frozenset({tree.Assert, tree.Print, tree.Barrier})

#: Statements that hold no others.
SIMPLE_STATEMENTS: Kinds = frozenset({
    tree.Assign, tree.Store, tree.AugmentedStore, tree.Evaluate, tree.Break, tree.Continue,
    tree.Return, tree.Assert, tree.Print, tree.Barrier,
})  # fmt: skip
_KNOWN: Kinds = COMPUTE | READ | ASK_LAUNCH | CALL | CONTROL | STORE | SIGNAL | {tree.Candidate}


def is_known(node: Any) -> bool:
    """Whether the sets of this file say what the node does."""
    return node.__class__ in _KNOWN


def all_known(program: tree.Program) -> bool:
    """Whether that is so for all nodes of a program."""
    return all(node.__class__ in _KNOWN for node in nodes(program))


def assigned_by(node: Any) -> list[tree.Variable]:
    """The variables that a statement itself gives another value, or an unknown node may."""
    if isinstance(node, (tree.Assign, tree.ForRange)):
        return [node.variable]
    if is_known(node):
        return []
    values = (getattr(node, field.name) for field in fields(node))
    return [value for value in values if isinstance(value, tree.Variable)]


def assigned_variables(program: tree.Program) -> frozenset[tree.Variable]:
    """Those that something in the program assigns to, loops that count in them included."""
    return frozenset(variable for node in nodes(program) for variable in assigned_by(node))

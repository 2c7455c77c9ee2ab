"""Arrays whose elements are objects side by side: references are computed instead of loaded.

A parameter is such a *run* where the runtime says so: its value then is not where references lie
but what the first object's reference is computed from (``ReferenceEncoding.origin``), with the
number of objects. The arrays that a field holds may be pieces of one array whose objects are a run
(``heap.pieces``): their values are those of any array, and where one lies in the whole tells where
its objects do. Functions that are called with either are written once more for it. What comes out
of a run is of a class that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from llvmlite import ir

from dispatch import state

from ..frontend import tree
from ..frontend.effects import assigned_by
from ..frontend.walk import nodes_of
from ..model.classes import ClassType
from ..model.run_form import RunForm
from .emitter import FunctionEmitter, integer

#: What is known of the objects, by place of the parameter.
Runs = Mapping[int, RunForm]


def run_of(emitter: FunctionEmitter, array: tree.Expression) -> RunForm | None:
    """What is known of the objects of ``array`` if it is a run, or a piece of one."""
    if isinstance(array, tree.Local):
        return emitter.runs.get(array.variable)
    if isinstance(array, tree.Load) and isinstance(array.place, tree.FieldPlace):
        return emitter.program.facts.pieces(array.place.owner, array.place.name)
    return None


def runs_passed(emitter: FunctionEmitter, arguments: list[tree.Expression]) -> dict[int, RunForm]:
    """The arguments of a direct call that are runs."""
    found = ((place, run_of(emitter, argument)) for place, argument in enumerate(arguments))
    return {place: form for place, form in found if form is not None}


def emit_reference(
    emitter: FunctionEmitter,
    form: RunForm,
    first: ir.Value,
    position: ir.Value,
    counted: bool = False,
) -> ir.Value:
    """The reference of the object that many places after the first one of an array, whose first
    word (``ARRAY``) is ``first``; ``counted`` says that the position is no computed number, but one
    that counts from zero."""
    builder, layout = emitter.builder, emitter.program.layout
    encoding = emitter.program.encoding
    if form.whole is not None:
        begin, origin = (_word(emitter, form.whole, which) for which in (0, 1))
        size = integer(encoding.dtype.itemsize)
        position = builder.add(builder.udiv(builder.sub(first, begin), size), position)
        first = origin
    if counted and not (emitter.program.target.is_device or layout.is_tiled(form.cls)):
        # In 64 bits, which cost a CPU nothing, LLVM sees that neighbours are a constant apart.
        form = replace(form, near=False)
    place = layout.emit_neighbour(builder, first, position, form)
    space = emitter.program.target.constant_space
    reference: ir.Value = encoding.emit_from_origin(builder, place, space)
    return reference


def _word(emitter: FunctionEmitter, whole: int, which: int) -> ir.Value:
    space = emitter.program.target.constant_space
    word: ir.Value = state.load(emitter.builder, space, state.WHOLES + 2 * whole + which)
    return word


def exact_class(emitter: FunctionEmitter, receiver: tree.Expression) -> ClassType | None:
    """The class that ``receiver`` is known to have because it comes out of a run."""
    if isinstance(receiver, tree.Convert):
        return exact_class(emitter, receiver.value)
    if isinstance(receiver, tree.Local):
        return emitter.exact.get(receiver.variable)
    if isinstance(receiver, tree.Load) and isinstance(receiver.place, tree.ElementPlace):
        form = run_of(emitter, receiver.place.array)
        return None if form is None else form.cls
    return None


def is_assigned_once(emitter: FunctionEmitter, variable: tree.Variable) -> bool:
    if emitter.assigned_once is None:
        emitter.assigned_once = assigned_once(emitter.function)
    return variable in emitter.assigned_once


def assigned_once(function: tree.Function) -> frozenset[tree.Variable]:
    """Locals with one assignment: before it they are null, which has no class."""
    count: Counter[tree.Variable] = Counter()
    for node in nodes_of(function):
        count.update(assigned_by(node))
    return frozenset(variable for variable, times in count.items() if times == 1) - {
        *function.parameters
    }

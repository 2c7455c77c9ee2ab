"""The state of translating one function: names, variables and their types, flow, complaints.

Variables have one type each. It is found by translating the body until nothing changes: an
assignment joins its value's type into the variable's, and a wider type starts another round.
Where that type has too few bits for an integer of Python's own that is assigned, the variable
becomes such an integer itself, and types are found anew (``widen``).
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dispatch.dataclass import dataclass, field

from ..errors import ClassError, Diagnostic
from ..model.classes import ClassType, Signature, common_base
from ..model.declared_locals import declarations, declared_type
from ..model.scalars import ScalarType, join, u64, weak_int
from ..model.types import NullType, ReferenceType, TupleType, Type
from . import tree
from .held_values import items_of_tuple
from .names import NameScope
from .source import Source

if TYPE_CHECKING:
    from .local_functions import LocalFunction
    from .operands import Static
    from .program import ProgramBuilder


class Rejected(Exception):
    """Translation of a statement or expression stopped; its diagnostic is recorded."""


@dataclass
class Loop:
    """``breaks``: variables surely assigned at each ``break`` seen so far. ``left``: where one loop
    of the source becomes several, what is to be true after a ``break``."""

    breaks: list[set[str]] = field(default_factory=list)
    left: tree.Variable | None = None


class Context:
    """Everything that the translation of one function's body shares."""

    def __init__(
        self,
        source: Source,
        function: Callable[..., Any],
        kind: str,
        signature: Signature,
        parameters: list[tree.Variable],
        owner: ClassType | None,
        program: ProgramBuilder,
        statics: Mapping[str, Static] | None = None,
    ) -> None:
        self.source, self.kind, self.signature = source, kind, signature
        self.owner, self.program = owner, program
        self.names = NameScope(function)
        #: Parameters that are known when compiling: the class of a class method.
        self.statics = statics or {}
        self.parameters = {variable.name: variable for variable in parameters}
        self.local_names = assigned_names(source.definition.body) | set(self.parameters)
        self.declared = self._declared(function)
        #: Variables, and expressions that have one of several values, that are integers of Python's
        #: own although some of their values have fewer bits.
        self.widened: set[Hashable] = set()
        self._begin_types()
        self.begin_round()

    def _begin_types(self) -> None:
        self.types: dict[str, Type] = {
            name: weak_int if name in self.widened else parameter.type
            for name, parameter in self.parameters.items()
        }
        self.nonnegative = dict.fromkeys(self.parameters, False)
        #: Of variables that hold lists of constants the numbers that elements are assigned.
        self.list_elements: dict[str, ScalarType] = {}
        #: How long the list of a variable is; None where it may have one of several lengths.
        self._list_lengths: dict[str, int | None] = dict.fromkeys(self.parameters)
        #: Variables of which what was assigned had another type once others had theirs.
        self._renewed: set[str] = set()

    def begin_round(self) -> None:
        """Forget what belongs to one pass over the body; keep the types found so far."""
        self.variables: dict[str, tree.Variable] = {  # a widened parameter is copied to another one
            name: parameter
            for name, parameter in self.parameters.items()
            if name not in self.widened
        }
        #: What is to be widened, should the types stay as they are.
        self._too_narrow: set[Hashable] = set()
        #: The types of what variables have been given in this round.
        self._given: dict[str, Type] = {}
        self.diagnostics: list[Diagnostic] = []
        self.assigned: set[str] | None = set(self.parameters)
        self.narrowed: dict[str, ClassType] = {}
        self.loops: list[Loop] = []
        #: By name, memory of the block.
        self.tiles: dict[str, tree.TilePlace] = {}
        #: Whether something that was translated already would now come out otherwise.
        self.changed = False
        #: Whether a variable got its first type, and those that were read before they had any.
        self.found_types = False
        self.missed: set[str] = set()
        #: How long the lists of temporaries are.
        self.made_lists: dict[tree.Variable, int] = {}
        #: Functions that are written in the body, and of those whose calls are being translated
        #: where they are called.
        self.functions: dict[str, LocalFunction] = {}
        self.expanding: dict[LocalFunction, str] = {}
        #: Temporaries that are surely 0 or more.
        self.counters: set[tree.Variable] = set()
        self.poisoned: set[str] = set()

    def _declared(self, function: Callable[..., Any]) -> dict[str, Type | ClassError | None]:
        """Of annotated local variables the type, or what is wrong with the annotation."""
        found: dict[str, Type | ClassError | None] = {}
        if self.source.definition.name == "__init__":  # CPython runs it as it is
            return found
        for name, annotation in declarations(self.source.definition.body).items():
            for node in ast.walk(annotation):
                if isinstance(node, ast.Name):
                    with contextlib.suppress(KeyError):
                        self.depend(self.names.lookup(node.id)[1])
            try:
                found[name] = declared_type(annotation, function, name)
            except ClassError as error:
                found[name] = error
        return found

    # ------------------------------------------------------------ complaints

    def reject(self, node: ast.AST | tree.Location, message: str, help: str) -> NoReturn:
        where = node if isinstance(node, tree.Location) else self.source.locate(node)
        self.diagnostics.append(Diagnostic(message, where, help))
        raise Rejected

    def locate(self, node: ast.AST) -> tree.Location:
        return self.source.locate(node)

    # ------------------------------------------------------------- variables

    def variable(self, name: str) -> tree.Variable:
        """The variable of that name; its type is the one found so far."""
        if name not in self.variables:
            self.variables[name] = tree.Variable(name, self.types[name])
        return self.variables[name]

    def own_name(self, name: str, node: ast.expr | ast.pattern | ast.stmt) -> str:
        """What a variable is called that belongs to ``node`` alone."""
        places = [*self.expanding.values(), f"{node.lineno}.{node.col_offset}"]
        own = f"{name}.{'/'.join(places)}"
        self.local_names.add(own)
        return own

    def temporary(self, type: Type) -> tree.Variable:
        return tree.Variable("", type)

    @property
    def is_settled(self) -> bool:
        """Whether another round would find nothing new. A complaint may hide others, about
        variables that only now have types."""
        return not self.changed and not (self.diagnostics and self.found_types)

    def widen(self) -> bool:
        """Whether something was too narrow, so that types are to be found anew."""
        found = self._too_narrow - self.widened
        if self.diagnostics or not found:
            return False
        self.widened |= found
        self._begin_types()
        return True

    def wider(self, what: Hashable, type: Type, node: ast.AST, name: str) -> Type:
        """The type of ``what`` has been given integers for which ``type`` has too few bits."""
        if not isinstance(type, ScalarType) or type == u64:
            self.reject(
                node,
                f"{name} is {type!r}, which does not hold every int that it is given",
                "convert explicitly, so that all have one type",
            )
        self._too_narrow.add(what)
        return weak_int if what in self.widened else type

    def give_type(
        self, name: str, value: tree.Expression, node: ast.AST, nonnegative: bool
    ) -> tree.Variable:
        """Join the type of ``value`` into the variable's, unless it is declared; a change asks for
        another round."""
        type, known, declared = value.type, self.types.get(name), self.declared.get(name)
        is_declared = declared is not None and not isinstance(declared, ClassError)
        if declared is not None and not isinstance(declared, ClassError):
            type, nonnegative = declared, nonnegative and declared == type
        elif name in self.widened and isinstance(type, ScalarType) and type.is_integer:
            type = weak_int
        if known is None:
            self.types[name] = type
            self.nonnegative[name] = nonnegative
            self.found_types = True
            self.changed |= name in self.missed
        else:
            joined = join_types(known, type)
            if joined is None and name not in self._renewed:
                # Perhaps that type is of the round before alone, when others had other types.
                joined = join_types(self._given.get(name, type), type)
                if joined is not None:
                    self._renewed.add(name)
            if joined is None or (joined != known and name in self.parameters):
                self.reject(
                    node,
                    f"{shown(name)} is {known!r} and {type!r} is assigned to it",
                    "a variable has one type: use another name, or convert explicitly",
                )
            if joined != known:
                self.types[name] = joined
                self.variables.pop(name, None)
                self.changed = True
            before = self.nonnegative[name]
            if before and not nonnegative:
                self.changed = True
            self.nonnegative[name] = before and nonnegative
        self._given[name] = join_types(self._given.get(name, type), type) or type
        if not is_declared and may_wrap(value, self.types[name], nonnegative):
            self.wider(name, self.types[name], node, shown(name))
        self.poisoned.discard(name)
        return self.variable(name)

    def length_of_list(self, value: tree.Expression) -> int | None:
        """How long a list is, where that is known."""
        if isinstance(value, tree.MakeList):
            return len(value.items) * value.repeat
        if isinstance(value, tree.Sequence):
            return self.length_of_list(value.value)
        if not isinstance(value, tree.Local):
            return None
        made = self.made_lists.get(value.variable)
        return self._list_lengths.get(value.variable.name) if made is None else made

    def give_list(self, name: str, value: tree.Expression) -> None:
        """A variable is assigned a list."""
        length = self.length_of_list(value)
        known = self._list_lengths.setdefault(name, length)
        if known is not None and known != length:
            self._list_lengths[name] = None
            self.changed = True

    def mark_assigned(self, name: str) -> None:
        if self.assigned is not None:
            self.assigned.add(name)
        self.narrowed.pop(name, None)

    def assume(self, names: set[str]) -> None:
        """On the way that is translated next these have been assigned."""
        if self.assigned is not None:
            self.assigned |= names

    def require_assigned(self, name: str, node: ast.AST) -> None:
        if name in self.poisoned:
            raise Rejected
        if self.assigned is None or name in self.assigned:
            if name not in self.types:  # typed by an assignment that this round has not reached
                self.missed.add(name)
                raise Rejected
            return
        self.reject(
            node,
            f"{shown(name)} may be read before it has a value",
            "assign it on every path before, for instance before the if or the loop",
        )

    def depend(self, dependency: Any) -> None:
        if dependency is not None:
            self.program.dependencies.append(dependency)


def shown(name: str) -> str:
    """A variable as the source calls it: those of comprehensions have names of their own."""
    return name.partition(".")[0]


def join_types(left: Type, right: Type) -> Type | None:
    """The one type of a variable or conditional that is given both, or None."""
    if left == right:
        return left
    if isinstance(left, ScalarType) and isinstance(right, ScalarType):
        return join(left, right)
    if isinstance(left, NullType) and isinstance(right, ReferenceType):
        return right
    if isinstance(right, NullType) and isinstance(left, ReferenceType):
        return left
    if isinstance(left, ReferenceType) and isinstance(right, ReferenceType):
        base = common_base([left.cls, right.cls])
        return ReferenceType(base) if base else None
    if (
        isinstance(left, TupleType)
        and isinstance(right, TupleType)
        and len(left.items) == len(right.items)
    ):
        items = [join_types(a, b) for a, b in zip(left.items, right.items, strict=True)]
        found = [item for item in items if item is not None]
        return TupleType(tuple(found)) if len(found) == len(items) else None
    return None


def may_wrap(value: tree.Expression, type: Type, nonnegative: bool) -> bool:
    """Whether ``value``, or an item of it, is an integer of Python's own that may be another one in
    ``type``. Constants are not: those that do not fit are refused."""
    if isinstance(type, TupleType) and isinstance(value.type, TupleType):
        items = zip(items_of_tuple(value), type.items, strict=True)
        return any(may_wrap(a, b, False) for a, b in items)
    is_own = value.type == weak_int and not isinstance(value, tree.Constant)
    if not is_own or not isinstance(type, ScalarType) or not type.is_integer:
        return False
    if isinstance(value, tree.Conditional):
        low, high = type.range
        return any(
            not low <= each.value <= high  # nobody refuses it there
            if isinstance(each, tree.Constant)
            else may_wrap(each, type, nonnegative)
            for each in (value.then, value.otherwise)
        )
    return type.bits < weak_int.bits or (type == u64 and not nonnegative)


_Comprehension = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


def assigned_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that statements or expressions assign to. Those of a comprehension are its own,
    but for what ``:=`` assigns to in it."""
    found: set[str] = set()
    pending: list[ast.AST] = [*nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.MatchAs) and node.name is not None:
            found.add(node.name)
        if isinstance(node, _Comprehension):
            inner = [part for each in ast.iter_child_nodes(node) for part in ast.walk(each)]
            found.update(each.target.id for each in inner if isinstance(each, ast.NamedExpr))
        else:
            pending += ast.iter_child_nodes(node)
    return found

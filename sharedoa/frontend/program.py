"""A kernel and everything that it can reach, translated; all complaints together."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from dispatch.dataclass import dataclass

from ..errors import ClassError, CompileError, Diagnostic, InternalError
from ..ir.core import Program
from ..ir.frozen import check_frozen
from ..ir.receivers import narrow_receivers
from ..location import Location
from ..model.annotations import refuse_list
from ..model.classes import ClassType, Method, Signature
from ..model.functions import DeviceFunction
from ..model.members import called_by_cpython
from ..model.scalars import weak_int
from ..model.signatures import resolve_signature, scope_of
from ..model.structs import method_signature
from ..model.types import VOID, ReferenceType, Type, ValueType
from ..model.world import World
from . import (  # noqa: F401  else the first call in a kernel would import them
    calls,
    number_calls,
    objects,
    random_calls,
    tree,
    vector_calls,
)
from .changed_methods import follow, follow_value
from .context import Context
from .dependencies import (
    CodeDependency,
    Dependency,
    GradientDependency,
    NameDependency,
    SubclassDependency,
)
from .extents import within_extent
from .kept_translations import Asked, Kept, Translations, noted
from .list_lifetimes import check_lists
from .names import is_ours
from .operands import Static
from .source import source_of
from .statements import block
from .to_ir import to_ir

#: Rounds of type inference for each variable, whose type can only widen a few times: along its
#: class hierarchy, or item by item of a tuple.
_ROUNDS_PER_VARIABLE = 32


@dataclass
class Translation:
    """A program and the facts that it rests on."""

    program: tree.Program
    dependencies: list[Dependency]
    _held_at: int = -1

    @cached_property
    def ir(self) -> Program:
        """The program in SSA form, which nobody changes. Raises CompileError for one that nests too
        deeply."""
        try:
            found = to_ir(self.program)
        except RecursionError:
            kernel = self.program.kernel
            raise too_deep(f"{kernel.name}, or of what it calls,", kernel.location) from None
        check_lists(found)
        check_frozen(found)
        narrow_receivers(found)
        return found

    def current(self) -> bool:
        """Whether translating again would see the same world. Looked at once an epoch, which who
        asks raises where names were bound to something else (``runtime.bound_names``)."""
        epoch = World.epoch
        if self._held_at != epoch:
            if not all(dependency.current() for dependency in self.dependencies):
                return False
            self._held_at = epoch
        return True


@dataclass(frozen=True)
class _Task:
    """A function that is called somewhere and has yet to be translated."""

    symbol: str
    name: str
    kind: Any
    function: Callable[..., Any]
    signature: Signature
    receiver: Type | None
    owner: ClassType | None
    #: Whether the receiver is no parameter of the source, and what the first one is instead, if
    #: that is a class.
    is_of_class: bool = False
    cls: ClassType | None = None
    #: Whether it is written as a kernel.
    is_part: bool = False


class ProgramBuilder:
    """Collects the functions that translated code calls, until none is left."""

    def __init__(self) -> None:
        self.functions: dict[str, tree.Function] = {}
        self.dependencies: list[Dependency] = []
        self.diagnostics: list[Diagnostic] = []
        #: By symbol of a function, that of the way back that it was given.
        self.gradients: dict[str, str] = {}
        self._symbols: dict[Any, str] = {}
        self._subclasses: dict[ClassType, SubclassDependency] = {}
        self._holding: dict[Dependency, bool] = {}
        #: What the translation at hand has asked so far.
        self.asked: list[Asked] = []
        self._pending: list[tuple[_Task, Translations]] = []

    @noted
    def require_method(self, method: Method, cls: ClassType | None = None) -> str:
        """The symbol of a method of a shared class, which will be part of the program; of a class
        method for ``cls``. All take an object first; static and class methods do not look at
        it."""
        symbol = f"{method.owner.name}.{method.owner.type_index}.{method.name}"
        name = f"{method.owner.name}.{method.name}"
        self._depend_on_wrapper(method)
        if method.kind != "class":
            cls = None
        else:
            assert cls is not None
            symbol += f".{cls.name}.{cls.type_index}"
        return self._require(
            (method, cls), (cls or method.owner).made, symbol, name, method.function,
            lambda: method.signature, ReferenceType(method.owner), method.owner,
            method.kind in ("static", "class"), cls,
        )  # fmt: skip

    def _depend_on_wrapper(self, method: Method) -> None:
        """The method is what CPython calls. Raises ClassError where it cannot be."""
        follow(method)
        self._depend_on_code(called_by_cpython(method.owner.python_class, method.name))
        self._depend_on_code(method.function)

    def _depend_on_code(self, function: Callable[..., Any] | None) -> None:
        """IPython's autoreload gives functions in classes other code, which raises no epoch."""
        if "IPython" in sys.modules and inspect.isfunction(function):
            code = NameDependency("attribute", function, "__code__", function.__code__)
            self.dependencies.append(code)

    @noted
    def require_function(self, function: DeviceFunction[..., Any]) -> str:
        is_new = function not in self._symbols
        symbol = self._require(
            function, function.made, f"func.{function.name}", function.name, function.function,
            lambda: function.signature, None, None,
        )  # fmt: skip
        if is_new:
            self.dependencies.append(GradientDependency(function, function.gradient))
            if function.gradient is not None:
                # Nothing calls it but the way back.
                self.gradients[symbol] = self.require_function(function.gradient)
        return symbol

    def value_signature(self, struct: ValueType, name: str) -> Signature:
        """The signature of the method that CPython calls, or would call if its parameters fitted.
        Raises ClassError where it cannot be."""
        cls = struct.python_class
        if not is_ours(cls):  # another function in its place is refused
            follow_value(struct, name)
            own = getattr(cls, name, None)
            self.dependencies.append(NameDependency("attribute", cls, name, own))
            self._depend_on_code(own.fget if isinstance(own, property) else own)
        return method_signature(struct, name)

    @noted
    def require_value_method(self, struct: ValueType, name: str) -> str:
        signature = self.value_signature(struct, name)
        return self._require(
            (struct, name), struct.made, f"value.{struct.name}.{name}", f"{struct.name}.{name}",
            struct.methods[name], lambda: signature, struct, None,
        )  # fmt: skip

    def add_kernel(self, symbol: str, function: Callable[..., Any], signature: Signature) -> None:
        """Make a kernel a function of the program, under this symbol."""
        self._require(
            symbol, {}, symbol, function.__name__, function, lambda: signature, None, None,
            is_part=True,
        )  # fmt: skip

    def depend_on_subclasses(self, cls: ClassType) -> None:
        """The program rests on which concrete classes there are at or below ``cls``."""
        if cls not in self._subclasses:
            self._subclasses[cls] = SubclassDependency(cls, tuple(cls.concrete()))
        self.dependencies.append(self._subclasses[cls])

    def holds(self, dependency: Dependency) -> bool:
        """Whether a fact is true; looked at once, as many functions rest on the same."""
        if dependency not in self._holding:
            self._holding[dependency] = dependency.current()
        return self._holding[dependency]

    def _require(
        self,
        key: Any,
        made: Translations,
        symbol: str,
        name: str,
        function: Callable[..., Any],
        signature: Callable[[], Signature],
        receiver: Type | None,
        owner: ClassType | None,
        is_of_class: bool = False,
        cls: ClassType | None = None,
        is_part: bool = False,
    ) -> str:
        """``symbol`` with a number if it is taken. ``made``: where translations of the function are
        kept."""
        if key not in self._symbols:
            taken, first = self._symbols.values(), symbol
            for number in itertools.count(2):
                if symbol not in taken:
                    break
                symbol = f"{first}.{number}"
            self._symbols[key] = symbol
            kind = "func" if receiver is None else "method"
            known = is_of_class, cls, is_part
            task = _Task(symbol, name, kind, function, signature(), receiver, owner, *known)
            self._pending.append((task, made))
        return self._symbols[key]

    def _translated(self, task: _Task, made: Translations) -> tree.Function:
        """What the function became in another program, if it is the same in this one, else its
        translation."""
        key, about = (__name__, task.symbol), (task, self.gradients.get(task.symbol))
        known = made.get(key)
        if known is not None and known.suits(about, self):
            self.dependencies += known.dependencies
            return known.function
        self.asked, before, complaints = [], len(self.dependencies), len(self.diagnostics)
        function = self.translate(task)
        if len(self.diagnostics) == complaints:
            # Those that are taken after it ask on.
            made[key] = Kept(about, function, self.dependencies[before:], tuple(self.asked))
        return function

    def translate(self, task: _Task) -> tree.Function:
        """Translate one function; complaints go to ``diagnostics``."""
        source = source_of(task.function, task.name)
        self.dependencies.append(CodeDependency(task.function, task.function.__code__))
        names = list(task.signature.names)
        types = list(task.signature.types)
        first, statics = next(iter(task.function.__code__.co_varnames), ""), {}
        if task.cls is not None:
            statics[first] = Static(task.cls.python_class, first)
        if task.receiver is not None:
            names.insert(0, "" if task.is_of_class else first)
            types.insert(0, task.receiver)
        parameters = [tree.Variable(n, t) for n, t in zip(names, types, strict=True)]
        kind = "kernel" if task.is_part else task.kind
        context = Context(
            source, task.function, kind, task.signature, parameters, task.owner, self, statics
        )
        location = source.locate(source.definition)
        try:
            body = within_extent(context, _settled_body(context))
        except RecursionError:
            raise too_deep(task.name, location) from None
        falls_through = context.assigned is not None and not context.diagnostics
        if task.signature.result != VOID and falls_through:
            context.diagnostics.append(
                Diagnostic(
                    f"not every path returns {task.signature.result!r}",
                    location,
                    "end with a return",
                )
            )
        self.diagnostics += context.diagnostics
        return tree.Function(
            task.symbol, task.name, task.kind, parameters, task.signature.result, body, location,
            task.owner, self.gradients.get(task.symbol),
        )  # fmt: skip

    def build(self, task: _Task) -> tree.Program:
        return self.complete(self.translate(task))

    def complete(self, kernel: tree.Function) -> tree.Program:
        """The program of a kernel whose calls were all required from this builder."""
        self.functions[kernel.symbol] = kernel
        while self._pending:
            following, made = self._pending.pop()
            self.functions[following.symbol] = self._translated(following, made)
        if self.diagnostics:
            raise CompileError(_unique(self.diagnostics))
        return tree.Program(kernel, self.functions)


def too_deep(whose: str, location: Location) -> CompileError:
    """The complaint about code that nests deeper than Python recurses."""
    return CompileError(
        [
            Diagnostic(
                f"the statements or expressions of {whose} nest too deeply",
                location,
                "a long chain of elif, or of operators, nests as deeply as it is long: divide it "
                "into several statements or @oa.func functions",
            )
        ]
    )


def _settled_body(context: Context) -> list[tree.Statement]:
    """The body of a function, translated until its variables' types change no more."""
    body = _body_of_settled_types(context)
    while context.widen():
        body = _body_of_settled_types(context)
    location, begin = context.locate(context.source.definition), list[tree.Statement]()
    for name, parameter in context.parameters.items():
        if name in context.widened:
            value = tree.Local(parameter.type, location, parameter)
            wide = tree.Convert(weak_int, location, value)
            begin.append(tree.Assign(location, context.variable(name), wide))
    return begin + body


def _body_of_settled_types(context: Context) -> list[tree.Statement]:
    source = context.source
    for _ in range(_ROUNDS_PER_VARIABLE * (1 + len(context.local_names))):
        context.begin_round()
        body = block(context, source.definition.body)
        if context.is_settled:
            return body
    raise InternalError(f"types of the variables of {source.name} do not settle")


def _unique(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return list({str(diagnostic): diagnostic for diagnostic in diagnostics}.values())


def kernel_symbol(name: str) -> str:
    """The symbol by which loaders find a kernel: what PTX and ELF both take as a name."""
    return "kernel_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def kernel_signature(
    function: Callable[..., Any], local: Mapping[str, Any] | None = None
) -> Signature:
    """Parameters of a kernel; ``local`` are names of the function that defines it. Raises
    ClassError for missing or unusable annotations."""
    name = function.__name__
    scope = scope_of(function, local)
    signature = resolve_signature(function, scope, f"kernel {name}", receiver=False)
    for parameter, type in zip(signature.names, signature.types, strict=True):
        refuse_list(type, f"kernel {name}, parameter {parameter}")
    if signature.result != VOID:
        raise ClassError(
            f"kernel {name} declares the result {signature.result!r}",
            "kernels return nothing: store results in an array argument",
        )
    return signature


def translate_kernel(
    function: Callable[..., Any], signature: Signature | None = None
) -> Translation:
    """Translate a kernel with every method and function it can reach. ``signature`` is given when
    it took more names to resolve than the function itself knows.

    Raises CompileError with all complaints about the user's source.
    """
    builder = ProgramBuilder()
    signature = signature or kernel_signature(function)
    name = function.__name__
    task = _Task(kernel_symbol(name), name, "kernel", function, signature, None, None)
    program = builder.build(task)
    return Translation(program, list(dict.fromkeys(builder.dependencies)))

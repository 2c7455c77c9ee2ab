"""``match``: cases become tests one after another, of a subject that is evaluated once."""

from __future__ import annotations

import ast

from dispatch.dataclass import dataclass, field

from ..model.classes import ClassType, common_base
from ..model.scalars import boolean
from ..model.types import NULL, NullType, ReferenceType, TupleType, ValueType
from . import tree
from .attributes import attribute_in
from .comparisons import compare_pair
from .conditions import assigned_by, condition, narrowings, type_test
from .context import Context
from .conversions import as_variable, constant
from .expressions import as_value, expression, static_value
from .held_values import HeldValues
from .operators import compare
from .statements import assign_to, block, branch


@dataclass
class _Case:
    """What is so where a pattern fits: these names are assigned, these variables of a class.
    ``taken`` are variables that hold what the names get once all of the pattern has come to fit.
    ``object`` is a reference that an earlier case has told from null."""

    names: set[str] = field(default_factory=set)
    narrowed: dict[str, ClassType] = field(default_factory=dict)
    taken: dict[str, ast.Name] = field(default_factory=dict)
    object: tree.Expression | None = None


def match(context: Context, node: ast.Match) -> list[tree.Statement]:
    subject = as_variable(context, expression(context, node.subject), node.subject)
    variable, location = context.temporary(subject.type), context.locate(node.subject)
    held = tree.Local(subject.type, location, variable)
    begin = tree.Assign(location, variable, subject)
    return [begin, *_cases(context, node.cases, held, node.subject)]


def _cases(
    context: Context,
    cases: list[ast.match_case],
    subject: tree.Expression,
    source: ast.expr,
    is_object: bool = False,
) -> list[tree.Statement]:
    if not cases:
        return []
    first, *others = cases
    fits = _Case(object=subject if is_object else None)
    is_null = isinstance(first.pattern, ast.MatchSingleton) and first.pattern.value is None
    is_object |= is_null and first.guard is None
    test = _test(context, first.pattern, subject, fits)
    if isinstance(source, ast.Name) and isinstance(subject.type, ReferenceType):
        cls = _common_class(context, first.pattern)
        if cls is not None and cls.is_subclass_of(subject.type.cls):
            fits.narrowed[source.id] = cls
    test = _with_names(context, test, first.pattern, fits)
    saved = dict(context.narrowed), context.assigned and set(context.assigned)
    _enter(context, fits)
    if first.guard is not None:
        guard = condition(context, first.guard)
        test = tree.Logical(boolean, test.location, "and", test, guard)
        fits.narrowed.update(narrowings(context, first.guard))
        fits.names |= assigned_by(first.guard, True)
    context.narrowed, context.assigned = saved[0], saved[1]
    if _always(test):
        _enter(context, fits)
        return [tree.Evaluate(test.location, test), *block(context, first.body)]
    made = branch(
        context,
        lambda: _enter(context, fits),
        lambda: block(context, first.body),
        lambda: None,
        lambda: _cases(context, others, subject, source, is_object),
    )
    return [tree.If(test.location, test, *made)]


def _with_names(
    context: Context, test: tree.Expression, pattern: ast.pattern, fits: _Case
) -> tree.Expression:
    """The test, after which the names of the pattern are assigned."""
    location, surely = test.location, context.assigned and set(context.assigned)
    context.assume({name.id for name in fits.taken.values()})
    made: list[tree.Statement] = []
    for name, taken in fits.taken.items():
        target = ast.copy_location(ast.Name(name, ast.Store()), pattern)
        value = expression(context, taken)
        made += assign_to(context, target, value, pattern)
        # The variable may be of a base class, where other cases give it other objects.
        if isinstance(value.type, ReferenceType) and value.type != context.types[name]:
            fits.narrowed[name] = value.type.cls
    context.assigned = surely
    if not made:
        return test
    named = tree.Sequence(boolean, location, made, constant(True, boolean, location))
    return tree.Logical(boolean, location, "and", test, named)


def _always(test: tree.Expression) -> bool:
    """Whether a test that comes out true can be seen to do so."""
    if isinstance(test, tree.Let):
        return _always(test.body)
    if isinstance(test, tree.Logical):
        return test.operator == "and" and _always(test.left) and _always(test.right)
    if isinstance(test, tree.Sequence):
        return _always(test.value)
    return isinstance(test, tree.Constant) and bool(test.value)


def _enter(context: Context, fits: _Case) -> None:
    context.assume(fits.names)
    for name in fits.names:
        context.narrowed.pop(name, None)
    context.narrowed.update(fits.narrowed)


def _test(
    context: Context, pattern: ast.pattern, subject: tree.Expression, fits: _Case
) -> tree.Expression:
    """Whether ``subject`` fits; evaluating it takes what the pattern names."""
    location = context.locate(pattern)
    match pattern:
        case ast.MatchValue():
            value = expression(context, pattern.value)
            return compare_pair(context, "eq", subject, value, pattern)
        case ast.MatchSingleton(value=None):
            if isinstance(subject.type, (ReferenceType, NullType)):
                return compare(context, "is", subject, tree.Null(NULL, location), pattern)
            return constant(False, boolean, location)
        case ast.MatchOr():
            tests = [_test(context, each, subject, fits) for each in pattern.patterns]
            found = tests[-1]
            for test in reversed(tests[:-1]):
                found = tree.Logical(boolean, location, "or", test, found)
            return found
        case ast.MatchAs():
            return _named(context, pattern, subject, fits)
        case ast.MatchSequence() if isinstance(subject.type, TupleType):
            return _sequence(context, pattern, subject, subject.type, fits)
        case ast.MatchClass():
            return _of_class(context, pattern, subject, fits)
        case ast.MatchSingleton():
            context.reject(
                pattern,
                f"{pattern.value} is matched by identity, and NumPy has truths of its own",
                "write a guard, case x if x:, or match int(...) with case 1: and case 0:",
            )
    context.reject(
        pattern,
        "this pattern is outside the subset that kernels can use",
        "match numbers, None, tuples of them, names, and classes: case 1 | 2, case (x, 0), "
        "case Circle(radius=r)",
    )


def _named(
    context: Context, pattern: ast.MatchAs, subject: tree.Expression, fits: _Case
) -> tree.Expression:
    location = context.locate(pattern)
    test: tree.Expression = constant(True, boolean, location)
    if pattern.pattern is not None:
        test = _test(context, pattern.pattern, subject, fits)
        if isinstance(subject.type, ReferenceType):
            cls = _common_class(context, pattern.pattern)
            subject = subject if cls is None else _as_class(subject, cls, location)
    if pattern.name is None:
        return test
    # The parts of "a | b" have one for each name.
    taken = fits.taken.get(pattern.name)
    if taken is None:
        own = ast.Name(context.own_name(pattern.name, pattern), ast.Load())
        taken = ast.copy_location(own, pattern)
        fits.taken[pattern.name] = taken
    surely = context.assigned and set(context.assigned)
    target = ast.copy_location(ast.Name(taken.id, ast.Store()), pattern)
    made = assign_to(context, target, subject, pattern)
    context.assigned = surely
    fits.names.add(pattern.name)
    named = tree.Sequence(boolean, location, made, constant(True, boolean, location))
    if isinstance(test, tree.Constant):
        return named
    return tree.Logical(boolean, location, "and", test, named)


def _sequence(
    context: Context,
    pattern: ast.MatchSequence,
    subject: tree.Expression,
    type: TupleType,
    fits: _Case,
) -> tree.Expression:
    location = context.locate(pattern)
    if any(isinstance(each, ast.MatchStar) for each in pattern.patterns):
        context.reject(pattern, "a tuple has a known length", "name each of its items")
    test: tree.Expression = constant(True, boolean, location)
    if len(pattern.patterns) != len(type.items):
        return constant(False, boolean, location)
    for place, (each, item) in enumerate(zip(pattern.patterns, type.items, strict=True)):
        part = tree.TupleItem(item, location, subject, place)
        more = _test(context, each, part, fits)
        both = tree.Logical(boolean, location, "and", test, more)
        test = more if isinstance(test, tree.Constant) else both
    return test


def _of_class(
    context: Context, pattern: ast.MatchClass, subject: tree.Expression, fits: _Case
) -> tree.Expression:
    location, type = context.locate(pattern), subject.type
    test: tree.Expression = constant(True, boolean, location)
    if isinstance(type, ValueType):
        if getattr(static_value(context, pattern.cls), "__sharedoa_value__", None) is not type:
            context.reject(pattern, f"{type!r} is of no other class", f"write {type.name}(...)")
        python_class = type.python_class
    else:
        cls = _shared_class(context, pattern)
        if not isinstance(type, ReferenceType):
            context.reject(pattern, f"{type!r} is no object of a shared class", "match numbers")
        if not (cls.is_subclass_of(type.cls) or type.cls.is_subclass_of(cls)):
            context.reject(
                pattern, f"a {type.cls.name} never is a {cls.name}", "match its subclasses"
            )
        if subject is not fits.object or not type.cls.is_subclass_of(cls):
            test = type_test(context, subject, cls, pattern)
        subject, python_class = _as_class(subject, cls, location), cls.python_class
    for name, part in _attributes(context, pattern, python_class):
        node = ast.copy_location(ast.Attribute(pattern.cls, name, ast.Load()), part)
        value = as_value(context, attribute_in(context, subject, node), node)
        held = HeldValues()
        more = _test(context, part, held.hold(as_variable(context, value, node)), fits)
        more = held.then(more)
        is_first = isinstance(test, tree.Constant)
        test = more if is_first else tree.Logical(boolean, location, "and", test, more)
    return test


def _attributes(
    context: Context, pattern: ast.MatchClass, cls: type
) -> list[tuple[str, ast.pattern]]:
    """The attributes of an object that a pattern names, and what each is to fit."""
    by_place: tuple[str, ...] = getattr(cls, "__match_args__", ())
    if len(pattern.patterns) > len(by_place):
        context.reject(
            pattern,
            f"{cls.__name__} takes {len(by_place)} patterns by position",
            f"name the attributes: case {cls.__name__}(x=0, y=y)",
        )
    return [
        *zip(by_place, pattern.patterns, strict=False),
        *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True),
    ]


def _shared_class(context: Context, pattern: ast.MatchClass) -> ClassType:
    cls = getattr(static_value(context, pattern.cls), "__sharedoa__", None)
    if not isinstance(cls, ClassType):
        context.reject(
            pattern, "a class pattern needs a shared class", "the type of a number is fixed"
        )
    return cls


def _common_class(context: Context, pattern: ast.pattern) -> ClassType | None:
    """The class that an object has that fits; None if the pattern does not say."""
    parts = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    classes = [_shared_class(context, each) for each in parts if isinstance(each, ast.MatchClass)]
    return common_base(classes) if len(classes) == len(parts) else None


def _as_class(subject: tree.Expression, cls: ClassType, location: tree.Location) -> tree.Expression:
    """An object that is of a class, as one of that class."""
    assert isinstance(subject.type, ReferenceType)
    if subject.type.cls.is_subclass_of(cls):
        return subject
    return tree.Convert(ReferenceType(cls), location, subject)

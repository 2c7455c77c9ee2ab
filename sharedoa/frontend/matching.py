"""``match``: cases become tests one after another, of a subject that is evaluated once."""

from __future__ import annotations

import ast

from dispatch.dataclass import dataclass, field

from ..model.classes import ClassType
from ..model.scalars import boolean
from ..model.types import NULL, NullType, ReferenceType, TupleType
from . import tree
from .comparisons import compare_pair
from .conditions import assigned_by, condition, narrowings, type_test
from .context import Context
from .conversions import as_variable, constant
from .expressions import expression, static_value
from .operators import compare
from .statements import assign_to, block, branch


@dataclass
class _Case:
    """What is so where a pattern fits: these names are assigned, these variables of a class."""

    names: set[str] = field(default_factory=set)
    narrowed: dict[str, ClassType] = field(default_factory=dict)


def match(context: Context, node: ast.Match) -> list[tree.Statement]:
    subject = as_variable(context, expression(context, node.subject), node.subject)
    variable, location = context.temporary(subject.type), context.locate(node.subject)
    held = tree.Local(subject.type, location, variable)
    begin = tree.Assign(location, variable, subject)
    return [begin, *_cases(context, node.cases, held, node.subject)]


def _cases(
    context: Context, cases: list[ast.match_case], subject: tree.Expression, source: ast.expr
) -> list[tree.Statement]:
    if not cases:
        return []
    first, *others = cases
    fits = _Case()
    test = _test(context, first.pattern, subject, fits)
    if isinstance(source, ast.Name) and isinstance(first.pattern, ast.MatchClass):
        cls = _class_of(context, first.pattern)
        if isinstance(subject.type, ReferenceType) and cls.is_subclass_of(subject.type.cls):
            fits.narrowed[source.id] = cls
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
        lambda: _cases(context, others, subject, source),
    )
    return [tree.If(test.location, test, *made)]


def _always(test: tree.Expression) -> bool:
    """Whether a test that comes out true can be seen to do so."""
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
    """Whether ``subject`` fits; evaluating it assigns what the pattern names."""
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
            cls = _class_of(context, pattern)
            if not isinstance(subject.type, ReferenceType):
                context.reject(
                    pattern, f"{subject.type!r} is no object of a shared class", "match numbers"
                )
            known = subject.type.cls
            if not (cls.is_subclass_of(known) or known.is_subclass_of(cls)):
                context.reject(
                    pattern, f"a {known.name} never is a {cls.name}", "match its subclasses"
                )
            return type_test(context, subject, cls, pattern)
    context.reject(
        pattern,
        "this pattern is outside the subset that kernels can use",
        "match numbers, None, tuples of them, names, and classes: case 1 | 2, case (x, 0), "
        "case Circle()",
    )


def _named(
    context: Context, pattern: ast.MatchAs, subject: tree.Expression, fits: _Case
) -> tree.Expression:
    location = context.locate(pattern)
    test: tree.Expression = constant(True, boolean, location)
    if pattern.pattern is not None:
        test = _test(context, pattern.pattern, subject, fits)
        if isinstance(pattern.pattern, ast.MatchClass):
            cls = ReferenceType(_class_of(context, pattern.pattern))
            subject = tree.Convert(cls, location, subject)
    if pattern.name is None:
        return test
    target = ast.copy_location(ast.Name(pattern.name, ast.Store()), pattern)
    surely = context.assigned and set(context.assigned)
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


def _class_of(context: Context, pattern: ast.MatchClass) -> ClassType:
    cls = getattr(static_value(context, pattern.cls), "__sharedoa__", None)
    if not isinstance(cls, ClassType):
        context.reject(
            pattern, "a class pattern needs a shared class", "the type of a number is fixed"
        )
    if pattern.patterns or pattern.kwd_patterns:
        context.reject(
            pattern,
            "a class pattern looks into its object",
            f"write case {cls.name}(): and test its fields, or a guard",
        )
    return cls

"""Random programs: a class hierarchy, its methods, functions, value structs and a kernel.

The classes below ``Root`` are what the kernel calls. Each thread works on one object: it may change
that object and its chain of ``child`` objects, which belong to it alone, and read what ``peer`` and
``other`` refer to, which no thread changes; so the order of threads does not matter.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from .blocks import Blocks
from .bodies import Access, Body, Lines, indent
from .expressions import Expressions, Scope, Table
from .library import GRID, structs
from .signatures import (
    ARRAY,
    DTYPES,
    FLOATS,
    INTEGERS,
    SCALARS,
    Class,
    Named,
    Routine,
    Struct,
    inline_parts,
)

MAX_CLASSES, MAX_LEVELS = 64, 5

#: The root's fields that every program has; populations fill them.
LINKS = {"id": "i64", "peer": "Root", "child": "Root", "other": "Other"}
DEPTH = Named("depth", "i32")


@dataclass(frozen=True)
class Size:
    """How large a program is: classes below Root, methods of Root, statements of a body. A
    ``safe`` program does nothing that debug mode reports."""

    classes: int
    methods: int
    statements: int
    safe: bool = False


@dataclass
class Program:
    """A program's source, and what a population needs to know of it. ``results`` are the types of
    the arrays that the kernel ``run`` fills, after its ``objects``, ``data`` and ``cells``."""

    text: str
    classes: list[Class]
    structs: list[Struct]
    results: list[str]
    #: Threads of a block, where they share memory; all blocks are whole then.
    block: int | None = None

    def threads(self, objects: int) -> int:
        """Of a launch."""
        return objects if self.block is None else -(-objects // self.block) * self.block

    @property
    def concrete(self) -> list[Class]:
        methods = [name for cls in self.classes[:1] for name in (*cls.bodies, *cls.abstract)]
        return [cls for cls in self.classes if not cls.missing(methods)]


def make_program(seed: int, size: Size) -> Program:
    """The program of that seed and size; always the same."""
    later, forms = Random(f"{seed} later"), Random(f"{seed} forms")
    return _Builder(Random(seed), later, forms, size).program()


class _Builder:
    def __init__(self, random: Random, later: Random, forms: Random, size: Size) -> None:
        """``later`` draws what programs have not always had: where there is none of that, the
        programs of a seed are what they were. ``forms``: how arguments are taken."""
        self.random, self.later, self.forms, self.size = random, later, forms, size
        self.structs: list[Struct] = []
        self.functions: list[Routine] = []
        self.pairs: list[Routine] = []
        #: Functions that change a list of theirs, whose elements are of the result's type.
        self.stirrers: list[Routine] = []
        self.tables: list[Table] = []
        self.methods: list[Routine] = []
        self.classes: list[Class] = []
        #: Constants and properties of Root, which classes below override.
        self.constants: list[Named] = []
        self.properties: list[Named] = []
        self.block: int | None = None
        self.results: list[str] = []
        self.with_array, self.with_grid = random.random() < 0.5, random.random() < 0.3
        aux = Routine("aux", (Named("x", random.choice(SCALARS)),), random.choice(SCALARS))
        self.aux = self._as_taken(aux)

    def program(self) -> Program:
        lines: Lines = ["from typing import ClassVar"]
        self.structs += structs(self.random, self.later)
        lines += [f"{struct.name} = oa.{struct.name}" for struct in self.structs]
        for number in range(self.random.randint(0, 3)):
            lines += self._table(f"TABLE{number}")
        for number in range(self.random.randint(1, 2)):
            lines += self._struct(f"Pair{number}")
        for number in range(self.random.randint(1, 3)):
            lines += self._function(f"helper{number}")
        if self.random.random() < 0.5:
            lines += self._pair_function("split")
        for number in range(self.random.randint(0, 3)):
            lines += self._stirrer(f"stir{number}")
        for made, letter in ((self.constants, "K"), (self.properties, "p")):
            count = self.random.randint(0, 2)
            made += [Named(f"{letter}{k}", self.random.choice(SCALARS)) for k in range(count)]
        self.methods = [self._signature(number) for number in range(self.size.methods)]
        self._plan_classes()
        lines += self._others()
        for cls in self.classes:
            lines += self._class(cls)
        lines += self._kernel()
        text = "\n".join(lines) + "\n"
        return Program(text, self.classes, self.structs, self.results, self.block)

    # ------------------------------------------------------ structs, functions

    def _types(self) -> list[str]:
        return [*SCALARS, *(struct.name for struct in self.structs)]

    def _body(self, result: str, access: Access | None = None) -> Body:
        return Body(self._expressions(), result, access or Access(), self.pairs, self.stirrers)

    def _expressions(self) -> Expressions:
        return Expressions(self.random, self.structs, self.tables, safe=self.size.safe)

    def _table(self, name: str) -> Lines:
        """A constant that is indexed by what is known only when the program runs."""
        type, is_tuple = self.random.choice(SCALARS), self.random.random() < 0.5
        shape = tuple(self.random.randint(2, 4) for _ in range(self.random.randint(1, 2)))
        make = self._expressions()

        def part(shape: tuple[int, ...]) -> str:
            if not shape:
                return make.literal(type)
            return f"({', '.join(part(shape[1:]) for _ in range(shape[0]))})"

        numbers = part(shape)
        self.tables.append(Table(name, type, shape, is_tuple))
        return [f"{name} = {numbers if is_tuple else f'np.array({numbers}, np.{_dtype(type)})'}"]

    def _struct(self, name: str) -> Lines:
        fields = [
            Named(letter, self.random.choice(self._types()))
            for letter in "xyz"[: self.random.randint(1, 3)]
        ]
        struct = Struct(name, fields)
        own, other = (
            Scope([Named(f"{receiver}.{field.text}", field.type) for field in fields])
            for receiver in ("self", "other")
        )
        both = Scope(own.readable + other.readable)
        make = self._expressions()
        sums = ", ".join(make.storable_in(field.type, both, 1) for field in fields)
        result = self.random.choice(SCALARS)
        measured = make.storable_in(result, own.with_names(Named("k", "f32")), 2)
        method = self._as_taken(Routine("measure", (Named("k", "f32"),), result))
        struct.methods = [method]
        self.structs.append(struct)
        return [
            "@oa.value",
            f"class {name}:",
            *(f"    {field.text}: {field.type}" for field in fields),
            f"    def __add__(self, other: {name}) -> {name}:",
            f"        return {name}({sums})",
            f"    def measure(self, {method.declared}) -> {result}:",
            f"        return {measured}",
        ]

    def _function(self, name: str) -> Lines:
        parameters = self._parameters(self.random.randint(1, 3))
        result = self.random.choice(self._types())
        scope = Scope(list(parameters), [("", called) for called in self.functions])
        lines = self._body(result).lines(scope, self.random.randint(1, 3), 2, calls=1)
        made = self._as_taken(Routine(name, parameters, result))
        self.functions.append(made)
        return ["@oa.func", f"def {name}({made.declared}) -> {result}:", *indent(lines)]

    def _pair_function(self, name: str) -> Lines:
        """A function with two results."""
        parameters = self._parameters(2)
        types = [self.random.choice(SCALARS) for _ in range(2)]
        scope = Scope(list(parameters), [("", called) for called in self.functions])
        make = self._expressions()
        results = ", ".join(make.storable_in(type, scope, 2) for type in types)
        result = f"tuple[{', '.join(types)}]"
        made = self._as_taken(Routine(name, parameters, result))
        self.pairs.append(made)
        head = f"def {name}({made.declared}) -> {result}:"
        return ["@oa.func", head, f"    return {results}"]

    def _stirrer(self, name: str) -> Lines:
        """A function that is given a list, and changes what the caller has."""
        type, more = self.random.choice((*INTEGERS, *FLOATS)), self._parameters(1)
        make, scope = self._expressions(), Scope(list(more))
        counter = scope.with_names(Named("z[k]", type), Named("z[0]", type)).with_counter("k")
        after = scope.with_names(Named("z[0]", type), Named("z[-1]", type))
        rounds = self.random.choice(("len(z)", "len(z)", "1"))
        lines = [
            f"for k in range({rounds}):",
            f"    z[k] = {make.make(type, counter, 2)}",
            f"z[{make.index('len(z)', after)}] = {make.make(type, after, 1)}",
        ]
        lines = self.random.sample([lines[:2], lines[2:], [*lines[2:], *lines[:2]]], 1)[0]
        made = Routine(name, more, type)
        self.stirrers.append(made)
        head = f"def {name}(z: list[{type}], {made.declared}) -> {type}:"
        return ["@oa.func", head, *indent([*lines, f"return {make.make(type, after, 1)}"])]

    def _as_taken(self, routine: Routine) -> Routine:
        """Some of its parameters by position alone, by name alone, with defaults."""
        forms, parameters = self.forms, routine.parameters
        if forms.random() < 0.5:
            return routine
        never = forms.choice([0, 0, forms.randint(0, len(parameters))])
        only = forms.choice([0, forms.randint(0, len(parameters) - never)])
        make, defaults = Expressions(forms, [], [], safe=self.size.safe), dict[str, str]()
        for place, each in reversed([*enumerate(parameters)]):
            if each.type in SCALARS and each != DEPTH and forms.random() < 0.6:
                defaults[each.text] = make.literal(each.type)
            elif place < len(parameters) - only:
                break  # what comes before has none either
        return replace(routine, never_named=never, only_named=only, defaults=defaults)

    def _parameters(self, count: int) -> tuple[Named, ...]:
        return tuple(Named(f"a{k}", self.random.choice(self._types())) for k in range(count))

    # --------------------------------------------------------------- classes

    def _signature(self, number: int) -> Routine:
        recursive = self.random.random() < 0.3
        parameters = self._parameters(self.random.randint(0, 2))
        if recursive:
            parameters = (DEPTH, *parameters)
        if self.with_array:
            parameters = (*parameters, Named("d", ARRAY))
        if self.with_grid:
            parameters = (*parameters, Named("g", GRID))
        result = self.random.choice(self._types())
        pure = self.random.random() < 0.5
        return self._as_taken(Routine(f"m{number}", parameters, result, pure, recursive))

    def _plan_classes(self) -> None:
        """The hierarchy with its fields, and who defines which method."""
        root = Class("Root", None, [Named(name, type) for name, type in LINKS.items()])
        names = [method.name for method in self.methods]
        root.abstract = {name for name in names if self.random.random() < 0.5}
        root.bodies = set(names) - root.abstract
        self.classes = [root]
        for number in range(self.size.classes):
            bases = [cls for cls in self.classes if cls.level < MAX_LEVELS - 1]
            cls = Class(f"C{number}", self.random.choice(bases))
            cls.bodies = {name for name in names if self.random.random() < 0.4}
            self.classes.append(cls)
        for cls in self.classes:
            cls.fields += self._fields(cls)
            is_leaf = not any(other.base is cls for other in self.classes)
            if is_leaf or self.random.random() < 0.5:
                cls.bodies |= set(cls.missing(names)) - cls.abstract
            if is_leaf and cls.base is None:
                cls.bodies, cls.abstract = set(names), set()

    def _fields(self, cls: Class) -> list[Named]:
        count = self.random.randint(1, 3) if cls.base is None else self.random.randint(0, 3)
        fields = []
        for number in range(count):
            type = self.random.choice(self._types())
            name = f"f{cls.name.lower()}_{number}"
            if self.random.random() < 0.2:
                lengths = [self.random.randint(1, 4) for _ in range(self.random.choice((1, 1, 2)))]
                type = f"oa.inline[{', '.join(map(str, (type, *lengths)))}]"
            elif type in SCALARS and self.random.random() < 0.3:
                cls.defaults[name] = self._expressions().literal(type)
            fields.append(Named(name, type))
        return fields

    def _others(self) -> Lines:
        """A second family, so that calls of one family are not all that a kernel has."""
        parameter, result = self.aux.parameters[0], self.aux.result
        lines = [
            "class Other(oa.Object):",
            "    weight: f32",
            f"    def aux(self, {self.aux.declared}) -> {result}: ...",
        ]
        scope = Scope([Named("self.weight", "f32"), parameter])
        for number in range(2):
            body = self._body(result).lines(scope, 1, 2, calls=0)
            lines += [f"class Other{number}(Other):"]
            lines += [f"    def aux(self, {self.aux.declared}) -> {result}:"]
            lines += indent(indent(body))
        return lines

    def _class(self, cls: Class) -> Lines:
        lines = [f"class {cls.name}({cls.base.name if cls.base else 'oa.Object'}):"]
        for field in cls.fields:
            default = cls.defaults.get(field.text)
            lines.append(f"    {field.text}: {field.type}{f' = {default}' if default else ''}")
        lines += self._members(cls)
        for method in self.methods:
            head = f"    def {method.name}(self, {method.declared}) -> {method.result}:"
            head = head.replace("self, )", "self)")
            if method.name in cls.abstract:
                lines.append(f"{head} ...")
            elif method.name in cls.bodies:
                lines += [head, *indent(indent(self._method(cls, method)))]
        return lines if len(lines) > 1 else [*lines, "    pass"]

    def _members(self, cls: Class) -> Lines:
        """Constants and properties: all in Root, some again below."""
        lines: Lines = []
        make = self._expressions()
        for constant in self.constants:
            if cls.base is None or self.random.random() < 0.4:
                declared = f": ClassVar[{constant.type}]" if cls.base is None else ""
                lines.append(f"    {constant.text}{declared} = {make.literal(constant.type)}")
        fields = [f for f in cls.all_fields if f.type in SCALARS]
        scope = Scope([Named(f"self.{each.text}", each.type) for each in self.constants + fields])
        for each in self.properties:
            if cls.base is None or self.random.random() < 0.4:
                value = make.storable_in(each.type, scope, 2)
                lines += ["    @property", f"    def {each.text}(self) -> {each.type}:"]
                lines.append(f"        return {value}")
        return lines

    def _method(self, cls: Class, method: Routine) -> Lines:
        own = [f for f in cls.all_fields if f.type in self._types() and f.text not in LINKS]
        inline_arrays, tables = _inline_arrays(cls), _inline_tables(cls)
        scope = self._method_scope(cls, method, own)
        access = Access(
            narrowable={"self.peer": self.classes, "self": self._below(cls)},
            root_fields=[f for f in self.classes[0].fields if f.type in SCALARS],
            inquiries=[called for called in self._earlier(method) if called.pure],
        )
        if not method.pure:
            access.writes = True
            access.writable = [Named(f"self.{f.text}", f.type) for f in own]
            access.inline_arrays, access.inline_tables = inline_arrays, tables
        lines = self._body(method.result, access).lines(scope, self.size.statements, 2, calls=2)
        return [*self._recursion(method, scope), *lines]

    def _below(self, cls: Class) -> list[Class]:
        return [other for other in self.classes if other.is_below(cls)]

    def _earlier(self, method: Routine) -> list[Routine]:
        """Methods that ``method`` may call: only such, so that calls come to an end."""
        earlier = self.methods[: self.methods.index(method)]
        return [called for called in earlier if called.pure or not method.pure]

    def _method_scope(self, cls: Class, method: Routine, own: list[Named]) -> Scope:
        allowed = self._earlier(method)
        calls = [("self.", called) for called in allowed]
        calls += [("self.peer.", called) for called in allowed if called.pure]
        calls += [("self.other.", self.aux)] + [("", function) for function in self.functions]
        if cls.base is not None and cls.base.implements(method.name) and not method.recursive:
            calls += [("super().", method)] * 2
        if cls.base is not None:
            calls += [("super().", c) for c in allowed if cls.base.implements(c.name)]
            base = f"{cls.base.name}:"
            calls += [(base, c) for c in allowed if cls.base.implements(c.name)]
        root = self.classes[0]
        shared = [f for f in root.fields if f.type in self._types()]
        readable = [Named(f"self.{f.text}", f.type) for f in own]
        for struct in self.structs:  # parts of structs that lie in the object
            places = [name.text for name in readable if name.type == struct.name]
            readable += [Named(f"{p}.{f.text}", f.type) for p in places for f in struct.fields]
        readable += [Named(f"self.peer.{f.text}", f.type) for f in shared]
        readable += [
            Named(f"{receiver}.{member.text}", member.type)
            for member in (*self.constants, *self.properties)
            for receiver in ("self", "self.peer")
        ]
        readable += [Named("self.other.weight", "f32"), *method.parameters]
        readable += [
            Named(f"{array.text}[{k}]", array.type)
            for array in _inline_arrays(cls)
            for k in (0, -1)
        ]
        readable += [
            Named(f"{table.text}[{y}, {x}]", table.type)
            for table, (rows, columns) in _inline_tables(cls)
            for y, x in ((0, -1), (rows - 1, -columns), (-rows, columns - 1))
        ]
        array, grid = "d" if self.with_array else "", "g" if self.with_grid else ""
        return Scope(readable, calls, array, grid, tests=self._tests())

    def _tests(self) -> list[str]:
        some = self.random.sample(self.classes, min(3, len(self.classes)))
        tests = [f"isinstance(self.peer, {cls.name})" for cls in some]
        pair = f"({some[0].name}, {some[-1].name})"
        return [
            *tests,
            f"isinstance(self.child, {some[-1].name})",
            f"isinstance(self.peer.peer, {pair})",
            "self.child is not None",
            "self.child is None",
            "self.peer is self.peer.peer",
            "self is self.peer",
            "self.peer != self",
        ]

    def _recursion(self, method: Routine, scope: Scope) -> Lines:
        """A call of itself with less depth, on the next object of the chain or on this one."""
        if not method.recursive:
            return []
        expressions = self._expressions()
        # a method that writes must not reach objects that other threads read
        receivers = ["self", "self.child"] + (["self.peer"] if method.pure else [])
        receiver = self.random.choice(receivers)
        test = "depth > 0" + (f" and {receiver} is not None" if "child" in receiver else "")
        rest = [expressions.storable_in(p.type, scope, 1) for p in method.parameters[1:]]
        first, named = method.call(["depth - i32(1)", *rest], len(rest) + 1)
        arguments = ", ".join([*first, *named])
        leave = [f"    return {receiver}.{method.name}({arguments})"]
        if self.random.random() < 0.5:
            leave = [f"    r = {receiver}.{method.name}({arguments})", "    return r"]
        return [f"if {test}:", *leave]

    # ---------------------------------------------------------------- kernel

    def _kernel(self) -> Lines:
        lines: Lines = ["i = oa.grid(1)"]
        scope, seen = Scope([Named("n", "i32")], array="data", grid="cells"), list[Named]()
        if self.later.random() < 0.3:
            shared = self._blocks().made(scope)
            self.block, scope = shared.threads, shared.scope
            lines += [*shared.declared, "n = data[i % len(data)]", *shared.lines]
            seen = shared.read
        expressions = self._expressions()
        found = [
            Named(expressions.call("o.", method, scope.with_counter("i % 11"), 1), method.result)
            for method in self.methods
        ] + seen
        self.results = [each.type for each in found]
        calls = [f"out{number}[i] = {each.text}" for number, each in enumerate(found)]
        parameters = ["objects: oa.Array[Root]", "data: oa.Array[i32]", f"cells: {GRID}"]
        parameters += [f"out{k}: oa.Array[{each.type}]" for k, each in enumerate(found)]
        lines += ["if i < len(objects):", *indent(["o = objects[i]", "n = data[i]", *calls])]
        return ["@oa.kernel", f"def run({', '.join(parameters)}):", *indent(lines)]

    def _blocks(self) -> Blocks:
        make = Expressions(self.later, self.structs, self.tables, safe=self.size.safe)
        fields = [f for f in self.classes[0].fields if f.type in SCALARS]
        inquiries = [method for method in self.methods if method.pure]
        return Blocks(self.later, make, self._types(), fields, inquiries)


def _inline_arrays(cls: Class) -> list[Named]:
    """The inline arrays of an object of ``cls``, each with the type of its elements."""
    return [
        Named(f"self.{field.text}", inside[0])
        for field in cls.all_fields
        if len(inside := inline_parts(field.type)) == 2
    ]


def _inline_tables(cls: Class) -> list[tuple[Named, tuple[int, int]]]:
    """Those of two indices, with the number of rows and columns."""
    return [
        (Named(f"self.{field.text}", inside[0]), (int(inside[1]), int(inside[2])))
        for field in cls.all_fields
        if len(inside := inline_parts(field.type)) == 3
    ]


def _dtype(type: str) -> str:
    return "bool" if type == "bool" else str(np.dtype(DTYPES[type]))


def numbered(text: str) -> str:
    """A program's text with line numbers, for the report of a difference."""
    return textwrap.indent(
        "\n".join(f"{n:4} {line}" for n, line in enumerate(text.splitlines(), 1)), "  "
    )

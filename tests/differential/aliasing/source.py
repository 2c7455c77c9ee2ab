"""Random small programs about memory: kernels that get several arrays of the same objects, reach
objects by several names, store references, arrays, values and numbers, and loop over ranges.

Nothing here asks whether a launch is defined: what names mean the same thing is known only then.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from random import Random

from ..signatures import Named

Lines = list[str]
FLOATS = ("f32", "f64")
#: Of fields and arrays; atomics and shared sums have ``WIDE`` ones.
NUMBERS = ("i32", "i32", "i64", "u32", "f32", "u8", "i16", "f64", "u64")
WIDE = ("i32", "i64", "u32", "u64")
VALUES, INTS, REFERENCES = 3, 4, 2
"""Elements of the inline arrays ``iv``, ``il`` and ``ir``."""
NODES = "oa.Array[Node]"


@dataclass(frozen=True)
class Kernel:
    """``written`` are parameters that are arrays and of which more is done than reading."""

    name: str
    parameters: tuple[Named, ...]
    written: frozenset[str]


@dataclass(frozen=True)
class Program:
    """``fields`` are those of Node that hold numbers; ``own`` the one that a class adds;
    ``bindings`` are texts that a global may be bound to between launches."""

    text: str
    kernels: tuple[Kernel, ...]
    methods: tuple[str, ...]
    fields: tuple[Named, ...]
    own: dict[str, tuple[Named, ...]]
    other: str
    inline: str
    value: tuple[str, str]
    for_warps: bool
    bindings: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Scope:
    """What a statement may name: references that are not null, arrays, numbers; ``locals`` may be
    assigned to, ``places`` are numbers that index, ``rounds`` bounds what loops do."""

    references: tuple[str, ...]
    nodes: tuple[str, ...]
    ints: tuple[str, ...]
    numbers: tuple[Named, ...]
    locals: tuple[Named, ...]
    chosen: tuple[str, ...]
    places: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    in_loop: bool = False
    room: int = 2
    own: str = "o"

    def deeper(self) -> Scope:
        return replace(self, room=self.room - 1)


def make_program(seed: int, features: Set[str]) -> Program:
    return _Maker(Random(seed), features).program()


def _wide(number: Named) -> str:
    """As ``int`` takes it, which has 64 bits in kernels and any in Python."""
    return f"i64({number.text})" if number.type == "u64" else number.text


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class Rules:
    """Which thread may touch what, by the name of a field or array. In a tame program each is read
    by all and written by none (None), or touched only by the thread whose object ``o`` or whose
    element ``b[i]`` it belongs to, or in all objects by atomics of one kind, or by stores of one
    constant. In others anything goes (""), which is seldom defined for many threads."""

    def __init__(self, random: Random, *, is_tame: bool) -> None:
        self._random, self._is_tame = random, is_tame
        self._found: dict[str, str | None] = {}
        self.operator = random.choice(("add", "min", "max"))

    def keep(self, *names: str) -> None:
        """Nobody writes these."""
        self._found.update(dict.fromkeys(names))

    def of(self, name: str) -> str | None:
        if not self._is_tame:
            return ""
        if name not in self._found:
            choices: list[str | None] = [None, None, "o", "o", "o"]
            if name[0] == "f":
                choices += ["b[i]", "mark", "atomic"]
            elif name == "x":
                choices += ["atomic"]
            elif len(name) > 1:
                choices += ["b[i]"]
            self._found[name] = self._random.choice(choices)
        return self._found[name]

    def reach(self, field: str, scope: Scope, *, write: bool) -> str | None:
        """The reference through which the field is touched; "" for any."""
        rule = self.of(field)
        if rule == "" or (rule is None and not write):
            return ""
        if rule == "b[i]":
            return rule if "i" in scope.places else None
        return scope.own if rule == "o" else None


@dataclass
class _Maker:
    random: Random
    features: Set[str]
    made: int = 0
    written: set[str] = field(default_factory=set)

    def program(self) -> Program:
        pick = self.random.choice
        self.for_warps = self.random.random() < 0.35
        self.rules = Rules(self.random, is_tame=self.for_warps or self.random.random() < 0.7)
        if self.for_warps:  # loops read what nobody writes
            self.rules.keep("x", "y")
        self.fields = [Named(f"f{n}", pick(NUMBERS)) for n in range(self.random.randint(2, 4))]
        self.value = (pick(NUMBERS), pick(NUMBERS))
        self.other, self.inline = pick(NUMBERS), pick(NUMBERS)
        self.own = {
            "Node": (),
            "C0": (Named("own0", pick(NUMBERS)),),
            "C1": (Named("own1", pick(NUMBERS)), Named("more1", "u8")),
            "C2": (Named("own0", ""), Named("own2", pick(NUMBERS))),
        }
        self.own["C2"] = (*self.own["C0"], self.own["C2"][1])
        self.methods = ["m0", "m1"][: self.random.randint(1, 2)]
        bindings = self._bindings()
        lines = [f"{name} = {texts[0]}" for name, texts in bindings.items() if name != "PICK"]
        lines += ["@oa.value", "class V:", f"    p: {self.value[0]}", f"    q: {self.value[1]}"]
        lines += self._classes() + self._functions()
        if "PICK" in bindings:
            lines += [f"PICK = {bindings['PICK'][0]}"]
        lines = ["import types", "MOD = types.ModuleType('MOD')", *lines]
        if "KIND" in bindings:  # a class: after the classes
            lines.remove("KIND = C0")
            lines.append("KIND = C0")
        kernels = []
        for number in range(1 if self.random.random() < 0.7 else 2):
            kernel, body = self._kernel(f"k{number}")
            kernels.append(kernel)
            lines += body
        text = "\n".join(lines) + "\n"
        return Program(
            text, tuple(kernels), tuple(self.methods), tuple(self.fields), self.own, self.other,
            self.inline, self.value, self.for_warps, bindings,
        )  # fmt: skip

    def _bindings(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        if "rebinding numbers" in self.features:
            found["G"] = ("3", "70", "-2")
            found["MOD.rate"] = ("2", "5")
            found["PAIR"] = ("(1, 4)", "(4, 1)")
        if "rebinding definitions" in self.features:
            found["SC"] = ("i32", "i16", "u8")
            found["PICK"] = ("helper0", "helper1")
            found["KIND"] = ("C0", "C1", "C2")
        self.bindings = found
        return found

    # ------------------------------------------------------------- declarations

    def _classes(self) -> Lines:
        fields = [f"    {name.text}: {name.type}" for name in self.fields]
        fields += [
            "    nxt: Node",
            "    opt: Node",
            "    v: V",
            f"    il: oa.inline[{self.inline}, {INTS}]",
        ]
        fields += [f"    iv: oa.inline[V, {VALUES}]", f"    ir: oa.inline[Node, {REFERENCES}]"]
        fields += [f"    nodes: {NODES}", "    nums: oa.Array[i32]"]
        self.random.shuffle(fields)
        lines = ["class Node(oa.Object):", "    id: i32", "    b: i32", "    e: i32", *fields]
        for name in ("Node", "C0", "C1", "C2"):
            if name != "Node":
                lines.append(f"class {name}({'C0' if name == 'C2' else 'Node'}):")
                lines += [
                    f"    {own.text}: {own.type}"
                    for own in self.own[name][-2 if name == "C1" else -1 :]
                ]
            for number, method in enumerate(self.methods):
                if name == "Node" or self.random.random() < 0.6:
                    lines += indent(self._method(name, method, number))
        return lines

    def _method(self, cls: str, method: str, number: int) -> Lines:
        numbers = [Named("n", "i32"), Named("self.id", "i32")]
        numbers += [Named(f"self.{own.text}", own.type) for own in self.own[cls]]
        scope = Scope(
            ("self", "r"), ("self.nodes",), ("x", "self.nums"), tuple(numbers),
            (Named("u0", "i32"), Named("t0", self.random.choice(WIDE))), ("q0",), ("n",),
            tuple(f"self.{earlier}" for earlier in self.methods[:number]), own="self",
        )  # fmt: skip
        if cls != "Node":
            scope = replace(scope, calls=(*scope.calls, f"super().{method}"))
        body = self._body(scope, self.random.randint(1, 3))
        head = f"def {method}(self, n: i32, r: Node, x: oa.Array[i32]) -> i32:"
        return [head, *indent(body), f"    return {self._number('i32', scope, 1)}"]

    def _functions(self) -> Lines:
        lines = []
        for name in ("helper0", "helper1"):
            scope = Scope(
                ("o", "r"), ("c", "d"), ("x",), (Named("n", "i32"), Named("o.id", "i32")),
                (Named("u0", "i32"),), ("q0",), ("n",),
            )  # fmt: skip
            before, self.written = self.written, set()
            body = self._body(scope, self.random.randint(1, 2))
            self.written = before
            head = f"def {name}(o: Node, r: Node, c: {NODES}, d: {NODES}, x: oa.Array[i32], n: i32)"
            lines += ["@oa.func", f"{head} -> i32:", *indent(body)]
            lines += [f"    return {self._number('i32', scope, 1)}"]
        return lines

    def _kernel(self, name: str) -> tuple[Kernel, Lines]:
        parameters = [Named("a", NODES), Named("x", "oa.Array[i32]"), Named("y", "oa.Array[i32]")]
        parameters += [Named(letter, NODES) for letter in "bc"[: self.random.randint(1, 2)]]
        parameters += [Named("z", f"oa.Array[{self.other}]")] * (self.random.random() < 0.3)
        parameters += [Named("s", "i32"), Named("r", "Node"), Named("out", "oa.Array[i64]")]
        nodes = tuple(p.text for p in parameters if p.type == NODES)
        numbers = [Named("s", "i32"), Named("o.id", "i32")]
        scope = Scope(
            ("o", "o", "r", "a[i]", "b[i]"), nodes, ("x", "y"),
            tuple(numbers),
            (Named("u0", "i32"), Named("u1", "i32"), Named("t0", self.random.choice(WIDE))),
            ("q0", "q1"), ("i", "i", "i", "s"), tuple(f"o.{each}" for each in self.methods),
        )  # fmt: skip
        self.written = set()
        body = self._body(scope, self.random.randint(3, 8))
        if self.for_warps:
            body += self._loop(scope, shared=True) + self._statements(scope, 1)
        declared = ", ".join(f"{p.text}: {p.type}" for p in parameters)
        result = " + ".join(f"i64({self._number('i32', scope, 1)}) * {k}" for k in (1, 100))
        lines = [
            "@oa.kernel",
            f"def {name}({declared}):",
            "    i = oa.grid(1)",
            "    o = a[i]",
            *indent(body),
            f"    out[i] = {result} + i64(u0) + i64(u1)",
        ]
        if self.random.random() < 0.2:  # a guard, as real kernels have
            lines[4:] = ["    if i < len(b):", *indent(lines[4:])]
        return Kernel(name, tuple(parameters), frozenset(self.written)), lines

    # -------------------------------------------------------------- expressions

    def _number(self, type: str, scope: Scope, depth: int) -> str:
        roll = self.random.random()
        if depth <= 0 or roll < 0.3:
            return self._leaf(type, scope)
        if roll < 0.4:
            return (
                f"({self._leaf(type, scope)} if {self._test(scope)} else {self._leaf(type, scope)})"
            )
        if roll < 0.5:
            parts = self._number(type, scope, depth - 1), self._leaf(type, scope)
            return f"{self.random.choice(('min', 'max'))}({', '.join(parts)})"
        if roll < 0.55 and scope.calls and type == "i32":
            return self._call(scope)
        symbol = self.random.choice("+-*" if type in FLOATS else "+-*&|^")
        return f"({self._number(type, scope, depth - 1)} {symbol} {self._leaf(type, scope)})"

    def _leaf(self, type: str, scope: Scope) -> str:
        roll = self.random.random()
        known = [n.text for n in (*scope.numbers, *scope.locals) if n.type == type]
        if known and roll < 0.5:
            return self.random.choice(known)
        if roll < 0.75:
            some = self._read(scope)
            return some.text if some.type == type else f"{type}({some.text})"
        if roll < 0.85 and self.bindings:
            return f"{type}({self._global()})"
        return f"{type}({self.random.choice((0, 1, 2, 3, 5, 9, 100))})"

    def _global(self) -> str:
        known: list[str] = [n for n in ("G", "MOD.rate", "PAIR") if n in self.bindings]
        known += ["SC"] * ("SC" in self.bindings)
        name = self.random.choice(known)
        return {"PAIR": f"PAIR[{self.random.randint(0, 1)}]", "SC": "SC(300) + 1"}.get(name, name)

    def _read(self, scope: Scope) -> Named:
        """A number somewhere in memory."""
        if self.random.random() < 0.4:
            return Named(self._int_element(scope) or "i32(1)", "i32")
        return self._place(scope, write=False) or Named(f"{scope.own}.id", "i32")

    def _int_element(self, scope: Scope, *, write: bool = False) -> str | None:
        array = self.random.choice(scope.ints)
        owner = array if "." not in array or not write else "pieces"
        if "." in array and self.rules.reach("nums", scope, write=False) != scope.own:
            return None
        if write:
            self.written.add(array)
        index = self._element_index(array, owner, scope, write=write)
        return None if index is None else f"{array}[{index}]"

    def _element_index(self, array: str, owner: str, scope: Scope, *, write: bool) -> str | None:
        """Where a thread may look in an array; None for nowhere."""
        if "." in array:
            how = self.rules.of("pieces")
            return (
                self._index(array, scope) if how in ("", "o") or not write and how is None else None
            )
        how = self.rules.of(owner)
        if how == "" or (how is None and not write):
            return self._index(array, scope)
        return "i" if how == "o" and "i" in scope.places else None

    def _place(self, scope: Scope, *, write: bool) -> Named | None:
        """A number of some object."""
        choices = [(field.text, field.text, field.type) for field in self.fields] * 2
        k = self.random.randrange(2)
        if write:
            choices = [choice for choice in choices if self.rules.of(choice[0]) is not None]
        else:
            choices += [("v", f"v.{'pq'[k]}", self.value[k])]
            choices += [("il", f"il[{self._inline_place(scope, INTS)}]", self.inline)]
            if "values in inline arrays" in self.features:
                place = self._inline_place(scope, VALUES)
                choices += [("iv", f"iv[{place}].{'pq'[k]}", self.value[k])] * 2
        if not choices:
            return None
        field, path, type = self.random.choice(choices)
        reference = self._reach(field, scope, write=write)
        return None if reference is None else Named(f"{reference}.{path}", type)

    def _reach(self, field: str, scope: Scope, *, write: bool) -> str | None:
        """A reference through which a thread may touch the field; None if it may not."""
        found = self.rules.reach(field, scope, write=write)
        return self._reference(scope) if found == "" else found

    def _index(self, array: str, scope: Scope) -> str:
        if "i" in scope.places and "." not in array and self.random.random() < 0.65:
            return "i"
        roll = self.random.random()
        if roll < 0.15:
            return self.random.choice(("0", "-1"))
        if scope.places and roll < 0.7:
            place = self.random.choice(scope.places)
            return f"{place} % len({array})"
        if roll < 0.8 and "i" in scope.places:
            return f"(i + 1) % len({array})"
        inner = self.random.choice([_wide(n) for n in scope.numbers if n.type in WIDE] or ["2"])
        return f"int({inner}) % len({array})"

    def _reference(self, scope: Scope) -> str:
        roll = self.random.random()
        if roll < 0.3:
            array = self.random.choice(scope.nodes)
            is_read = "." not in array or self.rules.reach("nodes", scope, write=False) in (
                "",
                scope.own,
            )
            index = self._element_index(array, array, scope, write=False) if is_read else None
            if index is not None:
                return f"{array}[{index}]"
        elif roll < 0.45:
            field = self.random.choice(("nxt", "ir"))
            place = "" if field == "nxt" else f"[{self.random.randrange(2)}]"
            some = self.rules.reach(field, scope, write=False)
            if some is not None:
                return f"{some or self.random.choice(scope.references)}.{field}{place}"
        return self.random.choice((*scope.references, *scope.chosen))

    def _test(self, scope: Scope) -> str:
        roll = self.random.random()
        if roll < 0.15:
            return f"{self._reference(scope)} is {self._reference(scope)}"
        if roll < 0.3:
            kinds = ["C0", "C1", "C2", *(["KIND"] * 3 if "KIND" in self.bindings else [])]
            return f"isinstance({self._reference(scope)}, {self.random.choice(kinds)})"
        owner = self._reach("opt", scope, write=False) if roll < 0.35 else None
        if owner is not None:
            return f"{owner}.opt is not None"
        type = self.random.choice(NUMBERS)
        symbol = self.random.choice(("<", ">", "==", "!="))
        return f"{self._leaf(type, scope)} {symbol} {self._leaf(type, scope)}"

    def _call(self, scope: Scope) -> str:
        number = f"{self._leaf('i32', replace(scope, calls=()))}"
        if "a" in scope.nodes and self.random.random() < 0.4:
            called = (
                "PICK" if "PICK" in self.bindings else self.random.choice(("helper0", "helper1"))
            )
            arrays = [self._whole(scope.nodes) for _ in range(2)]
            ints = self._whole(scope.ints)
            if None not in (*arrays, ints):
                self.written |= {*map(str, arrays), str(ints)}
                given = [scope.own, self._reference(scope), *map(str, arrays), str(ints), number]
                return f"{called}({', '.join(given)})"
        ints = self._whole(scope.ints)
        if ints is None or not scope.calls:
            return number
        given = [number, self._reference(scope), ints]
        return f"{self.random.choice(scope.calls)}({', '.join(given)})"

    def _whole(self, arrays: tuple[str, ...]) -> str | None:
        """An array that functions may look at anywhere."""
        array = self.random.choice(arrays)
        return array if "." not in array and self._is_whole(array) else None

    # --------------------------------------------------------------- statements

    def _body(self, scope: Scope, count: int) -> Lines:
        lines = [f"{name.text} = {name.type}({self.random.randrange(4)})" for name in scope.locals]
        lines += [f"{name} = {self.random.choice(scope.references)}" for name in scope.chosen]
        return lines + self._statements(scope, count)

    def _statements(self, scope: Scope, count: int) -> Lines:
        lines: Lines = []
        for _ in range(count):
            lines += self._statement(scope)
        return lines

    def _statement(self, scope: Scope) -> Lines:
        kinds: list[tuple[int, Callable[[Scope], Lines]]] = [
            (1, self._rename), (4, self._assign), (3, self._choose), (8, self._store),
            (2, self._element), (4, self._inline), (2, self._link), (1, self._atomic),
            (1, self._narrowed),
        ]  # fmt: skip
        if "stored references" in self.features:
            kinds.append((3, self._store_reference))
        if "stored arrays" in self.features:
            kinds.append((1, self._store_array))
        if scope.calls:
            kinds.append((1, lambda scope: [f"u0 = {self._call(scope)}"]))
        if scope.room > 0:
            kinds += [(2, self._if), (3, self._loop), (1, self._copy)]
        if scope.in_loop:
            kinds += [(3, self._reduce), (1, lambda s: [f"if {self._test(s)}:", "    continue"])]
        weights = [weight for weight, _ in kinds]
        return self.random.choices(kinds, weights)[0][1](scope)

    def _assign(self, scope: Scope) -> Lines:
        name = self.random.choice(scope.locals)
        return [f"{name.text} = {self._number(name.type, scope, 2)}"]

    def _rename(self, scope: Scope) -> Lines:
        """An array's name becomes another array's, for some threads."""
        arrays = self.random.choice((scope.nodes, scope.ints))
        whole = [array for array in arrays if "." not in array and self._is_whole(array)]
        if len(whole) < 2 or self.random.random() < 0.5:
            return self._assign(scope)
        one, other = self.random.sample(whole, 2)
        self.written |= {one, other}
        return [f"if {self._test(scope)}:", f"    {one} = {other}"]

    def _is_whole(self, array: str) -> bool:
        return self.rules.of(array) in ("", None)

    def _reduce(self, scope: Scope, of: Named | None = None) -> Lines:
        name = self.random.choice(scope.locals)
        value = f"{name.type}({of.text})" if of else self._number(name.type, scope, 1)
        if self.random.random() < 0.3:
            return [f"{name.text} = {self.random.choice(('min', 'max'))}({name.text}, {value})"]
        return [f"{name.text} {self.random.choice(('+', '+', '^', '|', '&'))}= {value}"]

    def _choose(self, scope: Scope) -> Lines:
        return [f"{self.random.choice(scope.chosen)} = {self._reference(scope)}"]

    def _store(self, scope: Scope) -> Lines:
        if self.random.random() < 0.2:
            owner = self._reach("v", scope, write=True)
            return self._assign(scope) if owner is None else [f"{owner}.v = {self._struct(scope)}"]
        name = self._place(scope, write=True)
        if name is None:
            return self._assign(scope)
        if self.random.random() < 0.3:
            return [f"{name.text} {self.random.choice('+-*')}= {self._number(name.type, scope, 1)}"]
        return [f"{name.text} = {self._number(name.type, scope, 1)}"]

    def _struct(self, scope: Scope) -> str:
        roll = self.random.random()
        field = "v" if roll < 0.4 or "values in inline arrays" not in self.features else "iv"
        owner = self._reach(field, scope, write=False) if roll < 0.6 else None
        if owner is not None:
            return f"{owner}.{field}" + (
                "" if field == "v" else f"[{self.random.randrange(VALUES)}]"
            )
        return f"V({', '.join(self._leaf(type, scope) for type in self.value)})"

    def _element(self, scope: Scope) -> Lines:
        place = self._int_element(scope, write=True)
        symbol = self.random.choice(("=", "=", "+=", "^="))
        if place is None:
            return self._assign(scope)
        return [f"{place} {symbol} {self._number('i32', scope, 1)}"]

    def _inline(self, scope: Scope) -> Lines:
        with_values = "values in inline arrays" in self.features
        field = "iv" if with_values and self.random.random() < 0.6 else "il"
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._store(scope)
        place = self._inline_place(scope, VALUES if field == "iv" else INTS)
        if field == "il":
            return [f"{owner}.il[{place}] = {self._number(self.inline, scope, 1)}"]
        lines = [f"{owner}.iv[{place}] = {self._struct(scope)}"]
        if self.random.random() < 0.8:  # what was stored is read by another name
            again = self._inline_place(scope, VALUES, variable=0.8)
            owner = self._reach("iv", scope, write=False)
            name = self._place(scope, write=True)
            if name is not None:
                read = f"{owner}.iv[{again}].{self.random.choice('pq')}"
                lines.append(f"{name.text} = {name.type}({read})")
        return lines

    def _inline_place(self, scope: Scope, length: int, variable: float = 0.5) -> str:
        if self.random.random() > variable:
            return str(self.random.choice((0, 1, 2, -1)))
        known = [_wide(n) for n in (*scope.numbers, *scope.locals) if n.type in WIDE]
        return f"int({self.random.choice(known)}) % {length}" if known else "1"

    def _link(self, scope: Scope) -> Lines:
        field = self.random.choice(("opt", "nxt", "nxt", "ir", "ir"))
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._choose(scope)
        value = self._reference(scope)
        if field == "opt" and self.random.random() < 0.3:
            value = "None"
        place = f"[{self.random.choice((0, 1, -1))}]" if field == "ir" else ""
        return [f"{owner}.{field}{place} = {value}"]

    def _node_element(self, scope: Scope) -> tuple[str, str] | None:
        """An array and an index of an element that a thread may store to."""
        array = self.random.choice(scope.nodes)
        if "." in array and self.rules.reach("nodes", scope, write=False) not in ("", scope.own):
            return None
        index = self._element_index(array, array, scope, write=True)
        if index is None:
            return None
        self.written.add(array)
        return array, index

    def _store_reference(self, scope: Scope) -> Lines:
        element = self._node_element(scope)
        if element is None:
            return self._link(scope)
        array, index = element
        place = f"{array}[{index}]"
        roll = self.random.random()
        if "exchanges" in self.features and roll < 0.3:
            old = f"{self._reference(scope)}, " if roll < 0.1 else ""
            how = "cas" if old else "exch"
            value = self._reference(scope)
            return [f"{scope.chosen[0]} = oa.atomic_{how}({array}, {index}, {old}{value})"]
        second = self._node_element(scope) if roll < 0.5 else None
        if second is not None:
            other = f"{second[0]}[{second[1]}]"
            return [f"{place}, {other} = {other}, {place}"]
        return [f"{place} = {self._reference(scope)}"]

    def _store_array(self, scope: Scope) -> Lines:
        field = self.random.choice(("nums", "nodes", "nodes"))
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._link(scope)
        array = self.random.choice(scope.ints if field == "nums" else scope.nodes)
        self.written.add(array)
        return [f"{owner}.{field} = {array}"]

    def _atomic(self, scope: Scope) -> Lines:
        operator = self.random.choice(("add", "add", "sub", "min", "max", "exch"))
        fields = [name for name in self.fields if name.type in WIDE]
        name = self.random.choice(fields) if fields and self.random.random() < 0.6 else None
        rule = self.rules.of("x" if name is None else name.text)
        if rule == "atomic":  # many threads at once
            operator = self.rules.operator
            target = self._reference(scope)
            place = f"x, {self._index('x', scope)}" if name is None else f'{target}, "{name.text}"'
            type = "i32" if name is None else name.type
            if name is None and "x" not in scope.ints:
                return self._assign(scope)
            return [f"oa.atomic_{operator}({place}, {self._number(type, scope, 1)})"]
        if name is not None:
            owner = self._reach(name.text, scope, write=True)
            if owner is None:
                return self._assign(scope)
            place, type = f'{owner}, "{name.text}"', name.type
        else:
            element = self._int_element(scope, write=True)
            if element is None:
                return self._assign(scope)
            place, type = element.replace("[", ", ", 1)[:-1], "i32"
        call = f"oa.atomic_{operator}({place}, {self._number(type, scope, 1)})"
        same = [name.text for name in scope.locals if name.type == type]
        if same and self.random.random() < 0.3:
            return [f"{self.random.choice(same)} = {call}"]
        return [call]

    def _narrowed(self, scope: Scope) -> Lines:
        """A field that a subclass adds."""
        if scope.own == "self":
            return self._choose(scope)
        cls = self.random.choice(("C0", "C1", "C2"))
        own = self.random.choice(self.own[cls])
        name = scope.chosen[0]
        owner = self._reach("own", scope, write=True)
        if owner is None:
            return self._choose(scope)
        value = self._number(own.type, scope, 1)
        lines = [f"if isinstance({name}, {cls}):", f"    {name}.{own.text} = {value}"]
        return [f"{name} = {owner}", *lines]

    def _if(self, scope: Scope) -> Lines:
        inner = scope.deeper()
        if "branches around loops" not in self.features:
            inner = replace(inner, room=0)
        lines = [
            f"if {self._test(scope)}:",
            *indent(self._statements(inner, self.random.randint(1, 3))),
        ]
        if self.random.random() < 0.4:
            lines += ["else:", *indent(self._statements(inner, self.random.randint(1, 2)))]
        return lines

    def _loop(self, scope: Scope, *, shared: bool = False) -> Lines:
        """A loop over a range that differs by thread, what it leaves behind, and what comes of
        it: variables that were read and assigned before, in it, and after."""
        self.made += 1
        counter, own = f"j{self.made}", Named(f"h{self.made}", "i32")
        reference = self._reference(scope)
        bounds = f"{reference}.b, {reference}.e"
        roll = self.random.random()
        if shared:  # long for some threads of a warp, and nothing but sums
            bounds, roll = "o.b, o.e", 0.5
        element = self._int_element(scope) if roll < 0.2 else None
        if element is not None:
            bounds = f"{self.random.choice(('0', f'{reference}.b'))}, {element} % 9"
        inner = replace(
            scope.deeper(),
            places=(counter, counter, *scope.places),
            calls=(),
            in_loop=True,
            locals=(*scope.locals, own),
        )
        after = self._assign(scope) if self.random.random() < 0.5 else []
        array = self._whole(scope.ints)
        first = [f"i32({counter}) * 3", "i32(7)"] + [f"{array}[{counter}]"] * (3 if array else 0)
        first = self.random.choice(first)
        marked = [name for name in self.fields if self.rules.of(name.text) in ("", "mark")]
        nodes = self._whole(scope.nodes)
        if roll > 0.7 and marked and nodes:  # marks objects in a range, in any order
            name = self.random.choice(marked)
            body = [f"{nodes}[{counter} % len({nodes})].{name.text} = {name.type}(4)"]
            if self.random.random() < 0.4:
                body.insert(0, f"if {self._test(scope)}:")
                body[1] = f"    {body[1]}"
        else:
            body = [f"{own.text} = {first}"]
            if (
                shared or self.random.random() < 0.6
            ):  # sums and locals alone, so that it can be shared
                left = self.random.choice(scope.locals)
                if self.random.random() < 0.5:
                    body.append(f"{left.text} = {self._number(left.type, inner, 1)}")
                    after = [f"{left.text} = {self._number(left.type, scope, 1)}"]
                else:
                    left = Named("", "")
                sums = [name for name in scope.locals if name.text != left.text]
                if sums:
                    body += self._reduce(replace(inner, locals=tuple(sums), numbers=()), own)
            else:
                body += self._statements(
                    replace(inner, room=min(inner.room, 0)), self.random.randint(1, 3)
                )
        loop = [f"for {counter} in range({bounds}):", *indent(body)]
        if "branches around loops" in self.features and self.random.random() < 0.5:
            before = self._assign(scope) if self.random.random() < 0.4 else []
            lines = [f"if {self._test(scope)}:", *indent([*before, *loop, *after])]
            if self.random.random() < 0.3:
                lines += ["else:", *indent(self._assign(scope))]
            return lines
        return [*loop, *after]

    def _copy(self, scope: Scope) -> Lines:
        """Element by element, in a loop that is written out."""
        self.made += 1
        with_values = "values in inline arrays" in self.features
        field = "iv" if with_values and self.random.random() < 0.5 else "il"
        name, one = f"k{self.made}", self._reach(field, scope, write=True)
        other = self._reach(field, scope, write=False)
        if one is None or other is None:
            return self._assign(scope)
        length = VALUES if field == "iv" else INTS
        read = self.random.choice((name, name, f"-1 - {name}", f"({name} + 1) % {length}"))
        return [
            f"for {name} in range({length}):",
            f"    {one}.{field}[{name}] = {other}.{field}[{read}]",
        ]

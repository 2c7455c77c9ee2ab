"""Random small programs about memory: kernels that get several arrays of the same objects, reach
objects by several names, store references, arrays, values and numbers, and loop over ranges.

Nothing here asks whether a launch is defined: what names mean the same thing is known only then.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from random import Random

from ..signatures import Named
from .scope import INTS, NODES, NUMBERS, REFERENCES, VALUES, WIDE, Lines, Rules, Scope
from .statements import Statements, indent


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


def make_program(seed: int, features: Set[str]) -> Program:
    return _Maker(Random(seed), features).program()


class _Maker(Statements):
    """Declares classes, functions and kernels."""

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

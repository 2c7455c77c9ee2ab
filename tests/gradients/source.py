"""Random differentiable programs: classes with virtual methods, kernels, a sequence of launches.

Who may touch what, so that no launch has a race, is decided for each *family*, the methods and the
kernel of one launch: a field or array is *own* (touched by the thread alone to which it belongs,
by any of its names), *read* (by all, written by nobody) or *summed* (by all, with atomic adds, and
read by nobody). Objects refer to themselves (``me``), to anybody (``peer``), and to one that
belongs to them alone (``child``), from which they can be reached again.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from .bodies import Bodies, Lines, Roles, Scope, indent

#: What programs contain, by name, so that one thing can be left out.
FEATURES = frozenset({
    "one array twice", "slices", "populations", "vectors", "values", "inline arrays", "loops",
    "while", "recursion", "child", "super", "isinstance", "early return", "references", "lists",
    "own fields", "properties", "results", "inline atomics", "break",
})  # fmt: skip
VECTOR_FIELDS = ("v",)
INLINE = 3


@dataclass(frozen=True)
class Launch:
    """``kernel``: a kernel of every object of ``objects``; ``call``: a method of these;
    ``population``: one of all objects of a class. Arguments are names of arrays, parts of them as
    ``(name, start, stop)``, numbers, or results of calls before, which are named ``result``."""

    kind: Literal["kernel", "call", "population"]
    name: str
    objects: str
    arguments: tuple[object, ...] = ()
    result: str = ""


@dataclass
class Program:
    """``classes`` are those that objects may have; ``fields`` what each holds."""

    text: str
    classes: list[str]
    fields: dict[str, dict[str, str]]
    launches: list[Launch]
    objects: list[tuple[str, int, int]] = field(default_factory=list)
    """Of each object its class, and the numbers of its ``peer`` and its ``child``."""
    lead: int = 0
    """So many objects are launched; the others are children."""
    arrays: dict[str, int] = field(default_factory=dict)


def make_program(seed: int, features: Set[str] = FEATURES, *, is_small: bool = False) -> Program:
    """The program of that seed; always the same. Small ones have one family of two classes."""
    return _Maker(Random(seed), features, is_small).program()


class _Maker:
    def __init__(self, random: Random, features: Set[str], is_small: bool) -> None:
        self.random, self.features, self.is_small = random, features, is_small
        self.lines: Lines = []
        self.launches: list[Launch] = []
        self.floats = [f"f{k}" for k in range(random.randint(2, 4))]
        self.own: dict[str, list[str]] = {}
        self.bases: dict[str, str | None] = {"Root": None}

    def program(self) -> Program:
        random = self.random
        count = 2 if self.is_small else random.choice((2, 2, 4, 8))
        for k in range(count):
            below = [name for name in self.bases if random.random() < 0.7] or ["Root"]
            self.bases[f"C{k}"] = random.choice(below)
        for name in self.bases:
            has = "own fields" in self.features and name != "Root" and random.random() < 0.4
            self.own[name] = [f"own_{name.lower()}"] if has else []
        concrete = [name for name in self.bases if name != "Root"] + ["Root"] * 1
        fields = {name: self._fields(name) for name in self.bases}
        lead = random.randint(3, 6)
        objects = []
        for number in range(2 * lead):
            child = number + lead if number < lead else random.choice((number - lead, number))
            objects.append((random.choice(concrete), random.randrange(2 * lead), child))
        arrays = {"A": 2 * lead, "B": 2 * lead, "S": random.randint(1, 3)}
        bodies = Bodies(random, self.features, self.floats, self.bases, self.own, self.is_small)
        count = 1 if self.is_small else random.randint(1, 3)
        families = [self._family(k, bodies) for k in range(count)]
        self._assemble(bodies, families)
        turns = random.randint(1, 4)
        for _ in range(turns):
            self._launch(random.choice(families), lead, arrays)
        self._loss()
        text = "\n".join(self.lines) + "\n"
        return Program(text, concrete, fields, self.launches, objects, lead, arrays)

    def _fields(self, name: str) -> dict[str, str]:
        found = dict.fromkeys(self.floats, "f64")
        if "vectors" in self.features:
            found["v"] = "oa.vec2d"
        if "values" in self.features:
            found["p"] = "Pair"
        if "inline arrays" in self.features:
            found["w"] = f"oa.inline[f64, {INLINE}]"
        at: str | None = name
        while at is not None:
            found |= dict.fromkeys(self.own[at], "f64")
            at = self.bases[at]
        return found

    # --------------------------------------------------------------- families

    def _family(self, number: int, bodies: Bodies) -> _Family:
        random = self.random
        cells = [*self._fields("Root"), "own", "a", "b", "s"]
        roles = Roles({cell: random.choice(("own", "own", "read", "sum")) for cell in cells})
        roles.found["a"] = random.choice(("own", "own", "read", "sum"))
        roles.found["s"] = random.choice(("read", "sum"))
        if not any(roles.of(name) == "own" for name in self.floats):
            roles.found[self.floats[0]] = "own"
        if not any(roles.of(name) == "read" for name in self.floats):
            roles.found[self.floats[-1]] = "read"
        is_population = "populations" in self.features and random.random() < 0.35
        family = _Family(number, roles, is_population)
        family.depth = "recursion" in self.features and random.random() < 0.3
        # Who defines what, and what a body of a class that does nothing is.
        names = list(self.bases)
        family.overrides = ["Root", *(n for n in names[1:] if random.random() < 0.7)]
        family.asks = ["Root", *(n for n in names[1:] if random.random() < 0.5)]
        family.kids = ["Root", *(n for n in names[1:] if random.random() < 0.4)]
        for name in names:
            family.bodies[name] = []
            if name in family.asks:
                family.bodies[name] += bodies.asking(number, roles, name, family.depth)
            if name in family.kids and "child" in self.features and not is_population:
                family.bodies[name] += bodies.of_child(number, roles, name, family.depth)
            if name in family.overrides:
                family.bodies[name] += bodies.turn(number, roles, name, family)
        family.kernel = bodies.kernel(number, roles)
        return family

    def _assemble(self, bodies: Bodies, families: list[_Family]) -> None:
        lines = ["import math", "import sharedoa as oa", "from sharedoa import f64, i32", ""]
        if "values" in self.features:
            lines += [
                "@oa.value", "class Pair:", "    a: f64", "    b: f64",
                "    def mix(self, k: f64) -> f64:", "        return self.a * k - self.b",
                "    def __add__(self, other: Pair) -> Pair:",
                "        return Pair(self.a + other.a, self.b * other.a)",
            ]  # fmt: skip
        lines += bodies.functions()
        for name, base in self.bases.items():
            lines += [f"class {name}({base or 'oa.Object'}):"]
            if base is None:
                lines += [f"    {each}: {type}" for each, type in self._fields("Root").items()]
                lines += ["    n: i32", "    me: Root", "    peer: Root", "    child: Root"]
            lines += [f"    {own}: f64" for own in self.own[name]]
            if "properties" in self.features and (base is None or self.random.random() < 0.5):
                value = bodies.constant()
                lines += ["    @property", "    def slope(self) -> f64:"]
                lines += [f"        return {value} + f64(self.n)"]
            for family in families:
                lines += indent(family.bodies[name])
            if lines[-1].startswith("class "):
                lines += ["    pass"]
        for family in families:
            lines += family.kernel
        self.lines = lines

    def _launch(self, family: _Family, lead: int, arrays: dict[str, int]) -> None:
        random, roles = self.random, family.roles
        number = str(family.number)
        if family.is_population:
            cls = random.choice(list(self.bases))
            scale = round(random.uniform(-1.5, 1.5), 3)
            self._call(Launch("population", f"turn{number}", cls, (scale,)))
            return
        a, b = roles.of("a"), roles.of("b")
        one: object = "A"
        other: object = "B"
        if a == b and "one array twice" in self.features and random.random() < 0.4:
            other = "A"
        if b == "read" and "slices" in self.features and random.random() < 0.4:
            start = random.randrange(lead)
            other = ("B" if a != b else other, start, start + lead)
        earlier = [launch.result for launch in self.launches if launch.result]
        if b == "read" and earlier and random.random() < 0.6:
            other = random.choice(earlier)
        scale = round(random.uniform(-1.5, 1.5), 3)
        if random.random() < 0.3 and "results" in self.features:
            self._call(Launch("call", f"turn{number}", "objects", (scale,)))
            return
        order = random.choice(("objects", "objects", "backwards"))
        self._call(Launch("kernel", f"kernel{number}", order, (one, other, "S", scale)))

    def _call(self, launch: Launch) -> None:
        result = ""
        if launch.kind == "call" and "results" in self.features:
            result = f"r{len(self.launches)}"
        self.launches.append(
            Launch(launch.kind, launch.name, launch.objects, launch.arguments, result)
        )

    # ------------------------------------------------------------------- loss

    def _loss(self) -> None:
        """Everything, with a weight of its own."""
        lines = ["    o = objects[oa.grid(1)]", "    t = 0.0"]
        for number, (name, type) in enumerate(self._fields("Root").items()):
            weight = round(self.random.uniform(-1, 1), 3)
            if type == "f64":
                lines.append(f"    t += o.{name} * ({weight} + 0.125 * o.n)")
            elif name == "w":
                lines.append(f"    for k in range({INLINE}):")
                lines.append(f"        t += o.w[k] * ({weight} + k)")
            else:
                first, second = ("x", "y") if name == "v" else ("a", "b")
                lines.append(f"    t += o.{name}.{first} * {weight} - o.{name}.{second}")
            if number % 2:
                lines.append("    t += t * t * 0.01")
        lines.append("    oa.atomic_add(loss, 0, t)")
        head = "def measure(objects: oa.Array[Root], loss: oa.Array[f64]) -> None:"
        self.lines += ["@oa.kernel", head, *lines]
        head = "def measure_array(a: oa.Array[f64], loss: oa.Array[f64]) -> None:"
        body = ["    i = oa.grid(1)", "    oa.atomic_add(loss, 0, a[i] * (1.0 + 0.25 * i))"]
        self.lines += ["@oa.kernel", head, *body]
        self.launches.append(Launch("kernel", "measure", "everybody", ("L",)))
        results = [launch.result for launch in self.launches if launch.result]
        for array in ("A", "B", "S", *results):
            self.launches.append(Launch("kernel", "measure_array", array, ("L",)))


@dataclass
class _Family:
    number: int
    roles: Roles
    is_population: bool
    depth: bool = False
    overrides: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    kids: list[str] = field(default_factory=list)
    bodies: dict[str, Lines] = field(default_factory=dict)
    kernel: Lines = field(default_factory=list)


__all__ = ["FEATURES", "Launch", "Program", "Scope", "make_program"]

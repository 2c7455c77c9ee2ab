"""Random traces of launches over a few classes: as one and by themselves they must do the same.

Within a launch threads do not meet: of each field, threads of a launch either have their own, or
only read others', or write to the one object that ``next`` leads to from none but them, or add to
any. So a trace has one meaning; which launches of it may be one is what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

FLOATS, INTS = ("f0", "f1", "f2"), ("n0", "n1")
CLASSES = ("Base", "Left", "Right")
ARRAYS = ("a", "b", "c")
OBJECTS, ELEMENTS = 24, 24
_KERNELS = """
@oa.kernel
def own(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    i = oa.grid(1)
    p[i] = p[i] * f32(0.5) + q[i] - s

@oa.kernel
def some(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    i = oa.grid(1)
    if i >= len(p):
        return
    if q[i] > s:
        p[i] = s

@oa.kernel
def first(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    p[oa.grid(1)] = q[0] + s

@oa.kernel
def halves(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    i = oa.grid(1)
    p[i] = q[i // 2] * s

@oa.kernel
def back(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    i = oa.grid(1)
    p[len(p) - 1 - i] = q[i] + s

@oa.kernel
def constant(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    p[oa.grid(1)] = f32(0.375)

@oa.kernel
def sine(p: oa.Array[f32], q: oa.Array[f32], s: f32):
    i = oa.grid(1)
    p[i] = math.sin(q[i]) * s

@oa.kernel
def each(nodes: oa.Array[Base], s: f32):
    i = oa.grid(1)
    if i < len(nodes):
        nodes[i].{method}(s)

@oa.kernel
def each_too(nodes: oa.Array[Base], s: f32):
    node = nodes[oa.grid(1)]
    node.f0 = node.f0 * f32(0.75) + s
"""
#: Of kernels over arrays: whether threads look at elements of the second array that are not theirs,
#: or write to elements of the first that are not.
KERNELS = {
    "own": False, "some": False, "first": True, "halves": True, "back": True, "constant": False,
    "sine": False,
}  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """``what``: a method, called on a population (``on`` is a class) or by a kernel on an array of
    objects, a kernel over arrays, or something that the host does. ``stretches``: of the arrays'
    names, first element and count."""

    what: str
    on: str = ""
    arrays: tuple[tuple[str, int, int], ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class Trace:
    text: str
    launches: tuple[Launch, ...]


def make_trace(seed: int) -> Trace:
    random = Random(seed)
    methods = [f"m{number}" for number in range(random.randint(2, 4))]
    roles = {method: _roles(random) for method in methods}
    lines: list[str] = []
    for cls in CLASSES:
        lines += ["", f"class {cls}({'oa.Object' if cls == 'Base' else 'Base'}):"]
        if cls == "Base":
            lines += [f"    {name}: f32" for name in FLOATS]
            lines += [f"    {name}: i32" for name in INTS]
            lines += ["    next: Base"]
        elif random.random() < 0.3:
            lines += ["    pass"]
            continue
        for method in methods:
            if cls == "Base" or random.random() < 0.6:
                lines += _method(random, method, roles[method])
        if lines[-1].startswith("class"):
            lines += ["    pass"]
    lines += [_KERNELS.replace("{method}", random.choice(methods))]
    count = random.randint(2, 9)
    launches = tuple(_launch(random, methods) for _ in range(count))
    return Trace("\n".join(lines) + "\n", launches)


def _roles(random: Random) -> dict[str, str]:
    """What a method, whatever overrides it, does with each field."""
    mostly_own = random.random() < 0.6
    ways = ["own"] * 4 + ["none"] if mostly_own else ["own", "own", "see", "give", "none"]
    found = {name: random.choice(ways) for name in FLOATS}
    return found | {name: random.choice(["own", "add", "none", "none"]) for name in INTS}


def _method(random: Random, name: str, roles: dict[str, str]) -> list[str]:
    lines = [f"    def {name}(self, s: f32) -> None:"]
    if random.random() < 0.2:
        tests = [f for f in FLOATS if roles[f] == "own"]
        if tests:
            lines += [f"        if self.{random.choice(tests)} > f32(9):", "            return"]
    for _ in range(random.randint(1, 4)):
        lines += _statement(random, roles)
    return lines


def _statement(random: Random, roles: dict[str, str]) -> list[str]:
    written = [name for name, role in roles.items() if role in ("own", "give", "add")]
    if not written:
        return ["        pass"]
    name = random.choice(written)
    value = _value(random, roles)
    if roles[name] == "add":
        return [f'        oa.atomic_add(self.next, "{name}", {random.randint(1, 3)})']
    if name in INTS:
        return [f"        self.{name} = self.{name} * 3 + {random.randint(0, 5)}"]
    if roles[name] == "give":
        return [f"        self.next.{name} = {value}"]
    store = f"self.{name} = {value}"
    if random.random() < 0.3:
        return [f"        if s > f32({random.choice((0.1, 0.6))}):", f"            {store}"]
    return [f"        {store}"]


def _value(random: Random, roles: dict[str, str]) -> str:
    read = [f"self.{n}" for n in FLOATS if roles[n] == "own"]
    read += [f"self.next.{n}" for n in FLOATS if roles[n] == "see"]
    read += ["s", "f32(0.25)"]
    one, other = random.choice(read), random.choice(read)
    form = random.choice(
        ["{} + {}", "{} * f32(0.5) - {}", "{} * {}", "f32(1.5)", "{}", "math.cos({}) + {}"]
    )
    return form.format(one, other)


def _launch(random: Random, methods: list[str]) -> Launch:
    number = random.choice((0.125, 0.5, 0.75))
    chance = random.random()
    if chance < 0.5:
        on = "Base" if random.random() < 0.75 else random.choice(CLASSES)
        return Launch(random.choice(methods), on, number=number)
    if chance < 0.8:
        kernel = random.choice([*KERNELS])
        return Launch(kernel, arrays=_stretches(random, KERNELS[kernel]), number=number)
    if chance < 0.9:
        first = random.choice((0, 0, 4))
        count = OBJECTS - 4
        kernel = random.choice(("each", "each_too"))
        name = random.choice(("nodes", "nodes", "shuffled"))
        return Launch(kernel, arrays=((name, first, count),), number=number)
    return Launch(random.choice(("read", "write", "set field", "delete", "new")), number=number)


def _stretches(random: Random, are_others: bool) -> tuple[tuple[str, int, int], ...]:
    """Two arrays that threads of one launch do not meet in."""
    count = random.choice((ELEMENTS, ELEMENTS, ELEMENTS // 2))
    one, other = random.sample(ARRAYS, 2)
    first = random.choice((0, 0, ELEMENTS - count, 1 if count < ELEMENTS else 0))
    if not are_others and random.random() < 0.4:
        return ((one, first, count), (one, first, count))
    if count < ELEMENTS and random.random() < 0.3:
        return ((one, 0, count), (one, count, count))
    return ((one, first, count), (other, 0, count))

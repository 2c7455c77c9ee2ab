"""Random programs in which no thread reads what one has written, so that they touch the same
whatever has run before.

Fields that are read are never stored to, and sums only grow. ``unknown`` programs take some ways by
a test that nobody can know, and assign nothing on these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

Lines = list[str]

HEAD = """
@oa.value
class Pair:
    small: i32
    large: f64

    def double(self) -> i32:
        return self.small * i32(2)

class Node(oa.Object):
    sum: i64
    a: i32
    b: f32
    flag: bool
    narrow: i8
    next: Node
    maybe: Node
    row: oa.inline[i32, 3]
    pair: Pair
    numbers: oa.Array[i32]
    nodes: oa.Array[Node]
    marks: oa.inline[f32, 4]
    count: u32
    tail: Pair
"""
CLASSES = ("Node", "Left", "Right", "Corner")
BASES = {"Left": "Node", "Right": "Node", "Corner": "Left"}


@dataclass(frozen=True)
class Scope:
    """What expressions may name: numbers and objects; ``methods`` that may be called, by number."""

    numbers: tuple[str, ...]
    objects: tuple[str, ...]
    methods: int
    in_loop: bool = False
    may_assign: bool = True


@dataclass
class Writer:
    random: Random
    unknown: bool
    _names: int = 0
    _calls: int = 0
    _lines: Lines = field(default_factory=list)

    def program(self) -> str:
        lines = [HEAD]
        methods = self.random.randint(1, 3)
        for cls in CLASSES:
            if cls != "Node":
                lines += [f"class {cls}({BASES[cls]}):", f"    own{cls.lower()}: i32"]
            for number in range(methods):
                if cls == "Node" or self.random.random() < 0.6:
                    lines += self._method(cls, number)
        lines += [
            "@oa.kernel",
            "def run(nodes: oa.Array[Node], one: Node, none: Node, pair: Pair, k: i32, "
            "out: oa.Array[i64]):",
            "    i = oa.grid(1)",
            "    if i < len(nodes):",
            "        this = nodes[i]",
        ]
        self._calls = 2
        numbers = "i32(i)", "k", "pair.small", "pair.double()", "i32(pair.large)"
        scope = Scope(numbers, ("this", "one"), methods)
        body, inner = self._block(scope, 5, 2)
        lines += ["        " + line for line in body]
        lines.append("        if none is None:")
        lines.append(f"            out[i] = i64({self._number(inner, 2)})")
        return "\n".join(lines) + "\n"

    def _method(self, cls: str, number: int) -> Lines:
        head = f"    def m{number}(self, n: i32, p: Node) -> i32:"
        scope = Scope(("n", f"self.own{cls.lower()}")[: 1 + (cls != "Node")], ("self", "p"), number)
        self._calls = 2
        body, _ = self._block(scope, 3, 2)
        if number == 0 and self.random.random() < 0.4:
            stop = ["if n <= i32(0):", "    return i32(1)"]
            body = [
                *stop,
                *body,
                f"return self.next.m0(n % i32(4) - i32(1), p) + {self._leaf(scope)}",
            ]
        else:
            body.append(f"return {self._number(scope, 2)}")
        return [head, *("        " + line for line in body)]

    # ------------------------------------------------------------ statements

    def _block(self, scope: Scope, count: int, depth: int) -> tuple[Lines, Scope]:
        lines: Lines = []
        for _ in range(self.random.randint(1, count)):
            made, scope = self._statement(scope, depth)
            lines += made
        return lines, scope

    def _statement(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        choices = [self._store, self._store]
        if scope.may_assign:
            choices += [self._new_number, self._new_object, self._reassign, self._leave]
        if depth:
            choices += [self._if, self._for, self._while, self._guarded]
            if self.unknown:
                choices += [self._unknown_if] * 3
        return self.random.choice(choices)(scope, depth)

    def _name(self, letter: str = "v") -> str:
        """Of those that begin with v others may be assigned to later."""
        self._names += 1
        return f"{letter}{self._names}"

    def _new_number(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        name = self._name()
        lines = [f"{name} = {self._number(scope, 2)}"]
        return lines, replace(scope, numbers=(*scope.numbers, name))

    def _new_object(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        name = self._name()
        lines = [f"{name} = {self._object(scope, 2)}"]
        return lines, replace(scope, objects=(*scope.objects, name))

    def _reassign(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        numbers = [name for name in scope.numbers if name.startswith("v")]
        objects = [name for name in scope.objects if name.startswith("v")]
        if numbers and self.random.random() < 0.5:
            return [f"{self.random.choice(numbers)} = {self._number(scope, 2)}"], scope
        if objects:
            return [f"{self.random.choice(objects)} = {self._object(scope, 1)}"], scope
        return self._new_number(scope, depth)

    def _store(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        target, value = self._object(scope, 1), self._number(scope, 1)
        line = self.random.choice((
            f"{target}.sum += i64({value})",
            f"{target}.sum = i64({value})",
            f"{target}.marks[{self._inside(scope, 4)}] = f32({value})",
            f"{target}.marks[{self._inside(scope, 4)}] += f32({value})",
            f"{target}.tail = Pair({value}, {target}.pair.large)",
            f'oa.atomic_add({target}, "count", u32(1))',
        ))  # fmt: skip
        return [line], scope

    def _leave(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        if not scope.in_loop:
            return self._store(scope, depth)
        return [
            f"if {self._test(scope, 1)}:",
            f"    {self.random.choice(('break', 'continue'))}",
        ], scope

    def _if(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        return self._branches(self._test(scope, 2), scope, depth), scope

    def _unknown_if(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        test = f"math.exp(f64({self._leaf(scope)} % i32(3))) < f64(2)"
        return self._branches(test, replace(scope, may_assign=False), depth), scope

    def _branches(self, test: str, scope: Scope, depth: int) -> Lines:
        lines = [f"if {test}:", *_indented(self._block(scope, 2, depth - 1)[0])]
        if self.random.random() < 0.6:
            lines += ["else:", *_indented(self._block(scope, 2, depth - 1)[0])]
        return lines

    def _guarded(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        if not scope.may_assign:
            return self._store(scope, depth)
        name, start = self._name(), self._object(scope, 1)
        inner = replace(scope, objects=(*scope.objects, name))
        lines = [f"{name} = {start}.maybe", f"if {name} is not None and {name}.a > i32(-50):"]
        lines += _indented(self._block(inner, 2, depth - 1)[0])
        return lines, scope

    def _for(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        if not scope.may_assign:
            return self._store(scope, depth)
        name = self._name()
        bounds = self.random.choice((
            "4", "1, 4", "3, -1, -1", "0, 7, 3", "0", f"int({self._leaf(scope)} % i32(5))",
            f"len({self._object(scope, 1)}.numbers)", f"int({self._leaf(scope)} % i32(3)), 3",
        ))  # fmt: skip
        inner = replace(scope, numbers=(*scope.numbers, f"i32({name})"), in_loop=True)
        lines = [f"for {name} in range({bounds}):", *_indented(self._block(inner, 2, depth - 1)[0])]
        return lines + self._else(scope, depth), scope

    def _while(self, scope: Scope, depth: int) -> tuple[Lines, Scope]:
        if not scope.may_assign:
            return self._store(scope, depth)
        name = self._name("w")
        test = f"{name} < i32({self.random.randint(1, 3)})"
        if self.random.random() < 0.5:
            test += f" and {self._test(scope, 1)}"
        inner = replace(scope, numbers=(*scope.numbers, name), in_loop=True)
        body = _indented([f"{name} += i32(1)", *self._block(inner, 2, depth - 1)[0]])
        return [f"{name} = i32(0)", f"while {test}:", *body, *self._else(scope, depth)], scope

    def _else(self, scope: Scope, depth: int) -> Lines:
        if self.random.random() < 0.7:
            return []
        return ["else:", *_indented(self._block(replace(scope, in_loop=False), 1, depth - 1)[0])]

    # ----------------------------------------------------------- expressions

    def _leaf(self, scope: Scope) -> str:
        return self.random.choice((*scope.numbers, f"{self.random.choice(scope.objects)}.a"))

    def _number(self, scope: Scope, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self._leaf(scope)
        left, right = (self._number(scope, depth - 1) for _ in range(2))
        node = self._object(scope, depth - 1)
        operator = self.random.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"))
        choices = [
            f"({left} {operator} {right})",
            f"(-{left})",
            f"i32({node}.b * f32(1.5))",
            f"i32(-{node}.narrow)",
            f"{node}.row[{self._inside(scope, 3)}]",
            f"{node}.pair.small",
            f"{node}.pair.double()",
            f"i32(len({node}.numbers))",
            f"({left} if {self._test(scope, depth - 1)} else {right})",
            f"({node}.numbers[{left} % i32(len({node}.numbers))] if {node}.numbers else {right})",
            f"abs({left})",
        ]
        if scope.methods and self._calls and not (scope.in_loop and "self" in scope.objects):
            self._calls -= 1
            called = f"m{self.random.randrange(scope.methods)}"
            choices += [f"{node}.{called}({left}, {self._object(scope, 1)})"] * 6
        return self.random.choice(choices)

    def _inside(self, scope: Scope, length: int) -> str:
        index = f"{self._leaf(scope)} % i32({length})"
        return self.random.choice((str(-length), "-1", "0", f"int({index})"))

    def _object(self, scope: Scope, depth: int) -> str:
        start = self.random.choice(scope.objects)
        for _ in range(self.random.randint(0, depth)):
            start += ".next"
        if depth > 1 and self.random.random() < 0.2:
            nodes = f"{self.random.choice(scope.objects)}.nodes"
            return f"({nodes}[{self._leaf(scope)} % i32(len({nodes}))] if {nodes} else {start})"
        if depth > 1 and self.random.random() < 0.2:
            return f"({start} if {self._test(scope, 0)} else {self.random.choice(scope.objects)})"
        return start

    def _test(self, scope: Scope, depth: int) -> str:
        node, number = self._object(scope, 1), self._number(scope, depth)
        compare = self.random.choice(("<", "<=", "==", "!=", ">", ">="))
        choices = [
            f"{number} {compare} {self._leaf(scope)}",
            f"{node}.flag",
            f"{node}.b < f32(0.5)",
            f"isinstance({node}, {self.random.choice(CLASSES)})",
            f"{node} is {self._object(scope, 1)}",
            f"{node}.maybe is None",
            f"{node}.a",
        ]
        if depth:
            word = self.random.choice(("and", "or"))
            choices += [
                f"(not {self._test(scope, depth - 1)})",
                f"({self._test(scope, depth - 1)} {word} {self._test(scope, depth - 1)})",
            ]
        return self.random.choice(choices)


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def program(seed: int, unknown: bool = False) -> str:
    return Writer(Random(seed), unknown).program()

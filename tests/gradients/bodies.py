"""Random statements and expressions of f64 that have derivatives, and stay of moderate size."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from random import Random
from typing import Any

Lines = list[str]
INLINE = 3


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


@dataclass
class Roles:
    """Who may touch a field or array in one launch: "own", "read" or "sum"."""

    found: dict[str, str]

    def of(self, name: str) -> str:
        return self.found.get(name, "own")


@dataclass(frozen=True)
class Scope:
    """``own``: references whose objects belong to the thread; ``others``: to anybody. ``fields``:
    those that ``self`` adds to its base. ``asks``: the method that only reads, if it may be called.
    ``index``: the thread's own element, where there are arrays."""

    roles: Roles
    own: tuple[str, ...]
    others: tuple[str, ...]
    locals: tuple[str, ...] = ("t0", "t1", "k")
    ints: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    asks: str = ""
    kids: str = ""
    index: str = ""
    chosen: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    writes: bool = True
    in_loop: bool = False
    room: int = 2

    def deeper(self, **changes: Any) -> Scope:
        return replace(self, room=self.room - 1, **changes)


class Bodies:
    """Makes the bodies of methods, functions and kernels."""

    def __init__(
        self, random: Random, features: Set[str], floats: list[str],
        bases: dict[str, str | None], own: dict[str, list[str]], is_small: bool,
    ) -> None:  # fmt: skip
        self.random, self.features, self.floats = random, features, floats
        self.is_small = is_small
        self.bases, self.own = bases, own
        self.made = 0

    # ------------------------------------------------------------ expressions

    def constant(self) -> str:
        return str(round(self.random.uniform(-1.5, 1.5), 3))

    def number(self, scope: Scope, depth: int = 2) -> str:
        """An expression of type f64."""
        pick, roll = self.random.choice, self.random.random()
        if depth == 0 or roll < 0.15:
            return self._leaf(scope)
        x = self.number(scope, depth - 1)
        if roll < 0.3:
            return f"({x} {pick('+-')} {self.number(scope, depth - 1)})"
        if roll < 0.5:
            return f"({x} * {self.number(scope, depth - 1)})"
        if roll < 0.75:
            y = self._leaf(scope)
            return pick((
                f"math.sin({x})", f"math.cos({x})", f"math.tanh({x})", f"math.exp(-abs({x}))",
                f"math.sqrt(1.0 + {x} * {x})" if len(x) < 20 else f"math.sqrt(2.0 + math.sin({x}))",
                f"math.log(1.5 + math.tanh({x}))", f"math.atan2({x}, 2.0 + {y} * {y})",
                f"{x} / (1.0 + {y} * {y})", f"({x}) ** 2", f"abs({x})", f"-{x}",
                f"math.exp(math.sin({x}))", f"math.erf({x})", f"(2.0 + math.sin({x})) ** {y}",
            ))  # fmt: skip
        if roll < 0.8:
            return f"{pick(('min', 'max'))}({x}, {self.number(scope, depth - 1)})"
        if roll < 0.86:
            return f"({x} if {self.test(scope)} else {self._leaf(scope)})"
        if roll < 0.91:
            return f"helper({x}, {self._leaf(scope)})"
        return self._special(scope, x)

    def _special(self, scope: Scope, x: str) -> str:
        readable = self._readers(scope)
        choices = [f"f64({n})" for n in scope.ints] or [x]
        if scope.asks:
            choices += [scope.asks.format(x=x, who=self.random.choice(scope.others))] * 3
        if "vectors" in self.features and (owners := readable("v")):
            one, other = self.random.choice(owners), self.random.choice(owners)
            choices += [f"{one}.v.dot({other}.v)", f"({one}.v * {x}).y"]
            choices += [f"oa.length({one}.v + oa.vec2d(0.7, {x} * {x}))"]
        if "values" in self.features and (owners := readable("p")):
            one, other = self.random.choice(owners), self.random.choice(owners)
            choices += [f"{one}.p.mix({x})", f"({one}.p + {other}.p).b"]
        if "properties" in self.features:
            choices.append(f"{self.random.choice(scope.others)}.slope * {x}")
        if "lists" in self.features and scope.lists:
            choices.append(f"{scope.lists[0]}[{self._int(scope)} % 3]")
        return self.random.choice(choices)

    def _readers(self, scope: Scope) -> Callable[[str], tuple[str, ...]]:
        """By field, the references through which it may be read."""

        def of(name: str) -> tuple[str, ...]:
            role = scope.roles.of(name)
            if role == "read":
                return scope.own + scope.others
            return scope.own if role == "own" and scope.own else ()

        return of

    def _leaf(self, scope: Scope) -> str:
        readable = self._readers(scope)
        pick, choices = self.random.choice, [*scope.locals, self.constant()]
        for name in self.floats:
            choices += [f"{pick(owners)}.{name}" for owners in [readable(name)] * 2 if owners]
        choices += [f"self.{name}" for name in scope.fields]
        if "vectors" in self.features and (owners := readable("v")):
            choices.append(f"{pick(owners)}.v.{pick('xy')}")
        if "values" in self.features and (owners := readable("p")):
            choices.append(f"{pick(owners)}.p.{pick('ab')}")
        if "inline arrays" in self.features and (owners := readable("w")):
            choices.append(f"{pick(owners)}.w[{self._place(scope)}]")
        if scope.index:
            for array in "ab":
                if scope.roles.of(array) == "own":
                    choices.append(f"{array}[{scope.index}]")
                elif scope.roles.of(array) == "read":
                    choices.append(
                        f"{array}[({scope.index} + {self.random.randrange(3)}) % len({array})]"
                    )
                    choices.append(f"{array}[0]")
            if scope.roles.of("s") == "read":
                choices.append(f"s[{self.random.choice((0, -1))}]")
        return str(pick(choices))

    def _int(self, scope: Scope) -> str:
        return self.random.choice((*scope.ints, str(self.random.randrange(3))))

    def _place(self, scope: Scope) -> str:
        if scope.ints and self.random.random() < 0.5:
            return f"{self.random.choice(scope.ints)} % {INLINE}"
        return str(self.random.choice((0, 1, 2, -1)))

    def test(self, scope: Scope) -> str:
        roll, pick = self.random.random(), self.random.choice
        if roll < 0.5:
            return f"{self._leaf(scope)} {pick('<>')} {self._leaf(scope)}"
        if roll < 0.7 and scope.ints:
            return f"{pick(scope.ints)} {pick(('<', '==', '>='))} {self.random.randrange(3)}"
        if roll < 0.9 and "isinstance" in self.features:
            return f"isinstance({pick(scope.others)}, {pick(list(self.bases))})"
        return f"{pick(scope.others)} is {pick(scope.own or scope.others)}"

    # ------------------------------------------------------------- statements

    def statements(self, scope: Scope, count: int) -> Lines:
        return [line for _ in range(count) for line in self._statement(scope)]

    def _statement(self, scope: Scope) -> Lines:
        kinds: list[tuple[int, Callable[[Scope], Lines]]] = [(5, self._assign)]
        if scope.writes:
            kinds += [(6, self._store), (3, self._atomic)]
            if "references" in self.features and scope.chosen:
                kinds.append((1, self._choose))
            if scope.kids and "child" in self.features:
                kinds.append((2, self._kid))
        if "lists" in self.features and scope.lists:
            kinds.append((1, self._list))
        if scope.room > 0:
            kinds.append((3, self._if))
            if "loops" in self.features:
                kinds.append((3, self._for))
            if "while" in self.features:
                kinds.append((1, self._while))
        if scope.in_loop and "break" in self.features:
            kinds.append((1, self._leave))
        weights = [weight for weight, _ in kinds]
        return self.random.choices(kinds, weights)[0][1](scope)

    def _assign(self, scope: Scope) -> Lines:
        name, value = self.random.choice(("t0", "t1")), self.number(scope)
        if self.random.random() < 0.4:
            return [f"{name} {self.random.choice('+-')}= {value}"]
        return [f"{name} = {value}"]

    def _bounded(self, scope: Scope) -> str:
        """What is stored: small, so that values do not grow from launch to launch."""
        value = self.number(scope)
        return value if self.random.random() < 0.5 else f"math.sin({value})"

    def _store(self, scope: Scope) -> Lines:
        pick = self.random.choice
        places = [name for name in self.floats if scope.roles.of(name) == "own"]
        kinds: list[str] = ["f"] * 3 if places and scope.own else []
        for name, feature in (("v", "vectors"), ("p", "values"), ("w", "inline arrays")):
            if feature in self.features and scope.roles.of(name) == "own" and scope.own:
                kinds.append(name)
        kinds += ["own"] * len(scope.fields)
        kinds += [array for array in "ab" if scope.index and scope.roles.of(array) == "own"]
        if not kinds:
            return self._assign(scope)
        kind, value = pick(kinds), self._bounded(scope)
        if kind in "ab":
            return [f"{kind}[{scope.index}] {pick(('=', '+=', '*='))} {value}"]
        if kind == "own":
            return [f"self.{pick(scope.fields)} {pick(('=', '+='))} {value}"]
        owner = pick(scope.own)
        if kind == "v":
            both = f"oa.vec2d({value}, {self._leaf(scope)})"
            return pick((
                [f"{owner}.v = {both}"], [f"{owner}.v += {both} * 0.5"],
                [f"{owner}.v = {pick(scope.own)}.v * {self._leaf(scope)} - {both}"],
            ))  # fmt: skip
        if kind == "p":
            pair = f"Pair({value}, {self._leaf(scope)})"
            return [f"{owner}.p = {pick((pair, f'{pick(scope.own)}.p + {pair}'))}"]
        if kind == "w":
            return [f"{owner}.w[{self._place(scope)}] {pick(('=', '+=', '*='))} {value}"]
        return [f"{owner}.{pick(places)} {pick(('=', '=', '+=', '-=', '*='))} {value}"]

    def _atomic(self, scope: Scope) -> Lines:
        pick = self.random.choice
        targets = [
            f'{pick(scope.own + scope.others)}, "{name}"'
            for name in self.floats
            if scope.roles.of(name) == "sum"
        ]
        if scope.index:
            targets += [
                f"{array}, ({scope.index} * 2 + 1) % len({array})"
                for array in "abs"
                if scope.roles.of(array) == "sum"
            ]
        if "inline atomics" in self.features and scope.roles.of("w") == "sum":
            targets.append(f"{pick(scope.others)}.w, {self.random.randrange(INLINE)}")
        if not targets:
            return self._store(scope)
        return [f"oa.atomic_{pick(('add', 'add', 'sub'))}({pick(targets)}, {self.number(scope)})"]

    def _choose(self, scope: Scope) -> Lines:
        first, second = self.random.choice(scope.own), self.random.choice(scope.own)
        return [f"{scope.chosen[0]} = {first} if {self.test(scope)} else {second}"]

    def _kid(self, scope: Scope) -> Lines:
        return [scope.kids.format(x=self.number(scope, 1))]

    def _list(self, scope: Scope) -> Lines:
        return [f"{scope.lists[0]}[{self._int(scope)} % 3] = {self.number(scope, 1)}"]

    def _if(self, scope: Scope) -> Lines:
        inner = scope.deeper()
        lines = [f"if {self.test(scope)}:"]
        lines += indent(self.statements(inner, self.random.randint(1, 3)))
        if self.random.random() < 0.5:
            lines += ["else:", *indent(self.statements(inner, self.random.randint(1, 2)))]
        return lines

    def _for(self, scope: Scope) -> Lines:
        self.made += 1
        name = f"j{self.made}"
        bounds = self.random.choice(("3", "2", scope.ints[0] if scope.ints else "2", "1, 7, 2"))
        inner = scope.deeper(ints=(*scope.ints, name), in_loop=True)
        body = self.statements(inner, self.random.randint(1, 3))
        return [f"for {name} in range({bounds}):", *indent(body)]

    def _while(self, scope: Scope) -> Lines:
        self.made += 1
        count = f"c{self.made}"
        body = self.statements(scope.deeper(in_loop=False), self.random.randint(1, 2))
        step = f"t0 = t0 * 0.6 + {self._leaf(scope)} * 0.1"
        head = f"while {count} < 4 and t0 > {self.constant()}:"
        return [f"{count} = 0", head, *indent([*body, step, f"{count} += 1"])]

    def _leave(self, scope: Scope) -> Lines:
        return [f"if {self.test(scope)}:", f"    {self.random.choice(('break', 'continue'))}"]

    # ------------------------------------------------------ methods, functions

    def functions(self) -> Lines:
        scope = Scope(Roles({}), (), ("nobody",), ("x", "y"))
        plain = Bodies(self.random, frozenset(), [], self.bases, self.own, True)
        value = plain.number(scope, 2)
        while "nobody" in value or "helper" in value:
            value = plain.number(scope, 2)
        first = ["if x > y:", "    return x * 0.5 - y"] if self.random.random() < 0.5 else []
        return [
            "@oa.func", "def helper(x: f64, y: f64) -> f64:",
            *indent([*first, f"return {value}"]), "",
        ]  # fmt: skip

    def asking(self, number: int, roles: Roles, cls: str, recursive: bool) -> Lines:
        """A method that reads what nobody writes, and calls itself on others."""
        more = ", depth: i32" if recursive else ""
        lines = [f"def ask{number}(self, x: f64{more}) -> f64:"]
        if self.random.random() < 0.15:
            return [*lines, f"    return {self.constant()}"]
        roles = Roles({n: "no" if r != "read" else r for n, r in roles.found.items()})
        scope = Scope(
            roles, (), ("self", "self.peer", "self.me.peer"), ("x",), ("self.n",),
            writes=False, room=1,
        )  # fmt: skip
        body = [f"t0 = {self.number(scope)}", "t1 = x"]
        scope = replace(scope, locals=("t0", "t1", "x"))
        body += self.statements(scope, self.random.randint(0, 2))
        if recursive:
            call = f"self.peer.ask{number}(math.sin(t0), depth - 1)"
            body += ["if depth > 0:", f"    t1 += t0 * {call}"]
        return [*lines, *indent([*body, "return t0 * 0.5 + t1"])]

    def of_child(self, number: int, roles: Roles, cls: str, recursive: bool) -> Lines:
        """A method that changes an object which belongs to the thread."""
        scope = self._scope(number, roles, cls, ("self", "self.me"), kids=False, depth=recursive)
        count = self.random.randint(0, 2)
        body = ["t0 = k", "t1 = 0.5", *self.statements(scope, count), "t0 += t1"]
        return [f"def kid{number}(self, k: f64) -> None:", *indent(body)]

    def turn(self, number: int, roles: Roles, cls: str, family: Any) -> Lines:
        """What a launch calls."""
        head = f"def turn{number}(self, k: f64) -> f64:"
        if cls != "Root" and self.random.random() < 0.1:
            return [head, f"    return {self.constant()}"]
        own = ["self", "self.me"]
        with_child = "child" in self.features and not family.is_population
        if with_child:
            own += ["self.child", "self.child.child", "self.me.child"]
        scope = self._scope(number, roles, cls, tuple(own), kids=with_child, depth=family.depth)
        if "references" in self.features:
            scope = replace(scope, chosen=("q",), own=(*scope.own, "q"))
        if "lists" in self.features and self.random.random() < 0.5:
            scope = replace(scope, lists=("z",))
        body = ["t0 = k", f"t1 = {self.constant()}"]
        body += [f"q: Root = {self.random.choice(own)}"] * bool(scope.chosen)
        body += ["z = [f64(0.0), k, t1]"] * bool(scope.lists)
        count = self.random.randint(1, 2) if self.is_small else self.random.randint(2, 5)
        for place in range(count):
            body += self.statements(scope, 1)
            if place and "early return" in self.features and self.random.random() < 0.1:
                body += [f"if {self.test(scope)}:", f"    return {self.number(scope, 1)}"]
        if cls != "Root" and "super" in self.features and self.random.random() < 0.4:
            body.append(f"t1 += super().turn{number}(t0 * 0.5)")
        return [head, *indent([*body, f"return {self.number(scope, 1)} + t0"])]

    def _scope(
        self, number: int, roles: Roles, cls: str, own: tuple[str, ...], *, kids: bool,
        depth: bool = False,
    ) -> Scope:  # fmt: skip
        fields: list[str] = []
        at: str | None = cls
        while at is not None:
            fields += self.own[at]
            at = self.bases[at]
        last = ", 2" if depth else ""
        return Scope(
            roles, own, ("self", "self.peer", "self.peer.peer", "self.me.peer"),
            ints=("self.n",), fields=tuple(fields),
            asks=f"{{who}}.ask{number}({{x}}{last})" if kids or not own[2:] else "",
            kids=f"self.child.kid{number}({{x}})" if kids else "",
        )  # fmt: skip

    def kernel(self, number: int, roles: Roles) -> Lines:
        """A kernel that calls the method of each object, before and after statements of its own."""
        arrays = ", ".join(f"{name}: oa.Array[f64]" for name in "abs")
        own = ("o", "o.me")
        scope = Scope(
            roles, own, ("o", "o.peer", "o.peer.peer"), ints=("o.n", "i"), index="i", room=1
        )
        body = ["i = oa.grid(1)", "o = objects[i]", "t0 = k", "t1 = 1.0"]
        body += self.statements(scope, self.random.randint(0, 2))
        body += [f"t0 += o.turn{number}({self.number(scope, 1)})"]
        body += self.statements(scope, self.random.randint(1, 3))
        head = f"def kernel{number}(objects: oa.Array[Root], {arrays}, k: f64) -> None:"
        return ["@oa.kernel", head, *indent(body)]

"""Random programs whose methods make and end objects, and the same without sharedoa.

What an object does is in its field ``plan``, so that objects of one class differ. Threads write to
what is theirs alone: the object of the thread, and what it has just made. Several may end the same
object; how often that succeeded is counted, not who did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import sharedoa as oa
from sharedoa.heap.living import reserve
from sharedoa.heap.moving import compact, sort

from ..source_files import load_module
from . import plain
from .small_steps import small_steps

_MOST_BEINGS = 24
_CHILDREN = 32
"""Numbers of children that an object may have in one call."""

_KERNELS = """
@oa.kernel
def act_each(beings: oa.Array[Being], counts: oa.Array[i32], turn: i32):
    i = oa.grid(1)
    if i < len(beings):
        beings[i].act(GIVEN)
        oa.atomic_add(counts, 1, 1)

@oa.kernel
def act_in_rows(beings: oa.Array[Being], counts: oa.Array[i32], turn: i32):
    x, y = oa.grid(2)
    nx, ny = oa.gridsize(2)
    i = y * nx + x
    if i < len(beings):
        beings[i].act(GIVEN)
        oa.atomic_add(counts, 1, 1)

"""
_FUNCTIONS = """
@oa.func
def number_of(parent: i64, turn: i32, child: i32) -> i64:
    return (parent * 8 + turn) * 32 + child

@oa.func
def drop(being: Being | None, counts: oa.Array[i32]) -> None:
    if oa.delete(being):
        oa.atomic_add(counts, 0, 1)

@oa.func
def spawn(parent: Being, turn: i32, child: i32, plan: i32) -> Being:
    made = oa.new(Being0, id=number_of(parent.id, turn, child), plan=plan, friend=parent)
    made.marks[1] = turn
    return made
"""
_LEAVING = """
    def forget(self) -> None:
        if not oa.is_alive(self.friend):
            self.friend = None
    def go(self, counts: oa.Array[i32]) -> None:
        drop(self, counts)
        self.leave_later(counts, 1)
    def leave_later(self, counts: oa.Array[i32], far: i32) -> None:
        if far > 0:
            self.leave_later(counts, far - 1)
        elif self.plan % 3 == 0:
            drop(self, counts)
""".splitlines()
MOST_TURNS = 5
"""Numbers of objects have 62 bits, and of turns 3."""


class _Form(NamedTuple):
    """The parameters of the methods that make and end objects, and how these are called."""

    parameters: str
    calls: tuple[str, ...]


_FORMS = (
    _Form(
        "counts: oa.Array[i32], turn: i32",
        ("counts, turn", "counts, turn=turn", "turn=turn, counts=counts"),
    ),
    _Form("counts: oa.Array[i32], /, turn: i32 = 3", ("counts, turn", "counts, turn=turn")),
    _Form("counts: oa.Array[i32], *, turn: i32", ("counts, turn=turn", "turn=turn, counts=counts")),
    _Form("*, counts: oa.Array[i32], turn: i32 = 2", ("turn=turn, counts=counts",)),
    _Form("counts: oa.Array[i32], turn: i32, /", ("counts, turn",)),
)


@dataclass
class Source:
    """A program as text, and the names of its classes but the root; whether room for what it makes
    is to be reserved."""

    text: str
    classes: list[str]
    is_open: bool
    calls: tuple[str, ...]


class _Writer:
    """Methods of one class. ``can_end``: objects may be ended by others; else they may ask whether
    they live themselves. ``is_open``: they make numbers of objects that nobody knows before.
    ``makes``: they make some at all."""

    def __init__(
        self,
        random: Random,
        classes: Sequence[str],
        can_end: bool,
        is_open: bool,
        makes: bool = True,
    ) -> None:
        self._random, self._classes, self._can_end = random, classes, can_end
        self._is_open, self._makes = is_open, makes
        self._children = 0
        self._lines: list[str] = []

    def method(self, signature: str, depth: int = 2) -> list[str]:
        self._lines = []
        self._block("        ", depth)
        return [f"    def {signature}:", *self._lines]

    def _block(self, indent: str, depth: int) -> None:
        for _ in range(self._random.randint(1, 3)):
            self._statement(indent, depth)

    def _statement(self, indent: str, depth: int) -> None:
        pick = self._random.randrange(10)
        if self._children >= _CHILDREN - 4:
            pick = 3
        add = lambda text: self._lines.append(indent + text)
        if not (self._makes or pick in (3, 6, 7) or (pick in (4, 5) and depth)):
            self._end(indent)
        elif pick < 3:
            self._birth(indent)
        elif pick == 3:
            add(f"self.energy += {self._random.randint(-3, 3)}")
        elif pick < 6 and depth:
            add(f"if self.plan & {1 << self._random.randrange(8)}:")
            self._block(indent + "    ", depth - 1)
            if self._random.random() < 0.4:
                add("else:")
                self._block(indent + "    ", depth - 1)
        elif pick == 6 and self._can_end:
            add("if oa.delete(self.friend):")
            add("    oa.atomic_add(counts, 0, 1)")
        elif pick == 6:
            add("self.energy += 100 if oa.is_alive(self) else 1000")
        elif pick == 7:
            add(f"if self.plan & {1 << self._random.randrange(8)}:")
            add("    if oa.delete(self):")
            add("        oa.atomic_add(counts, 0, 1)")
            if self._random.random() < 0.5:
                add("    return")
        elif pick == 8:
            number, plan = self._child(), self._plan()
            add(f"spawned = spawn(self, turn, {number}, {plan})")
            add(f"spawned.energy = self.energy + {self._random.randint(0, 9)}")
        else:
            count = self._random.randint(1, 3)
            name, first = self._random.choice(self._classes), self._child(count)
            rounds = f"min(self.plan % 4, {count})" if self._is_open else f"{count}"
            add(f"for k in range({rounds}):")
            own = f"number_of(self.id, turn, {first} + k)"
            made = f"oa.new({name}, id={own}, plan={self._plan()})"
            if not self._is_open:
                add(f"    {made}")
                return
            add(f"    grown: Being = {made}")
            add("    grown.friend = self.friend")
            if not self._can_end and self._random.random() < 0.3:
                add("    if k % 2 and oa.delete(grown):")
                add("        continue")
            add("    self.friend = grown")

    def _end(self, indent: str) -> None:
        """An end in a function, in another method, in a loop or of one object or another."""
        random = self._random
        other = "self.friend" if self._can_end and random.random() < 0.5 else "self"
        drop = random.choice(["drop({}, counts)", "drop(counts=counts, being={})"])
        bit = f"self.plan & {1 << random.randrange(8)}"
        lines = random.choice(
            [
                [drop.format(other)],
                [f"if {bit}:", "    self.go(counts)"],
                [
                    f"for k in range(self.plan % {random.randint(2, 4)}):",
                    f"    if (self.plan >> k) & {random.choice([1, 2, 5])}:",
                    f"        {drop.format(other)}",
                ],
                [f"one = self if {bit} else {other}", drop.format("one")],
                [
                    f"if isinstance(self, {random.choice(self._classes)}):",
                    f"    {drop.format(other)}",
                    *["    return"] * random.randrange(2),
                ],
                [f"self.leave_later(counts, {random.randint(0, 2)})"],
            ]
        )
        self._lines += [indent + line for line in lines]

    def _birth(self, indent: str) -> None:
        name = self._random.choice(self._classes)
        made = f"id=number_of(self.id, turn, {self._child()}), plan={self._plan()}"
        form = self._random.choice(["oa.new({}, {})", "{}({})"]).format(name, made)
        after = self._random.randrange(4)
        if after == 0:
            self._lines.append(indent + form)
            return
        self._lines.append(f"{indent}child = {form}")
        if after == 1:
            self._lines.append(f"{indent}self.friend = child")
        elif after == 2:
            self._lines.append(f"{indent}child.energy = turn")
            self._lines.append(f"{indent}child.friend = self.friend")
        elif not self._can_end:
            self._lines.append(f"{indent}if oa.is_alive(child) and oa.delete(child):")
            self._lines.append(f"{indent}    self.energy += 7")

    def _child(self, count: int = 1) -> int:
        self._children += count
        return self._children - count

    def _plan(self) -> str:
        return self._random.choice(["self.plan // 2", "self.plan * 3 % 256", "turn * 37 % 256"])


def make_source(seed: int) -> Source:
    """Three to five classes, whose ``act`` may make objects of each other."""
    random, later = Random(seed), Random(f"{seed} later")
    form = later.choice(_FORMS)
    classes = [f"Being{number}" for number in range(random.randint(2, 4))]
    can_end, is_open = random.random() < 0.5, random.random() < 0.5
    lines = ["class Being(oa.Object):", "    id: i64", "    plan: i32", "    energy: i32"]
    lines += ["    friend: Being | None", "    marks: oa.inline[i32, 3]"]
    lines += [f"    def act(self, {form.parameters}) -> None: ..."]
    lines += _LEAVING
    leaving = "leave(self, counts: oa.Array[i32]) -> None"
    lines += _Writer(later, classes, can_end, is_open, makes=False).method(leaving)
    initialised: set[str] = set()
    for number, name in enumerate(classes):
        base = random.choice(["Being", *classes[:number]])
        lines += ["", f"class {name}({base}):"]
        if random.random() < 0.5:
            lines.append(f"    extra{number}: {random.choice(['i8', 'f64', 'i32'])}")
        if random.random() < 0.3:
            lines += _initialiser(random, later, base in initialised)
            initialised.add(name)
        elif base in initialised:
            initialised.add(name)
        writer = _Writer(random, classes, can_end, is_open)
        lines += writer.method(f"act(self, {form.parameters}) -> None")
        if later.random() < 0.5:
            lines += _Writer(later, classes, can_end, is_open, makes=False).method(leaving)
    kernels = _KERNELS.replace("GIVEN", later.choice(form.calls))
    text = "\n".join(lines) + "\n" + kernels + _FUNCTIONS
    return Source(text, classes, is_open, form.calls)


def _initialiser(random: Random, later: Random, is_below: bool) -> list[str]:
    """What ``id=, plan=, friend=`` are given to, by those that make objects, here and below. A
    class above has one, too, if it ``is_below``."""
    calls = ["super().__init__(id, plan ^ 3)", "super().__init__(id=id, friend=friend, plan=plan)"]
    body = [random.choice(calls if is_below else ["super().__init__()"])]
    body *= random.randrange(2)
    body += ["self.id = id", f"self.plan = plan + {random.randint(0, 9)} & 255"]
    body += random.sample(
        ["self.friend = friend", "self.energy += id % 7", "self.marks[2] = plan",
         "if plan & 1:\n            return", "self.plan ^= 1 if self.friend is None else 2"],
        random.randint(1, 4),
    )  # fmt: skip
    named = later.choice(["", "*, "])
    friend = f"{named}friend: Being | None = None"
    signature = f"def __init__(self, id: i64, plan: i32 = 9, {friend}) -> None:"
    return [f"    {signature}", *(f"        {line}" for line in body)]


# ------------------------------------------------------------------ without sharedoa


class PlainBeings:
    """The objects of a program that runs without sharedoa."""

    def __init__(self, source: Source) -> None:
        #: By their numbers.
        self.living: dict[int, Any] = {}
        self._born: list[Any] = []
        self._ended: list[Any] = []
        here = self

        class Object(plain.Object):
            def __new__(cls, **fields: Any) -> Any:
                # CPython calls ``__init__`` itself.
                return here.blank(cls) if _begins(cls) else here.new(cls, **fields)

        def atomic_add(array: Any, place: int, value: int) -> None:
            array[place] += value

        own = {"Object": Object, "new": self.new, "delete": self.delete, "atomic_add": atomic_add}
        oa = SimpleNamespace(**{**vars(plain.OA), **own}, is_alive=self.is_alive)
        names = {**plain.NAMES, "oa": oa, "__annotations__": {}}
        exec("from __future__ import annotations\n" + source.text.split("@oa.kernel")[0], names)
        exec("from __future__ import annotations\n" + _FUNCTIONS, names)
        self._classes = {name: names[name] for name in source.classes}

    def new(self, cls: Any, **fields: Any) -> Any:
        made = self.blank(cls)
        if _begins(cls):
            made.__init__(**fields)
        else:
            for name, value in fields.items():
                setattr(made, name, value)
        return made

    def blank(self, cls: Any) -> Any:
        made = object.__new__(cls)
        for name, annotation in cls.annotations.items():
            zero: Any = None if annotation == "Being | None" else plain.convert(0, annotation)
            if annotation.startswith("oa.inline"):
                zero = plain.InlineArray("i32", [0] * 3)
            object.__setattr__(made, name, zero)
        self._born.append(made)
        return made

    def delete(self, obj: Any) -> bool:
        if not self.is_alive(obj):
            return False
        self._ended.append(obj)
        return True

    def is_alive(self, obj: Any) -> bool:
        is_there = any(obj is each for each in (*self._born, *self.living.values()))
        return is_there and obj not in self._ended

    def create(self, name: str, number: int, plan: int) -> None:
        self.new(self._classes[name], id=number, plan=plan)
        self._settle()

    def remove(self, number: int) -> None:
        del self.living[number]
        self._settle()

    def launch(
        self, order: Sequence[int], each: Callable[[Any, Any], None]
    ) -> tuple[list[Any], int]:
        """What was born and lives, in the order of the threads; how often objects were ended."""
        counts = [0]
        for number in order:
            each(self.living[number], counts)
        return self._settle(), counts[0]

    def below(self, name: str) -> list[int]:
        """The objects of a class and those below."""
        cls = self._classes.get(name, object)
        return [number for number, each in self.living.items() if isinstance(each, cls)]

    def _settle(self) -> list[Any]:
        born = [each for each in self._born if each not in self._ended]
        self.living = {n: each for n, each in self.living.items() if each not in self._ended}
        self.living.update((int(each.id), each) for each in born)
        self._born, self._ended = [], []
        there = {id(each) for each in self.living.values()}
        for each in self.living.values():
            if id(each.friend) not in there:
                each.friend = None
        return born


# ------------------------------------------------------------------ both


class Play:
    """One program, here and without sharedoa, on one heap."""

    def __init__(self, source: Source, module: Any, heap: oa.Heap, captures: bool) -> None:
        self._source, self._module, self._heap, self._captures = source, module, heap, captures
        self._plain = PlainBeings(source)
        self._numbers = iter(range(1, 64))
        self._counts = heap.zeros(2, oa.i32)
        #: Captured steps that end objects, by the class whose objects they call.
        self._steps: dict[str, Any] = {}
        if source.is_open:
            for name in source.classes:
                reserve(heap, getattr(module, name), _MOST_BEINGS * _CHILDREN)

    def order(self) -> dict[str, list[int]]:
        """The objects of exactly each class, as populations have them."""
        found: dict[str, list[int]] = {name: [] for name in self._source.classes}
        for being in self._heap.all(self._module.Being):
            found[type(being).__name__].append(int(being.id))
        return found

    def step(self, random: Random, turn: int) -> None:
        self._create(random)
        self._remove(random)
        before = self.order()
        if random.random() < 0.3 and self._heap.mode.placement == "by_type":
            self._move(random, before)
            before = self.order()
        order = [number for name in self._source.classes for number in before[name]]
        form = random.randrange(3)
        if form:
            random.shuffle(order)
        there = self._by_number()
        self._unlink(there)
        self._counts[0] = 0
        beings = self._heap.array(self._module.Being, [there[number] for number in order])
        is_captured, rows = random.random() < 0.3, (random.randint(1, 4), len(order))

        call = Random(turn).choice(self._source.calls)
        act = lambda being, counts: _called(being.act, call, counts, turn)

        def launch() -> None:
            if form == 0:
                act(self._heap.all(self._module.Being), self._counts)
            elif order and form == 1:
                self._module.act_each[len(order) + 3](beings, self._counts, turn)
            elif order:
                self._module.act_in_rows[rows](beings, self._counts, turn)

        if is_captured and self._captures:
            with oa.Capture(self._heap) as step:
                launch()
            step.run()
        else:
            launch()
        born, ended = self._plain.launch(order, act)
        assert int(self._counts[0]) == ended
        self._compare(before, born)

    def leave(self, random: Random) -> None:
        """Some end, in steps that are captured once, with what the host does between runs."""
        name = random.choice(["Being", "Being", *self._source.classes])
        for _ in range(random.randint(1, 3)):
            before = self.order()
            self._counts[0] = 0
            if self._captures and name not in self._steps:
                with oa.Capture(self._heap) as self._steps[name]:
                    self._leave(name)
            if self._captures:
                self._steps[name].run()
            else:
                self._leave(name)
            there = lambda being, counts: being.leave(counts)
            _, ended = self._plain.launch(self._plain.below(name), there)
            assert int(self._counts[0]) == ended
            self._compare(before, [])
            if random.random() < 0.7:
                self._create(random)
            if random.random() < 0.3:
                self._remove(random)
                self._unlink(self._by_number())
            if random.random() < 0.2 and self._heap.mode.placement == "by_type":
                self._move(random, self.order())

    def _leave(self, name: str) -> None:
        self._heap.all(getattr(self._module, name)).leave(self._counts)
        self._heap.all(self._module.Being).forget()

    def _create(self, random: Random) -> None:
        for name in random.choices(self._source.classes, k=random.randint(0, 5)):
            number, plan = next(self._numbers), random.randrange(256)
            self._plain.create(name, number, plan)
            oa_class = getattr(self._module, name)
            with self._heap:
                self._heap.new(oa_class, id=number, plan=plan)

    def _move(self, random: Random, before: dict[str, list[int]]) -> None:
        """Give objects other places: they keep their order, or get one by their numbers."""
        if random.random() < 0.6:
            compact(self._heap, random.choice([None, self._module.Being, self._module.Being0]))
            assert self.order() == before
            return
        population = self._heap.all(self._module.Being)
        sort(self._heap, population, [-int(each.id) for each in population])
        assert self.order() == {name: sorted(ids)[::-1] for name, ids in before.items()}

    def _remove(self, random: Random) -> None:
        living = [*self._plain.living]
        there = self._by_number()
        count = max(len(living) - _MOST_BEINGS, min(len(living), random.randint(0, 2)))
        for number in random.sample(living, count):
            self._plain.remove(number)
            self._heap.delete(there[number])

    def _by_number(self) -> dict[int, Any]:
        return {int(being.id): being for being in self._heap.all(self._module.Being)}

    def _unlink(self, there: dict[int, Any]) -> None:
        """References to what is gone may lead to another object by now."""
        for number, being in self._plain.living.items():
            if being.friend is None:
                there[number].friend = None

    def _compare(self, before: dict[str, list[int]], born: list[Any]) -> None:
        there = self._by_number()
        assert there.keys() == self._plain.living.keys()
        self._unlink(there)
        for number, being in self._plain.living.items():
            found = there[number]
            assert type(found).__name__ == type(being).__name__
            assert (found.plan, found.energy) == (being.plan, being.energy), number
            assert list(found.marks) == list(being.marks)
            friends = [
                None if each.friend is None else int(each.friend.id) for each in (found, being)
            ]
            assert friends[0] == friends[1]
        # Who was there keeps the order, and new ones stand in that of the threads.
        new = [int(each.id) for each in born]
        for name, order in self.order().items():
            kept = [number for number in before[name] if number in there]
            assert [number for number in order if number in kept] == kept
            own = [number for number in new if number in order]
            assert [number for number in order if number in own] == own


def _called(method: Any, call: str, counts: Any, turn: int) -> None:
    eval(f"method({call})", {"method": method, "counts": counts, "turn": turn})


def _begins(cls: Any) -> bool:
    """Whether the class has an ``__init__``."""
    return any("__init__" in vars(each) for each in cls.__mro__ if each.__name__[:5] == "Being")


def play_source(
    folder: Path, seed: int, heap: oa.Heap, captures: bool = True
) -> list[dict[str, list[int]]]:
    """Play a history of the program of a seed. ``captures``: whether some launches are captured
    steps, in which nothing moves by itself."""
    source = make_source(seed)
    return play(source, load_module(folder, source.text), heap, seed, captures)


def play(
    source: Source, module: Any, heap: oa.Heap, seed: int, captures: bool = True
) -> list[dict[str, list[int]]]:
    """Play a history; the objects after each turn."""
    random, later, game = (
        Random(seed),
        Random(f"{seed} later"),
        Play(source, module, heap, captures),
    )
    found = []
    with small_steps(seed):
        for turn in range(1, MOST_TURNS + 1):
            game.step(random, turn)
            found.append(game.order())
            game.leave(later)
            found.append(game.order())
    return found

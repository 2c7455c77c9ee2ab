"""Faults in who makes objects in turn, as the numbers of threads say."""

from .mutation import Mutation

_TURNS = "sharedoa/ir/birth_turns.py"
_CASES = ("tests/ir/test_birth_turns.py",)
_PLACES = ("tests/dispatch/test_births.py",)
_RANDOM = ("tests/differential/test_birth_turns.py::test_places_of_random_kernels",)
_ROOM = ("tests/runtime/test_population_room.py::test_who_takes_turns_has_no_more_room_than_that",)

MUTATIONS = (
    Mutation(
        "numbers of threads never wrap",
        _TURNS,
        "return line if low <= min(self._ends(line)) and max(self._ends(line)) <= high else None",
        "return line if low <= min(self._ends(line)) else None",
        "threads that make objects have no place, others have theirs",
        _CASES,
    ),
    Mutation(
        "threads that leave early make objects",
        _TURNS,
        'operation.kind in ("new", "return") or',
        'operation.kind == "new" or',
        "places are kept for objects that nobody makes",
        _CASES,
    ),
    Mutation(
        "values of who is called stay in its caller",
        _TURNS,
        "self._lines = dict(zip(callee.parameters, given, strict=True))",
        "self._lines.update(zip(callee.parameters, given, strict=True))",
        "a test has the answer of another function",
        _CASES,
    ),
    Mutation(
        "two numbers that cross are never equal",
        _TURNS,
        'is_between = operation["operator"] in ("eq", "ne") and len(signs) > 1',
        "is_between = False",
        "who makes an object has no place",
        _CASES,
    ),
    Mutation(
        "one of two ways that nobody knows",
        _TURNS,
        "ends = [self._run(region)[0] for region in operation.regions]",
        "ends = [self._run(region)[0] for region in operation.regions[:1]]",
        "threads that make objects have no place",
        _CASES,
    ),
    Mutation(
        "who leaves early on some ways makes nothing",
        _TURNS,
        "return is_if and all(ends), []",
        "return is_if and any(ends), []",
        "threads that make objects have no place",
        _CASES,
    ),
    Mutation(
        "what is called returns what it returns last",
        _TURNS,
        "if len(called) > 1 or self._may_have_left:",
        "if len(called) > 1:",
        "threads that make objects have no place",
        _CASES,
    ),
    Mutation(
        "a method is that of the first candidate",
        _TURNS,
        "        for symbol in called:",
        "        for symbol in called[:1]:",
        "threads that make objects have no place",
        _CASES,
    ),
    Mutation(
        "the numbers that were looked at are forgotten",
        _TURNS,
        "            self.used.add(place)\n",
        "",
        "a launch has the places of one with other arguments",
        _RANDOM,
    ),
    Mutation(
        "threads without a place take one",
        "dispatch/births.py",
        "return builder.select(has_one, place, I64(-1))",
        "return place",
        "two objects in one place",
        _PLACES,
    ),
    Mutation(
        "turns begin again with each period",
        "dispatch/births.py",
        "place = builder.add(first, builder.zext(rank, I64))",
        "place = builder.zext(rank, I64)",
        "two objects in one place",
        _PLACES,
    ),
    Mutation(
        "CPython knows no turns",
        "sharedoa/heap/births.py",
        "return None if made else self.turns.number(thread)",
        "return thread * self.step + made",
        "objects of CPython have other places, or none",
        _ROOM,
    ),
    Mutation(
        "where captured steps list ranks",
        "sharedoa/heap/births_by_class.py",
        'entry["ranks"], ranked = base + ranked, ranked + len(own)',
        'entry["ranks"] = base + ranked',
        "a class has the turns of another",
        _ROOM,
    ),
    Mutation(
        "where others that are placed one by one list ranks",
        "sharedoa/heap/births_one_by_one.py",
        'entry["ranks"], ranked = base + ranked, ranked + len(ranks)',
        'entry["ranks"] = base',
        "threads take what is no rank",
        _ROOM,
    ),
    Mutation(
        "a launch has places for all threads",
        "sharedoa/heap/births.py",
        "return turns[cls].count(threads) if cls in turns else threads * each",
        "return threads * each",
        "lists of places that nobody takes",
        _ROOM,
    ),
    Mutation(
        "a planned launch has places for all threads",
        "sharedoa/runtime/population_plan.py",
        "return threads * self.made[cls] if turns is None else turns.count(threads)",
        "return threads * self.made[cls]",
        "lists of places that nobody takes",
        _ROOM,
    ),
    Mutation(
        "who makes no objects needs room for some",
        "sharedoa/runtime/surroundings.py",
        "            if most:\n",
        "            if most >= 0:\n",
        "each run of a captured step looks at the heap",
        ("tests/runtime/test_population_room.py::test_classes_of_which_nothing_is_made",),
    ),
)

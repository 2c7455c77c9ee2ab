"""Random histories of a heap against a naive model of it."""

import itertools

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import sharedoa as oa
from tests.differential.effort import examples

from .conftest import MODES
from .shapes import Circle, Empty, Ring, Shape, Square

CLASSES = (Circle, Square, Ring, Empty)
a_class = st.sampled_from(CLASSES)
a_count = st.one_of(st.integers(0, 6), st.integers(0, 300))


class HeapMachine(RuleBasedStateMachine):
    """``model`` maps each live reference to its class and number (None for Empty)."""

    @initialize(
        kind=st.sampled_from([(mode, "aos") for mode in MODES] + [("auto", "tile")] * 3),
        initial=st.sampled_from([1, 4, 32]),
        debug=st.booleans(),
    )
    def start(self, kind, initial, debug):
        self.heap = oa.Heap(
            kind[0], "cpu", kind[1], capacity="32MiB", initial_region=initial, debug=debug
        )
        self.model = {}
        self.dead = []
        #: Addresses of deleted objects that debug mode does not give out again.
        self.withheld = set()
        self.next_number = 0

    def remember(self, python_class, references, numbers):
        for reference, number in zip(references, numbers, strict=True):
            assert reference not in self.model, "a live object's place was given out again"
            assert self.heap.encoding.address(reference) not in self.withheld
            self.model[reference] = (python_class, number)

    def numbers(self, count):
        self.next_number += count
        return list(range(self.next_number - count, self.next_number))

    @rule(python_class=a_class)
    def allocate(self, python_class):
        if python_class is Empty:
            self.remember(Empty, [self.heap.reference(self.heap.new(Empty))], [None])
            return
        (number,) = self.numbers(1)
        made = self.heap.new(python_class, number=number)
        self.remember(python_class, [self.heap.reference(made)], [number])
        assert made.next is None

    @rule(python_class=a_class, count=a_count)
    def allocate_many(self, python_class, count):
        if python_class is Empty:
            made = self.heap.new(Empty, count)
            self.remember(Empty, made.references().tolist(), [None] * count)
            return
        numbers = self.numbers(count)
        made = self.heap.new(python_class, count, number=numbers)
        self.remember(python_class, made.references().tolist(), numbers)
        assert not made.next.references().any(), "unnamed fields are null, also in reused slots"

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete_some(self, data):
        # Places in the model, not addresses: hypothesis must draw the same again in a second run.
        places = st.integers(0, len(self.model) - 1)
        live = list(self.model)
        chosen = [live[i] for i in data.draw(st.lists(places, unique=True, max_size=40))]
        self.heap.delete([self.heap.wrap(reference) for reference in chosen])
        self.forget(chosen)

    @rule(python_class=a_class, start=st.floats(0, 1), stop=st.floats(0, 1))
    def delete_a_stretch(self, python_class, start, stop):
        every = self.heap.all(python_class).references()
        chosen = every[int(start * len(every)) : int(stop * len(every))].tolist()
        cls = self.heap.reference_type(python_class.__sharedoa__)
        self.heap.delete(self.heap.array_of(cls, np.array(chosen, np.uint64)))
        self.forget(chosen)

    @rule(python_class=a_class)
    def delete_all(self, python_class):
        chosen = self.heap.all(python_class).references().tolist()
        self.heap.delete(self.heap.all(python_class))
        self.forget(chosen)

    def forget(self, references):
        for reference in references:
            del self.model[reference]
            if self.heap.debug:
                self.withheld.add(self.heap.encoding.address(reference))
        self.dead = references[:5]

    @precondition(lambda self: self.dead)
    @rule()
    def use_the_dead(self):
        for reference in self.dead:
            if reference not in self.model:
                with pytest.raises(oa.HeapError):
                    self.heap.wrap(reference)

    @rule(python_class=a_class)
    def ask_for_too_much(self, python_class):
        with pytest.raises(oa.HeapError):
            self.heap.new(python_class, 3_000_000)
        self.withheld.clear()  # as far as there was room, it was given to objects

    @rule(python_class=st.sampled_from((Shape, Circle)))
    def renumber(self, python_class):
        every = self.heap.all(python_class)
        every.number += 1000
        for reference in every.references().tolist():
            owner, number = self.model[reference]
            self.model[reference] = owner, number + 1000

    @rule()
    def launch_and_wait(self):
        self.heap.launch_state()
        self.heap.note_launch()
        self.heap.synchronize()

    @invariant()
    def every_object_is_found_once(self):
        for python_class in CLASSES:
            expected = {
                r for r, (owner, _) in self.model.items() if issubclass(owner, python_class)
            }
            found = self.heap.all(python_class).references().tolist()
            assert len(found) == len(expected) == len(self.heap.all(python_class))
            assert set(found) == expected
        for reference in list(self.model)[:: max(1, len(self.model) // 5)]:
            assert type(self.heap.wrap(reference)) is self.model[reference][0]

    @invariant()
    def every_field_is_as_it_was_left(self):
        shapes = self.heap.all(Shape)
        expected = [self.model[reference][1] for reference in shapes.references().tolist()]
        assert shapes.number.numpy().tolist() == expected

    @invariant()
    def regions_hold_what_they_should(self):
        stats = self.heap.stats()
        assert stats.objects == len(self.model)
        if self.heap.mode.placement == "scattered":
            return
        ranges = self.heap.ranges()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
        owners = {}
        addresses = self.heap.encoding.address(np.array(list(self.model), np.uint64))
        for start, end, python_class in ranges:
            size = self.heap.layout.record(python_class.__sharedoa__).size
            inside = addresses[(start <= addresses) & (addresses + 4 <= end)]
            held = any(start <= address < end for address in self.withheld)
            assert len(inside) or held, "an empty region went back"
            if self.heap.layout.name == "tile":
                lanes, rest = np.divmod((inside - start) % (32 * size), 4)
                assert not rest.any() and np.all(lanes < 32)
            else:
                assert np.all((inside - start) % size == 0)
            owners.update(dict.fromkeys(inside.tolist(), python_class))
        assert len(owners) == len(self.model)
        assert all(
            owners[self.heap.encoding.address(r)] is owner for r, (owner, _) in self.model.items()
        )
        assert stats.bytes_reserved == sum(end - start for start, end, _ in ranges)


TestHeapMachine = HeapMachine.TestCase
TestHeapMachine.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None
)

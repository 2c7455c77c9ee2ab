import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.births import BORN, ENDED, LIVED
from sharedoa.heap.registry import Registry


def addresses(*values):
    return np.array(values, np.uint64)


def test_find_one_and_all():
    registry = Registry()
    registry.add(addresses(30, 10, 20), 1)
    registry.add(addresses(5), 2)
    assert [registry.find(a) for a in (5, 10, 20, 30, 7, 0, 99)] == [2, 1, 1, 1, 0, 0, 0]
    assert registry.find_all(addresses(30, 7, 5)).tolist() == [1, 0, 2]
    assert registry.of_type(1).tolist() == [30, 10, 20], "as they were added"
    assert registry.addresses().tolist() == [5, 10, 20, 30]


@pytest.mark.parametrize("many", [10, 5000])
def test_many_at_once(many):
    registry = Registry()
    registry.add(np.arange(1, many + 1, dtype=np.uint64) * 16, 3)
    registry.remove(addresses(16, 48))
    assert registry.find(16) == 0 and registry.find(32) == 3
    assert len(registry.addresses()) == many - 2
    registry.add(np.arange(many, 0, -1, dtype=np.uint64) * 16 + 8, 3)
    order = [*range(32, 48, 16), *range(64, many * 16 + 1, 16), *range(many * 16 + 8, 8, -16)]
    assert registry.of_type(3).tolist() == order


steps = st.lists(st.tuples(st.booleans(), st.sets(st.integers(1, 40), min_size=1)), max_size=12)


@given(steps)
def test_against_a_dictionary(history):
    registry = Registry()
    model: dict[int, int] = {}
    for number, (add, values) in enumerate(history, start=1):
        chosen = sorted(values - model.keys()) if add else sorted(values & model.keys())
        if add:
            registry.add(addresses(*chosen), number)
            model.update(dict.fromkeys(chosen, number))
        else:
            registry.remove(addresses(*chosen))
            for value in chosen:
                del model[value]
        if number % 2:
            assert registry.addresses().tolist() == sorted(model)
        assert [registry.find(a) for a in range(41)] == [model.get(a, 0) for a in range(41)]


def test_places_without_objects():
    registry = Registry()
    registry.add(addresses(40, 20), 1)
    registry.add_free(addresses(30, 10), 1)
    assert registry.addresses().tolist() == [10, 20, 30, 40]
    assert [registry.find(a) for a in (10, 20, 30, 40)] == [0, 1, 0, 1]
    assert registry.find_all(addresses(30, 20, 5)).tolist() == [0, 1, 0]
    registry.take(addresses(30))
    assert registry.of_type(1).tolist() == [40, 20, 30], "it was made last"
    registry.free(addresses(40), 7)
    assert registry.freed_after(addresses(40, 20, 10), 6).tolist() == [True, False, False]
    assert not registry.freed_after(addresses(40), 7).any()
    registry.add(addresses(50), 1)
    registry.take(addresses(40))
    assert registry.of_type(1).tolist() == [20, 30, 50, 40]
    registry.remove(addresses(40, 10))
    assert registry.addresses().tolist() == [20, 30, 50]


def test_states_of_places():
    registry = Registry()
    registry.add(addresses(16), 1)
    registry.add_free(addresses(32, 48), 2)
    assert [registry.state(a) for a in (16, 32, 99)] == [LIVED, 0, 0]
    registry.set_states(addresses(99, 48, 16), np.array([LIVED, BORN, LIVED | ENDED], np.uint8))
    assert registry.states().tolist() == [LIVED | ENDED, 0, BORN], "99 is no place"
    assert registry.states_of(addresses(48, 32)).tolist() == [BORN, 0]
    assert registry.marked(ENDED).tolist() == [16]
    assert registry.find(48) == 2 and registry.find(16) == 1, "they are there until they are freed"


def test_what_was_added_last_is_known():
    """Also to who asks about places, though it waits in a dictionary."""
    for ask in (
        lambda registry: registry.states_of(addresses(32)),
        lambda registry: registry.freed_after(addresses(32), -1),
        lambda registry: registry.take(addresses(32)),
        lambda registry: registry.free(addresses(32), 1),
        lambda registry: registry.set_states(addresses(32), 0),
        lambda registry: registry.remove(addresses(32)),
    ):
        registry = Registry()
        registry.add_free(addresses(16), 1)
        registry.add(addresses(32), 1)
        ask(registry)
        assert set(registry.addresses().tolist()) <= {16, 32}


def test_versions():
    registry = Registry()
    seen = [(registry.version, registry.changes)]
    for change, others in (
        (lambda: registry.add(addresses(16), 1), True),
        (lambda: registry.add_free(addresses(32), 1), True),
        (lambda: registry.take(addresses(32)), False),
        (lambda: registry.free(addresses(16), 1), False),
        (lambda: registry.set_states(addresses(32), BORN), False),
        (lambda: registry.remove(addresses(16)), True),
    ):
        change()
        now = registry.version, registry.changes
        assert (now[0] > seen[-1][0]) == others and now[1] > seen[-1][1]
        registry.addresses(), registry.states(), registry.find(32)
        seen.append((registry.version, registry.changes))

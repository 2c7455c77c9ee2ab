import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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

import pytest

import sharedoa as oa
from sharedoa.heap.provider import HostProvider, _left_in_control_group


def test_a_slab_is_zero_and_addressed_by_its_memory():
    provider = HostProvider()
    slab = provider.allocate(1 << 16)
    assert slab.size == len(slab.memory) == 1 << 16
    assert slab.address == slab.memory.ctypes.data
    assert not slab.memory.any()
    slab.memory[:] = 7
    provider.free(slab)
    assert (slab.memory == 7).all(), "a view outlives the slab"


def test_what_the_system_refuses_is_a_heap_error():
    with pytest.raises(oa.HeapError, match="the system refused"):
        HostProvider().allocate(1 << 62)


def test_free_memory_is_a_number_of_bytes():
    assert 1 << 20 < HostProvider().free_memory() < 1 << 50


@pytest.mark.parametrize(
    ("limit", "left"),
    [("max", (1 << 63) - 1), ("1000", 600), ("300", 0), ("nonsense", (1 << 63) - 1)],
)
def test_a_containers_limit_counts(tmp_path, limit, left):
    (tmp_path / "memory.max").write_text(limit + "\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert _left_in_control_group(tmp_path) == left


def test_no_container_means_no_limit(tmp_path):
    assert _left_in_control_group(tmp_path) == (1 << 63) - 1

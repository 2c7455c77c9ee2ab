"""Launches: binding of arguments, options, and what is refused."""

from __future__ import annotations

import copy
import importlib
import os
import pickle

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u64


class Node(oa.Object):
    value: i32
    next: Node


@oa.value
class Pair:
    left: f32
    right: i8
    node: Node


@oa.kernel
def store(out: oa.Array[f64], a: i32, b: f32, c: bool, d: i64 = 7):
    i = oa.grid(1)
    if c:
        out[i] = f64(a) + f64(b) + f64(d)


@oa.kernel
def two_axes(out: oa.Array[i32], width: i32):
    x, y = oa.grid(2)
    nx, ny = oa.gridsize(2)
    out[y * width + x] = i32(x + 10 * y + 100 * nx + 1000 * ny)


@oa.kernel
def read_pair(pair: Pair, out: oa.Array[f32]):
    out[0] = pair.left
    out[1] = f32(pair.right)
    if pair.node is not None:
        out[2] = f32(pair.node.value)


@oa.kernel
def read_node(node: Node, out: oa.Array[i32]):
    if node is None:
        out[0] = -1
    else:
        out[0] = node.value


@oa.func
def half(x: f32) -> f32:
    return x / 2


@pytest.mark.parametrize("routine", [store, half])
def test_pickled_and_copied_by_name_as_functions_are(routine):
    assert pickle.loads(pickle.dumps(routine)) is routine
    assert copy.copy(routine) is copy.deepcopy(routine) is routine


@pytest.fixture(params=["python", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def small(request):
    with oa.Heap(backend=request.param, capacity="256MiB") as heap:
        yield heap


def test_positions_names_and_defaults(small):
    out = oa.zeros(3, f64)
    store[3](out, 1, 0.5, True)
    assert out.numpy().tolist() == [8.5] * 3
    store[2](out, b=2, c=True, d=0, a=i32(3))
    assert out.numpy().tolist() == [5, 5, 8.5]
    store[3](out, 1, 2, c=False)
    assert out.numpy().tolist() == [5, 5, 8.5]


def test_numbers_convert_by_same_kind(small):
    out = oa.zeros(1, f64)
    store[1](out, np.int64(5), np.float64(0.25), np.True_, i8(-1))
    assert out[0] == 4.25
    store[1](out, -(2**31), np.inf, True, 2**63 - 1)
    assert out[0] == np.inf


@pytest.mark.parametrize(
    ("arguments", "complaint", "help"),
    [
        ((1.5, 0.5, True), "a takes i32", "i32"),
        ((2**31, 0.5, True), "does not fit", "wrap"),
        (("x", 0.5, True), "argument a", "i32"),
        ((1, 0.5, True, 1, 1), "takes 5 arguments, not 6", "out: Array"),
        ((1, 0.5), "lacks c", "c: bool"),
        ((1, None, True), "b takes f32, not None", "f32"),
    ],
)
def test_wrong_arguments_are_refused(small, arguments, complaint, help):
    out = oa.zeros(1, f64)
    with pytest.raises(oa.ArgumentError, match=complaint) as caught:
        store[1](out, *arguments)
    assert help in caught.value.help
    store[1](out, 1, 0, True, 0)
    assert out[0] == 1


def test_wrong_names_are_refused(small):
    out = oa.zeros(1, f64)
    with pytest.raises(oa.ArgumentError, match="no parameter e"):
        store[1](out, 1, 0.5, True, e=3)
    with pytest.raises(oa.ArgumentError, match="given a twice"):
        store[1](out, 1, 0.5, True, a=3)


@pytest.mark.parametrize("data", [np.zeros(3), [0.0, 0.0]])
def test_host_arrays_are_refused_with_the_way_to_make_one(small, data):
    with pytest.raises(oa.ArgumentError, match="out") as caught:
        store[1](data, 1, 0.5, True)
    assert "oa.array(f64, data)" in caught.value.help


def test_arrays_of_another_type_are_refused(small):
    with pytest.raises(oa.ArgumentError, match=r"Array\[f64\], not Array\[f32\]"):
        store[1](oa.zeros(1, f32), 1, 0.5, True)
    with pytest.raises(oa.ArgumentError, match="takes Node"):
        read_node[1](Pair(1, 2, None), oa.zeros(1, i32))


def test_references_and_null(small):
    out = oa.zeros(1, i32)
    read_node[1](Node(value=5), out)
    assert out[0] == 5
    read_node[1](None, out)
    assert out[0] == -1


def test_values_travel_by_parts(small):
    out = oa.zeros(3, f32)
    read_pair[1](Pair(1.5, -3, Node(value=9)), out)
    assert out.numpy().tolist() == [1.5, -3, 9]
    read_pair[1](Pair(2.5, 4, None), out)
    assert out.numpy().tolist() == [2.5, 4, 9]


def test_arguments_of_two_heaps_are_refused(small):
    out = oa.zeros(3, f32)
    with oa.Heap(backend=small.backend.name, capacity="256MiB"):
        node = Node(value=1)
        with pytest.raises(oa.ArgumentError, match="different heaps"):
            read_pair[1](Pair(1, 2, node), out)
        # The heap of a launch is its arguments', not the current one.
        read_pair[1](Pair(1, 2, None), out)
    assert out[0] == 1


def test_two_axes(small):
    out = oa.zeros(6, i32)
    two_axes[3, 2](out, 3)
    expected = [x + 10 * y + 2300 for y in range(2) for x in range(3)]
    assert out.numpy().tolist() == expected
    two_axes[(3, 2), (2, 2)](out, 3)
    assert out.numpy().tolist() == expected


def test_an_empty_launch_does_nothing(small):
    out = oa.zeros(1, f64)
    store[0](out, 1, 0.5, True)
    two_axes[0, 5](oa.zeros(1, i32), 1)
    assert out[0] == 0


def test_a_call_without_threads_says_how(small):
    with pytest.raises(oa.ArgumentError, match="without a number of threads") as caught:
        store(oa.zeros(1, f64), 1, 0.5, True)
    assert "store[threads]" in caught.value.help


def test_a_kernel_must_be_a_function_that_returns_nothing():
    with pytest.raises(oa.ClassError, match="decorates functions"):
        oa.kernel(int)

    @oa.kernel
    def returns(out: oa.Array[f32]) -> f32:
        return out[0]

    with pytest.raises(oa.ClassError, match="result"):
        returns[1]

    @oa.kernel
    def named(mode: i32):
        pass

    with pytest.raises(oa.ClassError, match="parameter mode"):
        named[1]


def test_a_launch_may_choose_its_mode_where_the_objects_allow_it(small):
    if small.backend.name == "python":
        pytest.skip("CPython has no modes")
    out = oa.zeros(1, i32)
    with oa.Heap(mode="coal", backend=small.backend.name, capacity="256MiB"):
        out, node = oa.zeros(1, i32), Node(value=4)
        for mode in ("sharedoa", "header+switch", "range+vtable", "auto"):
            out[0] = 0
            read_node[1](node, out, mode=mode, debug=mode == "auto")
            assert out[0] == 4
        for mode in ("typepointer", "tag+switch", "concord"):
            with pytest.raises(oa.ConfigurationError, match=mode.replace("+", r"\+")) as caught:
                read_node[1](node, out, mode=mode)
            assert f"mode='{mode}'" in caught.value.help
        with pytest.raises(oa.ConfigurationError, match="coul"):
            read_node[1](node, out, mode="coul")


def test_types_wider_than_their_slots_agree(small):
    @oa.kernel
    def echo(a: i8, b: u64, c: f64, d: bool, out: oa.Array[f64]):
        out[0] = f64(a)
        out[1] = f64(b)
        out[2] = c
        out[3] = f64(d)

    out = oa.zeros(4, f64)
    echo[1](-5, 2**63, -0.5, False, out)
    assert out.numpy().tolist() == [-5, 2.0**63, -0.5, 0]


def test_a_kernel_of_an_edited_and_reloaded_file_is_the_new_one(tmp_path, monkeypatch):
    head = "import sharedoa as oa\n\n@oa.kernel\ndef fill(out: oa.Array[oa.i32]):\n"
    file = tmp_path / "edited_kernel.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    with oa.Heap(backend="cpu", capacity="256MiB"):
        out = oa.zeros(6, i32)
        file.write_text(f"{head}    out[oa.grid(1)] = 1\n")
        module = importlib.import_module("edited_kernel")
        module.fill[6](out)
        file.write_text(f"{head}    x, y = oa.grid(2)\n    out[y * 3 + x] = 10 * y + x\n")
        os.utime(file, (1, 1))
        importlib.reload(module).fill[3, 2](out)
        assert out.numpy().tolist() == [0, 1, 2, 10, 11, 12]

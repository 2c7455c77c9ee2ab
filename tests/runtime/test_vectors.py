"""Vectors, matrices and quaternions in kernels: the same as in CPython, wherever they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.errors import CompileError

from .everywhere import Results, check_everywhere


class Ball(oa.Object):
    pos: oa.vec3
    vel: oa.vec3
    far: oa.vec2d
    cell: oa.vec4i
    frame: oa.mat33
    wide: oa.mat44
    flat: oa.mat22
    turn: oa.quat
    path: oa.inline[oa.vec3, 4]
    seen: f32
    wide_seen: f64

    def move(self, dt: f32) -> None:
        self.pos += self.vel * dt
        self.vel = 2.0 * oa.normalize(self.vel) - self.pos.cross(self.vel) / 3.0 + 1.0
        self.vel = oa.max(-self.vel, oa.min(self.vel, self.pos)) % 0.75 + 1 // self.pos
        self.far = self.far * self.far.length() - 1.0 / self.far
        self.cell = (self.cell // 2 + 7) % (abs(-self.cell) + 1)

    def turned(self, k: i32) -> None:
        self.frame = self.frame @ self.frame.transpose() + oa.outer(self.pos, self.vel) * 0.5
        self.vel = self.frame @ self.vel + self.vel @ self.frame
        self.wide = self.wide.inverse() @ self.wide - 2.0
        self.flat = oa.inverse(self.flat)
        self.turn = self.turn * self.turn.conjugate() * 0.5 + 2.0 * oa.normalize(self.turn)
        turned = self.turn.rotate(self.pos) + self.turn.matrix() @ oa.vec3(1.0)
        for i in range(4):
            self.path[i] = turned * f32(i)
        x, y, z = turned
        self.seen = x * y + z + turned[k % 3] + turned[-1 - k % 3] + self.frame[1, k % 3]
        self.seen += self.frame[k % 3].y + self.frame[-1][0] + oa.dot(self.pos, self.vel)
        self.seen += oa.determinant(self.wide) + oa.length(self.vel) + self.path[k % 4][k % 2]
        self.seen += f32(len(self.pos) + len(self.wide)) + oa.min(self.seen, 3.0) + self.flat[0, 1]
        if self.pos == self.vel or self.pos != self.pos:
            self.seen = 0.0
        self.wide_seen = (self.cell / 3)[k % 4] + oa.length(self.cell) + self.far @ self.far


def balls() -> Results:
    n, random = 21, np.random.default_rng(3)
    made = oa.new(Ball, n, pos=random.random((n, 3), np.float32), far=random.random((n, 2)))
    made.vel = random.random((n, 3), np.float32) - np.float32(0.5)
    made.cell = random.integers(-50, 50, (n, 4), np.int32)
    made.frame = random.random((n, 3, 3), np.float32)
    made.wide = random.random((n, 4, 4), np.float32) + np.eye(4, dtype=np.float32)
    made.flat = random.random((n, 2, 2), np.float32)
    made.turn = random.random((n, 4), np.float32)
    made.pos[3] = oa.vec3(1, 2, 3)
    made.pos[4] = made[3].pos
    made.pos[5:7] = [oa.vec3(1.5), (2, 3, 4)]
    made.pos *= 2.0
    made.pos["z"] += 1
    made.pos[:, 1] = made.pos[:, 0] + 1
    made.frame[2:, 1, ::2] = -1
    made[8].pos = (3, 2, 1)
    made[8].path[1] = made[8].pos * 2.0
    made.move(0.25)
    made.turned(oa.array(i32, np.arange(n, dtype=np.int32)))
    fields = ("pos", "vel", "far", "cell", "frame", "wide", "flat", "turn", "path", "seen")
    return {name: getattr(made, name).numpy().copy() for name in (*fields, "wide_seen")}


SOME = ("tiles", "one by one", "warps")


@pytest.mark.parametrize("names", [SOME, pytest.param((), marks=pytest.mark.slow)])
def test_everywhere_as_in_cpython(names: tuple[str, ...]) -> None:
    found = check_everywhere(balls, *names)
    assert found["pos"].shape == (21, 3) and found["frame"].shape == (21, 3, 3)
    assert found["path"].shape == (21, 4, 3) and found["cell"].dtype == np.int32
    assert np.isfinite(found["seen"]).all()


def test_arrays_of_vectors() -> None:
    @oa.kernel
    def centres(boxes: oa.Array[oa.mat22], out: oa.Array[oa.vec2], by: oa.vec2):
        i = oa.grid(1)
        out[i] += boxes[i] @ by

    @oa.kernel
    def shapes(boxes: oa.Array[oa.mat22], image: oa.Array2[oa.vec3], out: oa.Array[oa.vec3i]):
        height, width, colours = image.shape
        count, rows, columns = boxes.shape
        out[0], out[1] = oa.vec3i(height, width, colours), oa.vec3i(count, rows, columns)

    def run() -> Results:
        boxes = oa.array(oa.mat22, np.arange(12, dtype=np.float32).reshape(3, 2, 2))
        out = oa.array(oa.vec2, [oa.vec2(1, 2), (3, 4), [5, 6]])
        centres[3](boxes, out, oa.vec2(1, 10))
        assert boxes.shape == (3, 2, 2) and out.shape == (3, 2) and len(out) == 3
        out[1:] += 0.5
        out[0] = (7, 8)
        out[:, 1] *= 2
        assert out[0] == oa.vec2(7, 16) and out[1:].shape == (2, 2)
        sizes = oa.zeros(2, oa.vec3i)
        shapes[1](boxes, oa.zeros((4, 5), oa.vec3), sizes)
        assert sizes.numpy().tolist() == [[4, 5, 3], [3, 2, 2]]
        return {"out": out.numpy().copy(), "boxes": boxes.numpy().copy()}

    found = check_everywhere(run)
    assert found["out"].tolist() == [[7, 16], [57.5, 161], [103.5, 253]]


def test_grids_take_vectors() -> None:
    class Bird(oa.Object):
        pos: oa.vec2
        near: i32

        def count(self, grid: oa.HashGrid[Bird]) -> None:
            for _ in grid.near(self.pos, 1.5):
                self.near += 1

    def run() -> Results:
        side = np.arange(4, dtype=np.float32)
        birds = oa.new(Bird, 16, pos=np.stack(np.meshgrid(side, side), -1).reshape(-1, 2))
        grid = oa.HashGrid(cell=1.5, size=(4, 4), periodic=True)
        grid.build(birds.pos)
        birds.count(grid)
        return {"near": birds.near.numpy().copy()}

    assert set(check_everywhere(run, "tiles", "one by one")["near"].tolist()) == {9}


# ------------------------------------------------------------------- the same code


@oa.value
class Plain:
    x: f32
    y: f32
    z: f32

    def __add__(self, other: Plain) -> Plain:
        return Plain(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Plain) -> Plain:
        return Plain(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, k: f32) -> Plain:
        return Plain(self.x * k, self.y * k, self.z * k)

    def dot(self, other: Plain) -> f32:
        return self.x * other.x + self.y * other.y + self.z * other.z


def bodies(vector: Any) -> tuple[Any, Any]:
    """The kernels of an n-body program and of a ray tracer, with this vector."""

    class Body(oa.Object):
        pos: vector
        vel: vector
        mass: f32

    @oa.kernel
    def pull(bodies: oa.Array[Body], dt: f32):
        i = oa.grid(1)
        me = bodies[i]
        force = me.pos * 0.0
        for j in range(len(bodies)):
            other = bodies[j]
            d = other.pos - me.pos
            near = 1.0 / np.sqrt(d.dot(d) + 0.01)
            force = force + d * (other.mass * near * near * near)
        me.vel = me.vel + force * dt

    @oa.kernel
    def hit(centres: oa.Array[vector], rays: oa.Array[vector], out: oa.Array[f32]):
        i = oa.grid(1)
        ray, best = rays[i], f32(1e30)
        for j in range(len(centres)):
            c = centres[j]
            b = c.dot(ray)
            inside = b * b - c.dot(c) + 1.0
            if inside > 0.0:
                t = b - np.sqrt(inside)
                p = ray * t - c
                best = min(best, t + p.dot(p))
        out[i] = best

    return pull, hit


def code_of(kernel: Any) -> str:
    """PTX without what names differ in."""
    text = kernel.compile("nvptx").products["ptx"]
    return "\n".join(line for line in text.splitlines() if "//" not in line)


def test_the_code_is_that_of_a_struct_written_by_hand() -> None:
    for layout in ("tile", "aos"):
        with oa.Heap(mode="auto", backend="cpu", layout=layout):
            for ours, by_hand in zip(bodies(oa.vec3), bodies(Plain), strict=True):
                text = code_of(ours)
                assert text.replace("vec3", "Plain") == code_of(by_hand)
                assert "call" not in text and ".local" not in text


# ------------------------------------------------------------------- complaints


def wrong(statement: str) -> Callable[..., None]:
    names: dict[str, Any] = {"oa": oa, "f32": f32}
    lines = [
        "def kernel(v: oa.vec3, w: oa.vec2, m: oa.mat33, a: oa.Array[oa.vec3], i: oa.i32):",
        f"    {statement}",
    ]
    import linecache

    file = f"<vectors {statement}>"
    linecache.cache[file] = (1, None, [f"{line}\n" for line in lines], file)
    exec(compile("\n".join(lines), file, "exec"), names)
    found: Callable[..., None] = names["kernel"]
    return found


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x = v[3]", "index 3 is outside of vec3"),
        ("x = m[0, 1, 2]", "mat33 has 2 indices"),
        ("x = v + w", "takes"),
        ("x = m @ w", "takes"),
        ("x = i @ i", "i32 @ i32 is not defined"),
        ("a[0].x = 1.0", "values do not change"),
        ("a[0][1] = 1.0", "values do not change"),
        ("x = v < v", "cannot be compared so"),
        ("x = min(v, v)", "oa.min and oa.max go by component"),
        ("x = oa.dot(i, i)", "oa.dot does not take i32"),
        ("x, y = v", "cannot be unpacked into 2"),
        ("x = v.length", "is not called"),
    ],
)
def test_complaints(statement: str, message: str) -> None:
    with oa.Heap(backend="cpu"), pytest.raises(CompileError) as caught:
        oa.kernel(wrong(statement)).compile("host")
    assert message in str(caught.value)


def test_an_index_outside_is_found_in_debug_mode() -> None:
    @oa.kernel
    def far(v: oa.vec3, m: oa.mat33, i: i32, out: oa.Array[f32]):
        out[0] = v[i] + m[i, 0]

    with oa.Heap(backend="cpu", debug=True) as heap:
        out = oa.zeros(1, f32)
        far[1](oa.vec3(1, 2, 3), oa.mat33(*range(9)), -3, out)
        assert out[0] == 1
        far[1](oa.vec3(1, 2, 3), oa.mat33(*range(9)), 3, out)
        with pytest.raises(oa.DeviceError, match="index 3"):
            heap.synchronize()


def test_atomic_sums_of_vectors() -> None:
    class Basin(oa.Object):
        flow: oa.vec3
        turn: oa.mat22
        many: oa.inline[oa.vec2i, 3]

    @oa.func
    def counted(calls: oa.Array[i32], value: i32) -> i32:
        oa.atomic_add(calls, 0, 1)
        return value

    @oa.kernel
    def pour(basins: oa.Array[Basin], sums: oa.Array[oa.vec2d], calls: oa.Array[i32]):
        i = oa.grid(1)
        basin = basins[i % len(basins)]
        oa.atomic_add(basin, "flow", oa.vec3(1, 2, 3))
        oa.atomic_sub(basin, "turn", oa.mat22(1, 2, 3, 4))
        oa.atomic_add(basin.many, i % 3, oa.vec2i(1, i))
        # What names the place is evaluated once.
        old = oa.atomic_add(sums, counted(calls, -1), oa.vec2d(0.5, 1.0))
        if old.x >= 25.0:
            oa.atomic_add(calls, 1, 1)

    def run() -> Results:
        basins, sums, calls = oa.new(Basin, 7), oa.zeros(2, oa.vec2d), oa.zeros(2, i32)
        pour[70](basins, sums, calls)
        assert basins.flow.numpy().tolist() == [[10, 20, 30]] * 7
        assert basins.turn.numpy().tolist() == [[[-10, -20], [-30, -40]]] * 7
        assert sums.numpy().tolist() == [[0, 0], [35, 70]] and calls.numpy().tolist() == [70, 20]
        return {"many": basins.many.numpy().copy()}

    assert check_everywhere(run)["many"].sum() == 70 + sum(range(70))


def test_atomic_operations_that_vectors_lack() -> None:
    @oa.kernel
    def lowest(sums: oa.Array[oa.vec3]):
        oa.atomic_min(sums, 0, oa.vec3(1))

    @oa.kernel
    def component(sums: oa.Array[oa.vec3]):
        oa.atomic_add(sums[0], "x", 1.0)

    for kernel, complaint in ((lowest, "min on vec3"), (component, "an atomic needs a field")):
        for backend in ("python", "cpu"):
            with oa.Heap(backend=backend), pytest.raises(oa.SharedOAError) as caught:
                kernel[1](oa.zeros(1, oa.vec3))
                oa.synchronize()
            assert complaint in str(caught.value) or backend == "python"

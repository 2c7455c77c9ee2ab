"""C++ programs that several tests use."""

from __future__ import annotations

import numpy as np

from sharedoa import cxx

SHAPES = """
struct Shape {
  __device__ virtual float area() = 0;
  __device__ virtual void grow(float by) = 0;
};

namespace geo {
struct Circle : Shape {
  float radius;
  int grown;
  __device__ float area() override { return 3.0f * radius * radius; }
  __device__ void grow(float by) override { radius += by; grown += 1; }
};
}

struct Square : Shape {
  float side;
  __device__ float area() override { return side * side; }
  __device__ void grow(float by) override { side += 2.0f * by; }
};

struct Cube : Square {
  double height;
  __device__ float area() override { return 6.0f * Square::area() + (float)height; }
  __device__ void grow(float by) override { Square::grow(by); height += by; }
};

struct Scale { char tag; float factor; double offset; };

extern "C" __global__ void total(Shape **shapes, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = shapes[i]->area();
}

__global__ void grow_all(Shape **shapes, float by, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && shapes[i]) shapes[i]->grow(by);
}

extern "C" __global__ void grow_one(Shape *shape, float by) {
  if (shape && blockIdx.x == 0 && threadIdx.x == 0) shape->grow(by);
}

extern "C" __global__ void numbers(double *out, unsigned char small, bool flag, short medium,
                                   int number, long long large, float single, double wide,
                                   Scale scale) {
  if (blockIdx.x || threadIdx.x) return;
  out[0] = small; out[1] = flag; out[2] = medium; out[3] = number; out[4] = (double)large;
  out[5] = single; out[6] = wide; out[7] = scale.tag; out[8] = scale.factor;
  out[9] = scale.offset;
}

extern "C" __global__ void plane(int *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = x + 100 * y;
}
"""

SCALE = np.dtype([("tag", "i1"), ("factor", "f4"), ("offset", "f8")], align=True)


def square_area(self):
    return self.side * self.side


def square_grow(self, by):
    self.side += np.float32(2) * np.float32(by)


def cube_area(self):
    return np.float32(6) * square_area(self) + np.float32(self.height)


def cube_grow(self, by):
    square_grow(self, by)
    self.height += by


def circle_area(self):
    return np.float32(3) * self.radius * self.radius


def circle_grow(self, by):
    self.radius += np.float32(by)
    self.grown += np.int32(1)


def shape_classes() -> dict[str, object]:
    """The classes of ``SHAPES``, with the same methods for the CPU. Derived ones come first."""
    return {
        "Cube": cxx.Class([("height", "f8")], area=cube_area, grow=cube_grow),
        "geo::Circle": cxx.Class(
            [("radius", "f4"), ("grown", "i4")], area=circle_area, grow=circle_grow
        ),
        "Square": cxx.Class([("side", "f4")], area=square_area, grow=square_grow),
        "Shape": [],
    }


def many_classes(count: int) -> tuple[str, list[str]]:
    """A program of ``count`` classes, each with a method of its own, and their names."""
    source = """
struct Base { __device__ virtual int value() = 0; };
template <int number> struct Kind : Base {
  int seed;
  __device__ int value() override { seed += number; return seed * 64 + number; }
};
extern "C" __global__ void values(Base **objects, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = objects[i]->value();
}
"""
    return source, [f"Kind<{number}>" for number in range(count)]

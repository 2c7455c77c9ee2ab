// Many calls of few objects: virtual functions, and arrays with a switch.
#include "cuda_program.h"

// [user code]
constexpr float PI = 3.1415927f;
enum Kind : unsigned char { CIRCLE, RECTANGLE, TRIANGLE };
// [end of user code]

// [user code: virtual]
struct Shape {
  float p, q;
  __device__ virtual float area() = 0;
};

struct Circle : Shape {
  __device__ float area() override { return PI * p * p; }
};

struct Rectangle : Shape {
  __device__ float area() override { return p * q; }
};

struct Triangle : Shape {
  __device__ float area() override { return 0.5f * p * q; }
};

__global__ void make_shapes(int count, const unsigned char *kinds, const float *p, const float *q,
                            Circle *memory, Shape **shapes) {
  int i = thread_x();
  if (i >= count) return;
  void *place = memory + i;
  Shape *made = kinds[i] == CIRCLE      ? static_cast<Shape *>(new (place) Circle)
                : kinds[i] == RECTANGLE ? static_cast<Shape *>(new (place) Rectangle)
                                        : static_cast<Shape *>(new (place) Triangle);
  made->p = p[i];
  made->q = q[i];
  shapes[i] = made;
}

__global__ void scaled_areas(int count, Shape **shapes, const int *which, const float *scales,
                             float *areas) {
  int i = thread_x();
  if (i < count) areas[i] = shapes[which[i]]->area() * scales[i];
}
// [end of user code]

// [user code: switch]
__device__ float area(unsigned char kind, float p, float q) {
  switch (kind) {
    case CIRCLE: return PI * p * p;
    case RECTANGLE: return p * q;
    default: return 0.5f * p * q;
  }
}

__global__ void scaled_areas(int count, const unsigned char *kinds, const float *p, const float *q,
                             const int *which, const float *scales, float *areas) {
  int i = thread_x();
  if (i >= count) return;
  int shape = which[i];
  areas[i] = area(kinds[shape], p[shape], q[shape]) * scales[i];
}
// [end of user code]

int main(int argc, char **argv) {
  Run run(argc, argv);
  int objects = run.number(), calls = run.number();
  auto *kinds = run.read<unsigned char>(objects);
  auto *p = run.read<float>(objects), *q = run.read<float>(objects);
  auto *which = run.read<int>(calls);
  auto *scales = run.read<float>(calls);
  auto *areas = room_for<float>(calls);
  if (run.variant == "virtual") {
    auto **shapes = room_for<Shape *>(objects);
    launch(make_shapes, objects, objects, kinds, p, q, room_for<Circle>(objects), shapes);
    void (*kernel)(int, Shape **, const int *, const float *, float *) = scaled_areas;
    run.measure([=] { launch(kernel, calls, calls, shapes, which, scales, areas); });
  } else {
    void (*kernel)(int, const unsigned char *, const float *, const float *, const int *,
                   const float *, float *) = scaled_areas;
    run.measure([=] { launch(kernel, calls, calls, kinds, p, q, which, scales, areas); });
  }
  run.write(areas, calls);
}

// The ray tracer: virtual functions, and arrays with switches.
#include "cuda_program.h"

// [user code]
constexpr float NEAR = 1e-3f, FAR = 1e6f, PARALLEL = 1e-6f;
constexpr int SURFACES = 4;

struct Vector {
  float x, y, z;
};

__device__ Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ Vector operator*(Vector a, float f) { return {a.x * f, a.y * f, a.z * f}; }
__device__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__device__ float hit_plane(Vector up, float height, Vector origin, Vector direction) {
  float approach = dot(up, direction);
  if (fabsf(approach) < PARALLEL) return FAR;
  float distance = (height - dot(up, origin)) / approach;
  return distance >= NEAR ? distance : FAR;
}

__device__ float hit_sphere(Vector centre, float radius, Vector origin, Vector direction) {
  Vector to_centre = centre - origin;
  float along = dot(to_centre, direction);
  Vector beside = to_centre - direction * along;
  float square = radius * radius - dot(beside, beside);
  if (square < 0.0f) return FAR;
  float half_chord = sqrtf(square);
  if (along - half_chord >= NEAR) return along - half_chord;
  return along + half_chord >= NEAR ? along + half_chord : FAR;
}

__device__ float direct_light(float albedo, Vector normal) {
  float facing = dot(normal, Vector{0.6f, 0.64f, 0.48f});
  return albedo * (0.2f + 0.8f * (facing > 0.0f ? facing : 0.0f));
}

__device__ Vector first_direction(int x, int y, int side, float pitch) {
  Vector way = {(x + 0.5f - side * 0.5f) * pitch, (y + 0.5f - side * 0.5f) * pitch, -1.0f};
  return way * (1.0f / sqrtf(dot(way, way)));
}
// [end of user code]

// [user code: virtual]
struct Material {
  float albedo;
  __device__ virtual float direct(Vector normal) = 0;
  __device__ virtual float mirrored() = 0;
};

struct Matt : Material {
  __device__ float direct(Vector normal) override { return direct_light(albedo, normal); }
  __device__ float mirrored() override { return 0.0f; }
};

struct Mirror : Material {
  __device__ float direct(Vector) override { return 0.0f; }
  __device__ float mirrored() override { return albedo; }
};

struct Shape {
  Vector place;
  float r;
  Material *material;
  __device__ virtual float hit(Vector origin, Vector direction) = 0;
  __device__ virtual Vector normal(Vector point) = 0;
};

struct Plane : Shape {
  __device__ float hit(Vector origin, Vector direction) override {
    return hit_plane(place, r, origin, direction);
  }
  __device__ Vector normal(Vector) override { return place; }
};

struct Sphere : Shape {
  __device__ float hit(Vector origin, Vector direction) override {
    return hit_sphere(place, r, origin, direction);
  }
  __device__ Vector normal(Vector point) override { return (point - place) * (1.0f / r); }
};

__global__ void make_materials(int count, Matt *memory, const unsigned char *kinds,
                               const float *albedo, Material **materials) {
  int i = thread_x();
  if (i >= count) return;
  materials[i] = kinds[i] == 0 ? static_cast<Material *>(new (memory + i) Matt)
                               : new (static_cast<void *>(memory + i)) Mirror;
  materials[i]->albedo = albedo[i];
}

__global__ void make_shapes(int count, Plane *memory, const unsigned char *kinds, const float *x,
                            const float *y, const float *z, const float *r, const int *material,
                            Material **materials, Shape **shapes) {
  int i = thread_x();
  if (i >= count) return;
  shapes[i] = kinds[i] == 0 ? static_cast<Shape *>(new (memory + i) Plane)
                            : new (static_cast<void *>(memory + i)) Sphere;
  shapes[i]->place = {x[i], y[i], z[i]};
  shapes[i]->r = r[i];
  shapes[i]->material = materials[material[i]];
}

__global__ void render(int count, Shape **shapes, int side, float pitch, float *picture) {
  int x = thread_x(), y = thread_y();
  if (x >= side || y >= side) return;
  Vector origin = {0.0f, 1.5f, 6.0f}, direction = first_direction(x, y, side, pitch);
  float light = 0.0f, share = 1.0f;
  for (int surface = 0; surface < SURFACES && share > 0.0f; surface++) {
    float nearest = FAR;
    Shape *seen = nullptr;
    for (int j = 0; j < count; j++) {
      float distance = shapes[j]->hit(origin, direction);
      if (distance < nearest) nearest = distance, seen = shapes[j];
    }
    if (!seen) {
      light += share * ((direction.y + 1.0f) * 0.5f);
      break;
    }
    origin = origin + direction * nearest;
    Vector normal = seen->normal(origin);
    light += share * seen->material->direct(normal);
    share *= seen->material->mirrored();
    direction = direction - normal * (2.0f * dot(direction, normal));
  }
  picture[y * side + x] = light;
}
// [end of user code]

// [user code: switch]
struct Shapes {
  int count;
  const unsigned char *kinds;
  const float *x, *y, *z, *r;
  const int *materials;
  const unsigned char *material_kinds;
  const float *albedo;
};

__global__ void render(Shapes shapes, int side, float pitch, float *picture) {
  int x = thread_x(), y = thread_y();
  if (x >= side || y >= side) return;
  Vector origin = {0.0f, 1.5f, 6.0f}, direction = first_direction(x, y, side, pitch);
  float light = 0.0f, share = 1.0f;
  for (int surface = 0; surface < SURFACES && share > 0.0f; surface++) {
    float nearest = FAR;
    int seen = -1;
    for (int j = 0; j < shapes.count; j++) {
      Vector place = {shapes.x[j], shapes.y[j], shapes.z[j]};
      float distance;
      switch (shapes.kinds[j]) {
        case 0: distance = hit_plane(place, shapes.r[j], origin, direction); break;
        default: distance = hit_sphere(place, shapes.r[j], origin, direction);
      }
      if (distance < nearest) nearest = distance, seen = j;
    }
    if (seen < 0) {
      light += share * ((direction.y + 1.0f) * 0.5f);
      break;
    }
    origin = origin + direction * nearest;
    Vector normal = {shapes.x[seen], shapes.y[seen], shapes.z[seen]};
    switch (shapes.kinds[seen]) {
      case 0: break;
      default: normal = (origin - normal) * (1.0f / shapes.r[seen]);
    }
    int material = shapes.materials[seen];
    float albedo = shapes.albedo[material];
    switch (shapes.material_kinds[material]) {
      case 0:
        light += share * direct_light(albedo, normal);
        share = 0.0f;
        break;
      default: share *= albedo;
    }
    direction = direction - normal * (2.0f * dot(direction, normal));
  }
  picture[y * side + x] = light;
}
// [end of user code]

int main(int argc, char **argv) {
  Run run(argc, argv);
  int side = run.number(), count = run.number(), materials = run.number();
  auto *kinds = run.read<unsigned char>(count);
  auto *x = run.read<float>(count), *y = run.read<float>(count), *z = run.read<float>(count),
       *r = run.read<float>(count);
  auto *material = run.read<int>(count);
  auto *material_kinds = run.read<unsigned char>(materials);
  auto *albedo = run.read<float>(materials);
  float pitch = float(1.2 / side);
  auto *picture = room_for<float>(side * side);
  if (run.variant == "virtual") {
    auto **made = room_for<Material *>(materials);
    auto **shapes = room_for<Shape *>(count);
    launch(make_materials, materials, materials, room_for<Matt>(materials), material_kinds, albedo,
           made);
    launch(make_shapes, count, count, room_for<Plane>(count), kinds, x, y, z, r, material, made,
           shapes);
    void (*kernel)(int, Shape **, int, float, float *) = render;
    run.measure([=] { launch_square(kernel, side, count, shapes, side, pitch, picture); });
  } else {
    Shapes shapes = {count, kinds, x, y, z, r, material, material_kinds, albedo};
    void (*kernel)(Shapes, int, float, float *) = render;
    run.measure([=] { launch_square(kernel, side, shapes, side, pitch, picture); });
  }
  run.write(picture, side * side);
}

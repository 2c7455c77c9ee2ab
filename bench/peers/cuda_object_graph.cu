// A call in a call: virtual functions, and arrays with a switch.
#include "cuda_program.h"

// [user code: virtual]
struct Node {
  float a, b;
  Node *partner;
  __device__ virtual float value() = 0;
  __device__ virtual void update() = 0;
};

struct Node0 : Node {
  __device__ float value() override { return b + 1.0f; }
  __device__ void update() override { a = a + partner->value(); }
};

struct Node1 : Node {
  __device__ float value() override { return 2.0f - b; }
  __device__ void update() override { a = partner->value() - a; }
};

struct Node2 : Node0 {
  __device__ float value() override { return b + 3.0f; }
};

struct Node3 : Node1 {
  __device__ float value() override { return 4.0f - b; }
};

template <class Class>
__global__ void make_nodes(int count, Class *memory, const float *a, const float *b, Node **nodes) {
  int i = thread_x();
  if (i >= count) return;
  nodes[i] = new (memory + i) Class;
  nodes[i]->a = a[i];
  nodes[i]->b = b[i];
}

__global__ void connect(int count, Node **nodes, const int *partners) {
  int i = thread_x();
  if (i < count) nodes[i]->partner = nodes[partners[i]];
}

__global__ void update_all(int count, Node **nodes) {
  int i = thread_x();
  if (i < count) nodes[i]->update();
}
// [end of user code]

__global__ void in_order(int count, const int *slots, Node **nodes, Node **ordered) {
  int i = thread_x();
  if (i < count) ordered[i] = nodes[slots[i]];
}

__global__ void fields(int count, Node **nodes, float *a) {
  int i = thread_x();
  if (i < count) a[i] = nodes[i]->a;
}

// [user code: switch]
__device__ float value(unsigned char tag, float b) {
  switch (tag) {
    case 0: return b + 1.0f;
    case 1: return 2.0f - b;
    case 2: return b + 3.0f;
    default: return 4.0f - b;
  }
}

__global__ void update_all(int count, const unsigned char *tags, const int *slots, float *a,
                           const float *b, const unsigned char *partner_tags, const int *partners) {
  int i = thread_x();
  if (i >= count) return;
  int slot = slots[i];
  float found = value(partner_tags[slot], b[partners[slot]]);
  switch (tags[i]) {
    case 0: case 2: a[slot] = a[slot] + found; break;
    default: a[slot] = found - a[slot];
  }
}
// [end of user code]

int main(int argc, char **argv) {
  Run run(argc, argv);
  int count = run.number(), each = count / 4;
  auto *a = run.read<float>(count), *b = run.read<float>(count);
  auto *tags = run.read<unsigned char>(count);
  auto *slots = run.read<int>(count);
  auto *partner_tags = run.read<unsigned char>(count);
  auto *partners = run.read<int>(count);
  if (run.variant == "virtual") {
    auto **nodes = room_for<Node *>(count), **ordered = room_for<Node *>(count);
    launch(make_nodes<Node0>, each, each, room_for<Node0>(each), a, b, nodes);
    launch(make_nodes<Node1>, each, each, room_for<Node1>(each), a + each, b + each, nodes + each);
    launch(make_nodes<Node2>, each, each, room_for<Node2>(each), a + 2 * each, b + 2 * each,
           nodes + 2 * each);
    launch(make_nodes<Node3>, each, each, room_for<Node3>(each), a + 3 * each, b + 3 * each,
           nodes + 3 * each);
    launch(connect, count, count, nodes, partners);
    launch(in_order, count, count, slots, nodes, ordered);
    void (*kernel)(int, Node **) = update_all;
    run.measure([=] { launch(kernel, count, count, ordered); });
    launch(fields, count, count, nodes, a);
  } else {
    void (*kernel)(int, const unsigned char *, const int *, float *, const float *,
                   const unsigned char *, const int *) = update_all;
    run.measure([=] { launch(kernel, count, count, tags, slots, a, b, partner_tags, partners); });
  }
  run.write(a, count);
}

"""One call an object in CUDA C++: virtual functions, and an array a field with a switch.

The text depends on the number of classes. Objects of a class lie side by side, as an array of them
would, and are reached through pointers.
"""

from __future__ import annotations

from bench.comparison.generated import expression

_TEXT = """\
#include "cuda_program.h"

// [user code: virtual]
struct Item {{
  float a, b, c, d;
  __device__ virtual void update() = 0;
}};
{classes}
template <class Class>
__global__ void make_items(int count, Class *memory, const float *a, Item **items) {{
  int i = thread_x();
  if (i >= count) return;
  items[i] = new (memory + i) Class;
  items[i]->a = a[i];
}}

void make_all(int each, const float *a, Item **items) {{
{makings}
}}

__global__ void update_all(int count, Item **items) {{
  int i = thread_x();
  if (i < count) items[i]->update();
}}
// [end of user code]

__global__ void in_order(int count, const int *slots, Item **items, Item **ordered) {{
  int i = thread_x();
  if (i < count) ordered[i] = items[slots[i]];
}}

__global__ void fields(int count, Item **items, float *a) {{
  int i = thread_x();
  if (i < count) a[i] = items[i]->a;
}}

// [user code: switch]
__device__ void update(unsigned char tag, float &a) {{
  switch (tag) {{
{branches}
  }}
}}

__global__ void update_all(int count, const unsigned char *tags, float *a) {{
  int slot = thread_x();
  if (slot < count) update(tags[slot], a[slot]);
}}

__global__ void update_referred(int count, const unsigned char *tags, const int *slots, float *a) {{
  int i = thread_x();
  if (i < count) update(tags[i], a[slots[i]]);
}}
// [end of user code]

int main(int argc, char **argv) {{
  Run run(argc, argv);
  int count = run.number(), each = run.number();
  bool population = run.number();
  auto *a = run.read<float>(count);
  auto *tags = run.read<unsigned char>(count);
  auto *slots = run.read<int>(count);
  if (run.variant == "virtual") {{
    auto **items = room_for<Item *>(count), **ordered = room_for<Item *>(count);
    make_all(each, a, items);
    launch(in_order, count, count, slots, items, ordered);
    void (*kernel)(int, Item **) = update_all;
    run.measure([=] {{ launch(kernel, count, count, ordered); }});
    launch(fields, count, count, items, a);
  }} else if (population) {{
    void (*kernel)(int, const unsigned char *, float *) = update_all;
    run.measure([=] {{ launch(kernel, count, count, tags, a); }});
  }} else {{
    run.measure([=] {{ launch(update_referred, count, count, tags, slots, a); }});
  }}
  run.write(a, count);
}}
"""
_CLASS = """
struct Item{kind} : Item {{
  __device__ void update() override {{ a = {expression}; }}
}};
"""
_MAKING = (
    "  launch(make_items<Item{kind}>, each, each, room_for<Item{kind}>(each), "
    "a + {kind} * each, items + {kind} * each);"
)


def text(types: int) -> str:
    """The program for so many classes."""
    kinds, number = range(types), "{}.0f"
    return _TEXT.format(
        classes="".join(
            _CLASS.format(kind=kind, expression=expression(kind, "a", number)) for kind in kinds
        ),
        makings="\n".join(_MAKING.format(kind=kind) for kind in kinds),
        branches="\n".join(
            f"    {'default' if kind == types - 1 else f'case {kind}'}: "
            f"a = {expression(kind, 'a', number)}; break;"
            for kind in kinds
        ),
    )

// Objects made by `new`, placement new, on the stack, in shared memory, as members and in arrays.
struct Tool {
    int wear;
    __device__ explicit Tool(int w) : wear(w) {}
    __device__ virtual int use(int x) = 0;
};
struct Hammer : Tool {
    using Tool::Tool;
    __device__ int use(int x) override { return wear += x; }
};
struct Saw : Tool {
    int teeth = 32;
    using Tool::Tool;
    __device__ int use(int x) override { return wear - teeth * x; }
};

__device__ __noinline__ int use_twice(Tool& tool, int x) { return tool.use(x) + tool.use(x + 1); }

__global__ void allocated(Tool** tools) {
    int i = threadIdx.x;
    tools[i] = i & 1 ? static_cast<Tool*>(new Hammer(i)) : new Saw(i);
}

__global__ void placed(void* memory, Tool** tools) {
    int i = threadIdx.x;
    Saw* saws = static_cast<Saw*>(memory);
    tools[i] = ::new (static_cast<void*>(saws + i)) Saw(i);
}

// Two objects on the stack, used through references to their base.
__global__ void on_the_stack(int* out) {
    int i = threadIdx.x;
    Hammer hammer(i);
    Saw saw(2 * i);
    out[i] = use_twice(hammer, i) + use_twice(saw, out[i]);
}

// Which of them is known at run time only.
__global__ void one_of_two(int* out) {
    int i = threadIdx.x;
    Hammer hammer(i);
    Saw saw(2 * i);
    Tool* tool = out[i] > 9 ? static_cast<Tool*>(&hammer) : &saw;
    out[i] = tool->use(3);
    out[i + 32] = hammer.wear;
}

struct Box {
    int label;
    Saw saw{5};
    Tool* spare;
};

// The receiver is a member of something else; then an element of an array of objects.
__global__ void members(Box* boxes, Saw* saws, int* out) {
    int i = threadIdx.x;
    Tool* inside = &boxes[i].saw;
    Tool* element = &saws[i];
    out[i] = inside->use(1) + element->use(2) + boxes[i].spare->use(3);
}

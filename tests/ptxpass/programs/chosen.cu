// A receiver that a condition chooses; two calls of one slot that the compiler may join into one.
struct Lamp {
    int level;
    __device__ explicit Lamp(int l) : level(l) {}
    __device__ virtual int shine(int x) = 0;
};
struct Bulb : Lamp {
    using Lamp::Lamp;
    __device__ int shine(int x) override { return level + x; }
};
struct Tube : Lamp {
    int flicker = 3;
    using Lamp::Lamp;
    __device__ int shine(int x) override { return level - flicker * x; }
};

__global__ void make(Lamp** lamps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) lamps[i] = i & 1 ? static_cast<Lamp*>(new Bulb(i)) : new Tube(i);
}

// The pointer is chosen, then one call.
__global__ void chosen_pointer(Lamp** left, Lamp** right, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Lamp* lamp = out[i] > n ? left[i] : right[i];
    out[i] = lamp->shine(n);
}

// The same slot on both sides of a condition: one call or two.
__global__ void chosen_call(Lamp** left, Lamp** right, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (out[i] > n) {
        out[i] = left[i]->shine(1);
    } else {
        out[i] = right[i]->shine(2);
    }
}

// The receiver of the first turn is another than that of the rest.
__global__ void chosen_by_turn(Lamp* first, Lamp** others, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Lamp* lamp = first;
    int sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < n; ++turn) {
        sum += lamp->shine(turn);
        lamp = others[turn * blockDim.x + i];
    }
    out[i] = sum;
}

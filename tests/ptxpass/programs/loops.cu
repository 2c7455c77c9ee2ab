// Calls in loops: a receiver that stays, receivers that change, and nested loops.
struct Generator {
    unsigned state;
    __device__ explicit Generator(unsigned seed) : state(seed) {}
    __device__ virtual unsigned next() = 0;
    __device__ virtual bool more() const { return state != 0; }
};
struct Counter : Generator {
    using Generator::Generator;
    __device__ unsigned next() override { return state--; }
};
struct Congruential : Generator {
    using Generator::Generator;
    __device__ unsigned next() override { return state = state * 1664525u + 1013904223u; }
    __device__ bool more() const override { return state > 1000; }
};
struct Shift : Generator {
    using Generator::Generator;
    __device__ unsigned next() override { return state >>= 1; }
};

__global__ void make(Generator** all, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 3 == 0) all[i] = new Counter(i);
    else if (i % 3 == 1) all[i] = new Congruential(i);
    else all[i] = new Shift(i);
}

// One receiver for all turns of the loop, different in each thread.
__global__ void same_receiver(Generator** all, unsigned* out, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Generator* mine = all[i];
    unsigned sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) sum += mine->next();
    out[i] = sum;
}

// Another receiver in every turn, different in each thread.
__global__ void other_receivers(Generator** all, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
#pragma unroll 1
    for (int at = i; at < n; at += blockDim.x) sum += all[at]->next();
    out[i] = sum;
}

// The condition of the loop and its body are virtual calls; how long it runs differs.
__global__ void until_done(Generator** all, unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Generator* mine = all[i];
    unsigned sum = 0;
#pragma unroll 1
    while (mine->more()) sum ^= mine->next();
    out[i] = sum;
}

// The same, unrolled by four.
__global__ void unrolled(Generator** all, unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Generator* mine = all[i];
    unsigned sum = 0;
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) sum += mine->next();
    out[i] = sum;
}

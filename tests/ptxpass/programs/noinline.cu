// Functions that are not inlined, take a pointer to a base and call on it. Their parameters may
// differ from thread to thread, though a caller's are the same for all.
struct Filter {
    float gain;
    __device__ explicit Filter(float g) : gain(g) {}
    __device__ virtual float step(float x) = 0;
    __device__ virtual void reset() { gain = 1; }
};
struct Low : Filter {
    using Filter::Filter;
    __device__ float step(float x) override { return gain * x; }
};
struct High : Filter {
    using Filter::Filter;
    __device__ float step(float x) override { return x - gain; }
    __device__ void reset() override { gain = 0; }
};

__device__ __noinline__ float run(Filter* filter, float x) {
    filter->reset();
    return filter->step(x) + filter->step(-x);
}

__device__ __noinline__ float run_all(Filter** filters, int n, float x) {
#pragma unroll 1
    for (int k = 0; k < n; ++k) x = filters[k]->step(x);
    return x;
}

__device__ __noinline__ Filter* choose(Filter** filters, int i) {
    return filters[i]->gain > 2 ? filters[i] : filters[0];
}

__global__ void make(Filter** filters, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) filters[i] = i & 1 ? static_cast<Filter*>(new Low(i)) : new High(i);
}

__global__ void start(Filter** filters, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = run(filters[i], i) + run_all(filters, n, i) + choose(filters, i)->step(3);
}

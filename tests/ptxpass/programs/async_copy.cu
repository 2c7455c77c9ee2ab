// Fields that are copied to shared memory without a register between: cp.async.
struct Source {
    int values[2];
    __device__ virtual int pick(int x) = 0;
};
struct First : Source {
    __device__ int pick(int x) override { return values[0] + x; }
};
struct Second : Source {
    __device__ int pick(int x) override { return values[1] - x; }
};

__global__ void make(Source** sources, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    sources[i] = i & 1 ? static_cast<Source*>(new First) : new Second;
    sources[i]->values[0] = i;
    sources[i]->values[1] = 7;
}

__global__ void copy(Source** sources, int* out) {
    __shared__ __align__(8) int copied[64];
    int i = threadIdx.x;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&copied[2 * i]));
    const int* from = sources[i]->values;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[i] = sources[i]->pick(copied[2 * i] + 10 * copied[2 * i + 1]);
}

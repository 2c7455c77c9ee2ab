// A method with shared memory of its own, one with a local array, one with a constant table.
struct Sorter {
    int bias;
    __device__ explicit Sorter(int b) : bias(b) {}
    __device__ virtual int place(int key) = 0;
};
struct InShared : Sorter {
    using Sorter::Sorter;
    __device__ int place(int key) override {
        static __shared__ int bins[64];
        bins[threadIdx.x & 63] = key + bias;
        return bins[key & 63];
    }
};
struct InLocal : Sorter {
    using Sorter::Sorter;
    __device__ int place(int key) override {
        int seen[8];
        for (int k = 0; k < 8; ++k) seen[k] = k ^ bias;
        seen[key & 7] = key;
        int sum = 0;
        for (int k = 0; k < 8; ++k) sum = sum * 3 + seen[(k + key) & 7];
        return sum;
    }
};
struct InTable : Sorter {
    using Sorter::Sorter;
    __device__ int place(int key) override {
        static const int order[5] = {4, 2, 0, 3, 1};
        return order[(key + bias) % 5];
    }
};

__global__ void make(Sorter** sorters) {
    int i = threadIdx.x;
    if (i % 3 == 0) sorters[i] = new InShared(i);
    else if (i % 3 == 1) sorters[i] = new InLocal(i);
    else sorters[i] = new InTable(i);
}

__global__ void sort(Sorter** sorters, const int* keys, int* out) {
    int i = threadIdx.x;
    out[i] = sorters[i]->place(keys[i]);
}

// Atomics in methods, and their results as arguments and receivers.
struct Tally {
    int count = 0;
    __device__ virtual int add(int x) = 0;
    __device__ virtual unsigned long long mark(unsigned long long* where) = 0;
};
struct Exact : Tally {
    __device__ int add(int x) override { return atomicAdd(&count, x); }
    __device__ unsigned long long mark(unsigned long long* where) override {
        return atomicExch(where, 1ull);
    }
};
struct Capped : Tally {
    __device__ int add(int x) override { return atomicMax(&count, x); }
    __device__ unsigned long long mark(unsigned long long* where) override {
        return atomicCAS(where, 0ull, 5ull);
    }
};

__global__ void make(Tally** tallies) {
    int i = threadIdx.x;
    if (i & 1) tallies[i] = new Exact; else tallies[i] = new Capped;
}

__global__ void count(Tally** tallies, int* out, int* ticket) {
    int i = atomicAdd(ticket, 1);
    out[i] = tallies[i & 7]->add(i);
}

// The receiver is what an atomic gives back.
__global__ void taken(unsigned long long* place, unsigned long long* out) {
    auto* tally = reinterpret_cast<Tally*>(atomicExch(place, 0ull));
    if (tally != nullptr) out[threadIdx.x] = tally->mark(place + 1);
}

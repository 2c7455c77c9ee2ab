// Five levels; each method is overridden at some of them.
struct Level0 {
    int value;
    __device__ explicit Level0(int v) : value(v) {}
    __device__ virtual int low() { return value; }
    __device__ virtual int middle(int x) { return value + x; }
    __device__ virtual long long high(int x, int y) { return value + x * y; }
};
struct Level1 : Level0 {
    using Level0::Level0;
    __device__ int low() override { return value + 1; }
};
struct Level2 : Level1 {
    using Level1::Level1;
    __device__ int middle(int x) override { return value - x; }
    __device__ virtual int extra() { return 2 * value; }
};
struct Level3 : Level2 {
    using Level2::Level2;
    __device__ int low() override { return value + 3; }
    __device__ int extra() override { return 3 * value; }
};
struct Level4 : Level3 {
    using Level3::Level3;
    __device__ long long high(int x, int y) override { return value - x * y; }
    __device__ int middle(int x) override { return value ^ x; }
    __device__ virtual int last(int x) { return x - value; }
};

__global__ void make(Level0** objects, char* memory, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    char* place = memory + 16 * i;
    switch (i % 5) {
        case 0: objects[i] = new (static_cast<void*>(place)) Level0(i); break;
        case 1: objects[i] = new (static_cast<void*>(place)) Level1(i); break;
        case 2: objects[i] = new (static_cast<void*>(place)) Level2(i); break;
        case 3: objects[i] = new (static_cast<void*>(place)) Level3(i); break;
        default: objects[i] = new (static_cast<void*>(place)) Level4(i); break;
    }
}

// Slots 0, 1, 2 of the root.
__global__ void call_root(Level0** objects, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = objects[i]->low() + objects[i]->middle(i) + objects[i]->high(i, n);
}

// Slot 3 exists from Level2 on; slot 0 is the root's.
__global__ void call_level2(Level2** objects, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = objects[i]->extra() * objects[i]->low();
}

// Slot 4 is Level4's only.
__global__ void call_level4(Level4** objects, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = objects[i]->last(n);
}

// Overloads by const and by parameter: same name, own slots; some with one and the same signature
// in PTX. Default arguments and final classes.
struct Store {
    int data[4];
    __device__ Store() { for (int k = 0; k < 4; ++k) data[k] = k; }
    __device__ virtual int at(int k) const = 0;
    __device__ virtual int at(int k) = 0;
    __device__ virtual float at(float k) const = 0;
    __device__ virtual int at(int k, int fallback) const { return k < 4 ? data[k] : fallback; }
};
struct Raw final : Store {
    __device__ int at(int k) const override { return data[k]; }
    __device__ int at(int k) override { return data[k]++; }
    __device__ float at(float k) const override { return k * data[0]; }
};
struct Checked : Store {
    __device__ int at(int k) const override { return k < 4 ? data[k] : 0; }
    __device__ int at(int k) override { return k < 4 ? --data[k] : 0; }
    __device__ float at(float k) const override { return k + data[1]; }
    __device__ int at(int k, int fallback) const override { return k > 2 ? fallback : data[k]; }
};

__global__ void make(Store** stores, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) stores[i] = i & 1 ? static_cast<Store*>(new Raw) : new Checked;
}

__global__ void read(const Store* const* stores, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Store* store = stores[i];
    out[i] = store->at(out[i]) + store->at(1, 2) + static_cast<int>(store->at(2.0f));
}

__global__ void change(Store** stores, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = stores[i]->at(out[i]);
}

// Known by `final`: direct calls, no virtual one.
__global__ void known(Raw** stores, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = stores[i]->at(out[i]);
}

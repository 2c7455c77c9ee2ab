// Virtual destructors: `delete` goes through the second of two slots.
struct Resource {
    int* data;
    __device__ explicit Resource(int n) : data(new int[n]) {}
    __device__ virtual ~Resource() { delete[] data; }
    __device__ virtual int size() const = 0;
};
struct File : Resource {
    int handle = 7;
    using Resource::Resource;
    __device__ ~File() override { data[0] = handle; }
    __device__ int size() const override { return handle; }
};
struct Socket : Resource {
    File inner{3};
    using Resource::Resource;
    __device__ int size() const override { return inner.handle + data[0]; }
};

__global__ void make(Resource** all, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) all[i] = i & 1 ? static_cast<Resource*>(new File(i)) : new Socket(i);
}

// `delete` of a null pointer does nothing: the call is under a condition.
__global__ void remove(Resource** all, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = all[i]->size();
    delete all[i];
}

// The destructor called by name: the first slot.
__global__ void end(Resource** all) {
    all[threadIdx.x]->~Resource();
}

// Results of a derived type, classes whose first base has no virtual functions, a base that is not
// at the start, and a call that names its class.
struct Plain {
    int data = 6;
};
struct Copied : Plain {
    __device__ virtual Copied* copy() const { return new Copied(*this); }
    __device__ virtual int read() const { return data; }
};
struct Deep : Copied {
    int more = 7;
    __device__ Deep* copy() const override { return new Deep(*this); }
    __device__ int read() const override { return Copied::read() + more; }
};
// Plain comes first in the text, but the base with the vtable pointer lies at the start.
struct Mixed : Plain, Deep {
    __device__ Mixed* copy() const override { return new Mixed(*this); }
    __device__ int read() const override { return Deep::read() * Deep::data; }
};

__global__ void make(Copied** all) {
    int i = threadIdx.x;
    if (i % 3 == 0) all[i] = new Copied;
    else if (i % 3 == 1) all[i] = new Deep;
    else all[i] = new Mixed;
}

__global__ void copy(Copied** all, int* out) {
    int i = threadIdx.x;
    Copied* other = all[i]->copy();
    out[i] = other->read() + all[i]->Copied::read();
}

__global__ void copy_deep(Deep** all, int* out) {
    int i = threadIdx.x;
    out[i] = all[i]->copy()->read();
}

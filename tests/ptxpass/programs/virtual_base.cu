// Virtual inheritance: a diamond, beside an ordinary hierarchy with another signature.
struct Root {
    int id = 4;
    __device__ virtual int name(int x) { return id + x; }
};
struct Left : virtual Root {
    int l = 1;
    __device__ virtual int left() { return l + id; }
};
struct Right : virtual Root {
    int r = 2;
    __device__ virtual int right() { return r - id; }
};
struct Bottom : Left, Right {
    __device__ int name(int x) override { return id * x + l + r; }
    __device__ int left() override { return l * 2; }
    __device__ int right() override { return r * 2; }
};

struct Simple {
    double d = 1.0;
    __device__ virtual double f(double x) = 0;
};
struct Twice : Simple {
    __device__ double f(double x) override { return d + 2 * x; }
};
struct Half : Simple {
    __device__ double f(double x) override { return d + x / 2; }
};

__global__ void make(Root** roots, Left** lefts, Simple** simple, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bottom* bottom = new Bottom;
    roots[i] = bottom;
    lefts[i] = bottom;
    simple[i] = i & 1 ? static_cast<Simple*>(new Twice) : new Half;
}

__global__ void call_root(Root** roots, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = roots[i]->name(i);
}

__global__ void call_left(Left** lefts, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = lefts[i]->left();
}

__global__ void call_through_left(Left** lefts, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = lefts[i]->name(2);
}

__global__ void call_simple(Simple** simple, double* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = simple[i]->f(out[i]);
}

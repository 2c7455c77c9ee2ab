// Indirect calls that are no virtual calls: tables of functions, a field, pointers to members.
// Beside them, classes whose virtual methods have another signature.
using Function = float (*)(void* self, double x);

__device__ float twice(void*, double x) { return 2 * x; }
__device__ float plus(void* self, double x) { return *static_cast<float*>(self) + x; }
__device__ float minus(void* self, double x) { return *static_cast<float*>(self) - x; }

__device__ Function table[3] = {twice, plus, minus};
__constant__ Function constant_table[2] = {minus, twice};

__global__ void from_table(float* values, const int* which) {
    int i = threadIdx.x;
    values[i] = table[which[i]](values + i, 1.0) + constant_table[which[i] & 1](values + i, 2.0);
}

struct Closure {
    Function function;
    float state;
};

// A field of the object that is passed: one load, not two.
__global__ void from_field(Closure* closures, float* out) {
    int i = threadIdx.x;
    out[i] = closures[i].function(&closures[i], 3.0);
}

// A function that the kernel gets as an argument; the object is the kernel's too.
__global__ void from_argument(Function function, float* out) {
    out[threadIdx.x] = function(out, 4.0);
}

struct Real {
    float value;
    __device__ explicit Real(float v) : value(v) {}
    __device__ virtual float zero() { return 0; }
    __device__ virtual float apply(float x) { return value + x; }
    __device__ float plain(float x) { return value - x; }
};
struct Derived : Real {
    using Real::Real;
    __device__ float apply(float x) override { return value * x; }
};
using Member = float (Real::*)(float);

// A pointer to a member may name a virtual method or not; which, is known at run time.
__global__ void to_member(Real** objects, float* out, Member member) {
    int i = threadIdx.x;
    out[i] = (objects[i]->*member)(out[i]);
}

__global__ void make(Real** objects) {
    int i = threadIdx.x;
    objects[i] = i & 1 ? new Derived(i) : new Real(i);
}

__global__ void real(Real** objects, float* out) {
    int i = threadIdx.x;
    out[i] = objects[i]->apply(out[i]);
}

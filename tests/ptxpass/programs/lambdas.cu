// Lambdas: passed to a template, and kept behind a virtual call (as std::function does).
template <class F>
__device__ float each(const float* values, int n, F function) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += function(values[k]);
    return sum;
}

struct Erased {
    __device__ virtual float call(float x) const = 0;
};
template <class F>
struct Holder : Erased {
    F function;
    __device__ explicit Holder(F f) : function(f) {}
    __device__ float call(float x) const override { return function(x); }
};
template <class F>
__device__ Erased* erase(F function) {
    return new Holder<F>(function);
}

__global__ void make(Erased** functions, float scale) {
    int i = threadIdx.x;
    if (i & 1) {
        functions[i] = erase([scale] __device__(float x) { return scale * x; });
    } else {
        functions[i] = erase([scale, i] __device__(float x) { return x - scale + i; });
    }
}

__global__ void use(Erased** functions, const float* values, float* out, int n) {
    int i = threadIdx.x;
    Erased* function = functions[i];
    out[i] = each(values, n, [=](float x) { return x * i; });
    out[i] += each(values, n, [=](float x) { return function->call(x); });
}

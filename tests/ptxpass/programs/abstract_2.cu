// An abstract base without data and two subclasses, made in a loop.
struct Force {
    __device__ virtual double pull(double distance) const = 0;
};
struct Spring : Force {
    double stiffness = 2.0;
    __device__ double pull(double distance) const override { return -stiffness * distance; }
};
struct Gravity : Force {
    double mass = 5.0;
    __device__ double pull(double distance) const override { return mass / (distance * distance); }
};

__global__ void make(Force** forces, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (i & 1) forces[i] = new Spring; else forces[i] = new Gravity;
    }
}

__global__ void pull(Force* const* forces, const double* distances, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = forces[i]->pull(distances[i]);
}

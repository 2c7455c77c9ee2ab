// Class templates in nested namespaces: names with :: and <> in them.
namespace geometry {
namespace detail {
template <class T, int N>
struct Buffer {
    T data[N];
};
}  // namespace detail

template <class T>
struct Body {
    __device__ virtual T volume() const = 0;
    __device__ virtual T scaled(T by) const { return by; }
};
template <class T, int N = 3>
struct Cube : Body<T> {
    detail::Buffer<T, N> sides;
    __device__ explicit Cube(T side) { for (int k = 0; k < N; ++k) sides.data[k] = side; }
    __device__ T volume() const override {
        T product = 1;
        for (int k = 0; k < N; ++k) product *= sides.data[k];
        return product;
    }
};
struct Ball : Body<float> {
    float radius = 1;
    __device__ float volume() const override { return 4 * radius; }
    __device__ float scaled(float by) const override { return radius * by; }
};
}  // namespace geometry

using namespace geometry;

template <class T>
__global__ void volumes(Body<T>** bodies, T* out) {
    int i = threadIdx.x;
    out[i] = bodies[i]->volume() + bodies[i]->scaled(2);
}

__global__ void make(Body<float>** singles, Body<double>** doubles) {
    int i = threadIdx.x;
    if (i & 1) singles[i] = new Cube<float>(i); else singles[i] = new Ball;
    if (i & 2) doubles[i] = new Cube<double>(i); else doubles[i] = new Cube<double, 2>(i);
}

template __global__ void volumes<float>(Body<float>**, float*);
template __global__ void volumes<double>(Body<double>**, double*);

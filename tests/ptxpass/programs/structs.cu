// Structs by value: small ones, one of doubles, an empty one; as parameters and as results.
struct Pair { int first, second; };
struct Vector { double x, y, z; };
struct Bytes { char b[5]; };
struct Empty {};
struct alignas(16) Quad { float x, y, z, w; };

struct Mover {
    float speed;
    __device__ explicit Mover(float s) : speed(s) {}
    __device__ virtual Vector move(Vector at, float time) const = 0;
    __device__ virtual Pair swap(Pair pair) const = 0;
    __device__ virtual Bytes shift(Bytes bytes, Empty) const = 0;
    __device__ virtual Quad scale(Quad quad) const = 0;
};
struct Straight : Mover {
    using Mover::Mover;
    __device__ Vector move(Vector at, float time) const override {
        return {at.x + speed * time, at.y, at.z};
    }
    __device__ Pair swap(Pair pair) const override { return {pair.second, pair.first}; }
    __device__ Bytes shift(Bytes bytes, Empty) const override {
        bytes.b[0] += 1;
        return bytes;
    }
    __device__ Quad scale(Quad q) const override { return {q.x * speed, q.y, q.z, q.w}; }
};
struct Curved : Mover {
    using Mover::Mover;
    __device__ Vector move(Vector at, float time) const override {
        return {at.y * time, at.x - speed, at.z};
    }
    __device__ Pair swap(Pair pair) const override { return {pair.first, -pair.second}; }
    __device__ Bytes shift(Bytes bytes, Empty) const override {
        bytes.b[4] -= bytes.b[3];
        return bytes;
    }
    __device__ Quad scale(Quad q) const override { return {q.w, q.z, q.y, q.x * speed}; }
};

__global__ void make(Mover** movers, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) movers[i] = i & 1 ? static_cast<Mover*>(new Straight(i)) : new Curved(i);
}

__global__ void move(Mover** movers, Vector* places, Pair* pairs, Bytes* bytes, Quad* quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Mover* mover = movers[i];
    places[i] = mover->move(places[i], 0.5f);
    pairs[i] = mover->swap(pairs[i]);
    bytes[i] = mover->shift(bytes[i], Empty{});
    quads[i] = mover->scale(quads[i]);
}

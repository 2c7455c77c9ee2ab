// Shapes of four classes, in managed memory that host and device share.
//
// The device calls their virtual methods, the host reads and changes their fields. The kernels are
// as in any CUDA program; only where objects come from is of sharedoa.cuh. Usage: shapes [count]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sharedoa.cuh>

// 201/64: few bits, so that every value here is exact and all builds must print the same.
constexpr float pi = 3.140625f;

struct Shape {
    __host__ __device__ explicit Shape(float size) : size(size) {}
    __device__ virtual float area() const = 0;
    __device__ virtual void grow(float by) { size += by; }
    float size;
};

struct Circle : Shape {
    using Shape::Shape;
    __device__ float area() const override { return pi * size * size; }
};

struct Square : Shape {
    using Shape::Shape;
    __device__ float area() const override { return size * size; }
    __device__ void grow(float by) override { size += 2 * by; }
};

struct Rectangle : Shape {
    __host__ __device__ Rectangle(float size, float height) : Shape(size), height(height) {}
    __device__ float area() const override { return size * height; }
    float height;
};

struct Hexagon : Shape {
    using Shape::Shape;
    __device__ float area() const override { return 2.5f * size * size; }
    __device__ void grow(float by) override { size += by / 2; }
};

__global__ void measure(Shape* const* shapes, float* areas, std::size_t count) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < count) areas[i] = shapes[i]->area();
}

__global__ void grow(Shape* const* shapes, float by, std::size_t count) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < count) shapes[i]->grow(by);
}

void finish(const char* what) {
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess) status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        throw sharedoa::error(std::string(what) + ": " + cudaGetErrorString(status));
    }
}

// What the objects must be, without objects.
struct Expected {
    float size, height;

    float area(std::size_t kind) const {
        const float factors[] = {pi * size, size, height, 2.5f * size};
        return factors[kind] * size;
    }
    void grow(std::size_t kind, float by) {
        const float steps[] = {by, 2 * by, by, by / 2};
        size += steps[kind];
    }
};

std::size_t mismatches(const char* when, const float* areas,
                       const std::vector<Expected>& expected) {
    std::size_t wrong = 0;
    double sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const float should = expected[i].area(i % 4);
        sum += areas[i];
        if (areas[i] != should && wrong++ < 5) {
            std::fprintf(stderr, "%s: shape %zu has area %g, not %g\n", when, i, areas[i], should);
        }
    }
    std::printf("result %s: %zu shapes, areas %.6f\n", when, expected.size(), sum);
    return wrong;
}

int run(std::size_t quarter) {
    const std::size_t count = 4 * quarter;
    const auto blocks = static_cast<unsigned>((count + 255) / 256);
    sharedoa::heap heap;
    const char* const builds[] = {"", "original", "rewritten", "rewritten, tagged references"};
    std::printf("build: %s\n", builds[static_cast<int>(heap.build())]);

    // Twice, so that a class has several regions, between those of others.
    auto** shapes = heap.array<Shape*>(count);
    auto* areas = heap.array<float>(count);
    auto* sizes = heap.array<float>(quarter);
    for (std::size_t i = 0; i < quarter; ++i) sizes[i] = static_cast<float>(1 + i % 50);
    const std::size_t half = quarter / 2;
    for (const bool second : {false, true}) {
        const std::size_t first = second ? half : 0;
        const std::size_t here = second ? quarter - half : half;
        const sharedoa::each mine(sizes + first);
        const auto circles = heap.create<Circle>(here, mine);
        const auto squares = heap.create<Square>(here, mine);
        const auto rectangles = heap.create<Rectangle>(here, mine, 8.0f);
        const auto hexagons = heap.create<Hexagon>(here, mine);
        for (std::size_t i = 0; i < here; ++i) {
            Shape** four = shapes + 4 * (first + i);
            four[0] = circles[i];
            four[1] = squares[i];
            four[2] = rectangles[i];
            four[3] = hexagons[i];
        }
    }
    std::vector<Expected> expected;
    for (std::size_t i = 0; i < count; ++i) expected.push_back({sizes[i / 4], 8.0f});

    measure<<<blocks, 256>>>(shapes, areas, count);
    finish("measure");
    std::size_t wrong = mismatches("created", areas, expected);

    // Fields on the host: virtual methods are the device's, all else is plain C++.
    for (std::size_t i = 0; i < count; i += 3) {
        sharedoa::ref<Shape> shape = shapes[i];
        shape->size += 4;
        expected[i].size += 4;
    }
    grow<<<blocks, 256>>>(shapes, 2.0f, count);
    finish("grow");
    for (std::size_t i = 0; i < count; ++i) {
        expected[i].grow(i % 4, 2.0f);
        const float size = sharedoa::address(shapes[i])->size;
        if (size != expected[i].size && wrong++ < 5) {
            std::fprintf(stderr, "shape %zu has size %g, not %g\n", i, size, expected[i].size);
        }
    }
    measure<<<blocks, 256>>>(shapes, areas, count);
    finish("measure");
    wrong += mismatches("grown", areas, expected);

    // The fields went to the host and back above; this run finds them on the device.
    constexpr int launches = 20;
    measure<<<blocks, 256>>>(shapes, areas, count);
    finish("measure");
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) measure<<<blocks, 256>>>(shapes, areas, count);
    finish("measure");
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::printf("kernel: %.1f us\n", time.count() / launches);

    if (wrong) std::fprintf(stderr, "%zu mismatches\n", wrong);
    return wrong ? 1 : 0;
}

int main(int argc, char** argv) {
    const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 22;
    try {
        return run(count < 4 ? 1 : count / 4);
    } catch (const sharedoa::error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}

// Single inheritance: an abstract base, two classes, one method inherited and one overridden.
struct Shape {
    float size;
    __device__ explicit Shape(float s) : size(s) {}
    __device__ virtual float area() const = 0;
    __device__ virtual void grow(float by) { size += by; }
};

struct Circle : Shape {
    using Shape::Shape;
    __device__ float area() const override { return 3.0f * size * size; }
};

struct Square : Shape {
    using Shape::Shape;
    __device__ float area() const override { return size * size + 1.0f; }
    __device__ void grow(float by) override { size += 2 * by; }
};

__global__ void make(Shape** shapes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) shapes[i] = i % 2 ? static_cast<Shape*>(new Circle(i)) : new Square(i);
}

__global__ void measure(Shape** shapes, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    shapes[i]->grow(1);
    out[i] = shapes[i]->area();
}

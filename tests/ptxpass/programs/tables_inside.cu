// Tables of C functions that do not begin their variable, or are written at run time.
typedef int (*function)(void*, int);

struct Shape {
    int size;
    __device__ virtual int grow(int x) = 0;
};
struct Round : Shape {
    __device__ int grow(int x) override { return size + x; }
};
struct Flat : Shape {
    __device__ int grow(int x) override { return size - x; }
};
struct Pen {
    double width = 1;
    __device__ virtual double draw(double x) = 0;
};
struct Ink : Pen {
    __device__ double draw(double x) override { return width + x; }
};
struct Lead : Pen {
    __device__ double draw(double x) override { return width * x; }
};
struct Tape {
    float end = 1;
    __device__ virtual float wind(float x, float y) = 0;
};
struct Short : Tape {
    __device__ float wind(float x, float y) override { return end + x * y; }
};
struct Long : Tape {
    __device__ float wind(float x, float y) override { return end * x - y; }
};

__device__ int triple(void*, int x) { return 3 * x; }
__device__ int square(void*, int x) { return x * x; }
__device__ float half(void*, float x, float y) { return x / 2 + y; }

struct Operations {
    long version;
    const char* name;
    function first, second;
};
__device__ Operations operations = {3, nullptr, triple, square};
__device__ float (*written[1])(void*, float, float);

struct Handle {
    function* table;
    int size;
};
struct Spool {
    float (**table)(void*, float, float);
};

__global__ void make(Shape** shapes, Pen** pens, Tape** tapes, Handle** handles, Spool** spools) {
    int i = threadIdx.x;
    shapes[i] = i & 1 ? static_cast<Shape*>(new Round) : new Flat;
    shapes[i]->size = i;
    pens[i] = i & 1 ? static_cast<Pen*>(new Ink) : new Lead;
    tapes[i] = i & 1 ? static_cast<Tape*>(new Short) : new Long;
    handles[i] = new Handle{&operations.first, i};
    written[0] = half;
    spools[i] = new Spool{written};
}

__global__ void grow(Shape** shapes, int* out) {
    int i = threadIdx.x;
    out[i] = shapes[i]->grow(out[i]);
}

__global__ void apply(Handle** handles, int* out) {
    int i = threadIdx.x;
    out[i] = handles[i]->table[0](handles[i], out[i]);
}

__global__ void wind(Tape** tapes, float* out) {
    int i = threadIdx.x;
    out[i] = tapes[i]->wind(out[i], 3);
}

__global__ void spool(Spool** spools, float* out) {
    int i = threadIdx.x;
    out[i] = spools[i]->table[0](spools[i], out[i], 2);
}

__global__ void draw(Pen** pens, double* out) {
    int i = threadIdx.x;
    out[i] = pens[i]->draw(out[i]);
}

// Multiple inheritance. `Both` has a second base: its table holds thunks for calls through Printed.
// Slot 0 of Drawn and slot 0 of Printed have other signatures, slot 1 the same.
struct Drawn {
    int color = 1;
    __device__ virtual int draw(int x) = 0;
    __device__ virtual int common(float x) = 0;
    __device__ virtual long long own(long long x) { return x + color; }
};
struct Printed {
    int copies = 2;
    __device__ virtual float print() = 0;
    __device__ virtual int common_too(float x) = 0;
};
struct Both : Drawn, Printed {
    int extra = 3;
    __device__ int draw(int x) override { return color + x; }
    __device__ int common(float x) override { return extra * x; }
    __device__ float print() override { return copies + extra; }
    __device__ int common_too(float x) override { return x - copies + extra; }
};
struct OnlyDrawn : Drawn {
    __device__ int draw(int x) override { return color - x; }
    __device__ int common(float x) override { return color + x; }
};
struct OnlyPrinted : Printed {
    __device__ float print() override { return copies; }
    __device__ int common_too(float x) override { return copies * x; }
};

__global__ void make(Drawn** drawn, Printed** printed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i & 1) {
        Both* both = new Both;
        drawn[i] = both;
        printed[i] = both;
    } else {
        drawn[i] = new OnlyDrawn;
        printed[i] = new OnlyPrinted;
    }
}

__global__ void draw(Drawn** drawn, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = drawn[i]->draw(i) + drawn[i]->own(i);
}

__global__ void draw_common(Drawn** drawn, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = drawn[i]->common(2.0f);
}

__global__ void print(Printed** printed, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = printed[i]->print() + printed[i]->common_too(out[i]);
}

// The receiver is 16 bytes into the object.
__global__ void print_second(Both** both, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Printed* second = both[i];
    out[i] = second ? second->print() : 0;
}

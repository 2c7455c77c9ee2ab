// Placement new puts an object of another class where one was: by a callee, in a loop, in a branch.
struct Cell {
    int value;
    __device__ explicit Cell(int v) : value(v) {}
    __device__ virtual int step(int x) = 0;
};
struct Dead : Cell {
    using Cell::Cell;
    __device__ int step(int x) override { return value + x; }
};
struct Alive : Cell {
    using Cell::Cell;
    __device__ int step(int x) override { return value * x - 1; }
};

inline __device__ void* operator new(size_t, Cell* place) { return place; }
inline __device__ void operator delete(void*, Cell*) {}

__device__ __noinline__ void revive(Cell* cell, int value) { new (cell) Alive(value); }

__global__ void make(Cell** cells, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) cells[i] = i & 1 ? static_cast<Cell*>(new Dead(i)) : new Alive(i);
}

__global__ void by_callee(Cell** cells, int* out) {
    int i = threadIdx.x;
    Cell* cell = cells[i];
    int result = cell->step(i);
    revive(cell, result);
    out[i] = cell->step(out[i]) - result;
}

__global__ void in_loop(Cell** cells, int* out, int turns) {
    int i = threadIdx.x;
    Cell* cell = cells[i];
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        int result = cell->step(turn);
        if (result % 3 == 0) new (cell) Dead(result & 7);
        if (result % 3 == 1) new (cell) Alive(result & 7);
        out[i] += cell->step(result & 15);
    }
}

// Other threads of the block put theirs there.
__global__ void by_others(Cell** cells, int* out) {
    int i = threadIdx.x;
    int first = cells[i]->step(2);
    __syncthreads();
    revive(cells[(i + 1) % blockDim.x], first);
    __syncthreads();
    out[i] = cells[i]->step(out[i]) + first;
}

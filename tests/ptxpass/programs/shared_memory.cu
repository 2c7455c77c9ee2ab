// Shared memory and barriers around virtual calls: receivers from shared memory, objects in it.
struct Stage {
    int factor;
    __device__ explicit Stage(int f) : factor(f) {}
    __device__ virtual int forward(int x) const = 0;
    __device__ virtual void meet(int* board) const = 0;
};
struct Scale : Stage {
    using Stage::Stage;
    __device__ int forward(int x) const override { return factor * x; }
    __device__ void meet(int* board) const override {
        board[threadIdx.x] = factor;
        __syncthreads();
    }
};
struct Offset : Stage {
    using Stage::Stage;
    __device__ int forward(int x) const override { return factor + x; }
    __device__ void meet(int* board) const override {
        __syncthreads();
        board[threadIdx.x] -= factor;
    }
};

__global__ void make(Stage** stages) {
    int i = threadIdx.x;
    stages[i] = i & 1 ? static_cast<Stage*>(new Scale(i)) : new Offset(i);
}

__global__ void exchange(Stage** stages, int* out) {
    __shared__ Stage* kept[128];
    __shared__ int values[128];
    int i = threadIdx.x;
    kept[i] = stages[blockIdx.x * 128 + i];
    __syncthreads();
    values[i] = kept[127 - i]->forward(i);
    __syncthreads();
    out[blockIdx.x * 128 + i] = kept[i]->forward(values[127 - i]);
}

// All threads call with one receiver, which waits at a barrier.
__global__ void meeting(Stage** stages, int* out) {
    extern __shared__ int board[];
    board[threadIdx.x] = 1;
    __syncthreads();
    stages[blockIdx.x]->meet(board);
    __syncthreads();
    out[threadIdx.x] = board[threadIdx.x ^ 1];
}

// An object in shared memory, made by the first thread.
__global__ void object_in_shared(int* out, int kind) {
    __shared__ __align__(8) char place[16];
    Stage* stage = reinterpret_cast<Stage*>(place);
    if (threadIdx.x == 0) {
        if (kind) new (static_cast<void*>(place)) Scale(kind);
        else new (static_cast<void*>(place)) Offset(3);
    }
    __syncthreads();
    out[threadIdx.x] = stage->forward(threadIdx.x);
}

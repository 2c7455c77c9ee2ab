// Two translation units: kernels that call classes of separate_classes.cu, and add one.
#include "separate.h"

struct Tailor : Worker {
    using Worker::Worker;
    __device__ int work(int hours) override { return hours - pay; }
};

__global__ void make(Worker** workers) {
    int i = threadIdx.x;
    workers[i] = i & 1 ? new Tailor(i) : hire(i);
}

__global__ void day(Worker** workers, int* out) {
    int i = threadIdx.x;
    out[i] = workers[i]->work(8) - workers[i]->rest(16);
}

// Two translation units: the classes' methods and where they are made.
#include "separate.h"

__device__ int Worker::work(int hours) { return pay * hours; }
__device__ int Smith::work(int hours) { return pay * hours + 5; }

namespace {
struct Baker : Worker {
    using Worker::Worker;
    __device__ int rest(int hours) override { return pay - hours; }
};
}  // namespace

__device__ Worker* hire(int i) {
    if (i % 3 == 0) return new Worker(i);
    if (i % 3 == 1) return new Smith(i);
    return new Baker(i);
}

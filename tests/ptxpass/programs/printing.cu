// printf and assert in methods and around calls: variadic arguments, strings in global memory.
#include <cassert>
#include <cstdio>

struct Reporter {
    int id;
    __device__ explicit Reporter(int i) : id(i) {}
    __device__ virtual void report(const char* what, double x) const = 0;
};
struct Loud : Reporter {
    using Reporter::Reporter;
    __device__ void report(const char* what, double x) const override {
        printf("{%d} says \"%s\": %f; // not a comment\n", id, what, x);
    }
};
struct Quiet : Reporter {
    using Reporter::Reporter;
    __device__ void report(const char* what, double) const override { printf("%c\n", what[id]); }
};

__global__ void make(Reporter** reporters) {
    int i = threadIdx.x;
    reporters[i] = i & 1 ? static_cast<Reporter*>(new Loud(i)) : new Quiet(i);
}

__global__ void report(Reporter** reporters, int n) {
    int i = threadIdx.x;
    if (i >= n) printf("no reporter %d\n", i);
    else reporters[i]->report("here", 1.5);
}

__global__ void checked(Reporter** reporters) {
    int i = threadIdx.x;
    assert(reporters[i] != nullptr);
    reporters[i]->report("there", i);
}

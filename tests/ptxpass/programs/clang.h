// What CUDA's headers give, as far as the programs here need it, for clang without a CUDA toolkit.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
struct Coordinate { int x; };
#define threadIdx (Coordinate{__nvvm_read_ptx_sreg_tid_x()})
#define blockIdx (Coordinate{__nvvm_read_ptx_sreg_ctaid_x()})
#define blockDim (Coordinate{__nvvm_read_ptx_sreg_ntid_x()})
using size_t = decltype(sizeof(0));
extern "C" __device__ void* malloc(size_t);
extern "C" __device__ void free(void*);
__device__ void* operator new(size_t size) { return malloc(size); }
__device__ inline void* operator new(size_t, void* place) { return place; }
__device__ void operator delete(void* place) noexcept { free(place); }
__device__ void operator delete(void* place, size_t) noexcept { free(place); }

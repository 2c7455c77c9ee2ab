// Classes of separate_classes.cu that separate_kernels.cu calls.
struct Worker {
    int pay;
    __device__ explicit Worker(int p) : pay(p) {}
    __device__ virtual int work(int hours);
    __device__ virtual int rest(int hours) { return hours; }
};
struct Smith : Worker {
    using Worker::Worker;
    __device__ int work(int hours) override;
};
__device__ Worker* hire(int i);

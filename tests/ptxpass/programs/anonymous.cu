// Classes in an anonymous namespace, and one that a function has for itself.
namespace {
struct Hidden {
    int secret;
    __device__ explicit Hidden(int s) : secret(s) {}
    __device__ virtual int tell() const { return secret; }
};
struct Liar : Hidden {
    using Hidden::Hidden;
    __device__ int tell() const override { return -secret; }
};
}  // namespace

extern "C" __global__ void make(void** objects) {
    struct Local : Hidden {
        using Hidden::Hidden;
        __device__ int tell() const override { return secret / 2; }
    };
    int i = threadIdx.x;
    Hidden* made;
    if (i % 3 == 0) made = new Hidden(i);
    else if (i % 3 == 1) made = new Liar(i);
    else made = new Local(i);
    objects[i] = made;
}

extern "C" __global__ void ask(void** objects, int* out) {
    int i = threadIdx.x;
    out[i] = static_cast<Hidden*>(objects[i])->tell();
}

// PTX inside methods and around a call: braces, registers and labels of its own.
struct Mixer {
    unsigned key;
    __device__ explicit Mixer(unsigned k) : key(k) {}
    __device__ virtual unsigned mix(unsigned x) const = 0;
};
struct Funnel : Mixer {
    using Mixer::Mixer;
    __device__ unsigned mix(unsigned x) const override {
        unsigned result;
        asm("shf.l.wrap.b32 %0, %1, %2, 7;" : "=r"(result) : "r"(x), "r"(key));
        return result;
    }
};
struct Ladder : Mixer {
    using Mixer::Mixer;
    __device__ unsigned mix(unsigned x) const override {
        unsigned result;
        asm volatile(
            "{\n\t"
            ".reg .pred p;\n\t"
            ".reg .b32 t<3>;\n\t"
            "setp.gt.u32 p, %1, %2;\n\t"
            "@p bra larger_%=;\n\t"
            "add.u32 t1, %1, 1;\n\t"
            "mov.b32 %0, t1;\n\t"
            "bra.uni done_%=;\n\t"
            "larger_%=:\n\t"
            "sub.u32 t2, %1, %2;\n\t"
            "mov.b32 %0, t2;\n\t"
            "done_%=:\n\t"
            "}"
            : "=r"(result)
            : "r"(x), "r"(key));
        return result;
    }
};

__global__ void make(Mixer** mixers) {
    int i = threadIdx.x;
    mixers[i] = i & 1 ? static_cast<Mixer*>(new Funnel(i)) : new Ladder(i);
}

__global__ void mix(Mixer** mixers, unsigned* out) {
    unsigned lane;
    asm("mov.u32 %0, %%laneid; // a comment with ; { } in it" : "=r"(lane));
    unsigned mixed = mixers[threadIdx.x]->mix(lane);
    asm volatile("st.global.u32 [%0], %1;" ::"l"(out + threadIdx.x), "r"(mixed) : "memory");
}

// The receiver is read by PTX.
__global__ void mix_loaded(Mixer** mixers, unsigned* out) {
    Mixer* mixer;
    asm("ld.global.nc.u64 %0, [%1];" : "=l"(mixer) : "l"(mixers + threadIdx.x));
    out[threadIdx.x] = mixer->mix(5);
}

// What C programs write: objects that hold the address of a table of functions. The loads are those
// of a virtual call of slot 1, so it and virtual calls of its signature cannot be told apart.
struct HandMade;
struct Methods {
    float (*first)(HandMade* self);
    float (*second)(HandMade* self, float x);
};
struct HandMade {
    const Methods* methods;
    float state;
};

__device__ float get(HandMade* self) { return self->state; }
__device__ float add(HandMade* self, float x) { return self->state += x; }
__device__ float multiply(HandMade* self, float x) { return self->state *= x; }
__device__ const Methods adding = {get, add};
__device__ const Methods multiplying = {get, multiply};

struct Real {
    float value;
    __device__ explicit Real(float v) : value(v) {}
    __device__ virtual long long name() { return 0; }
    __device__ virtual float apply(float x) { return value + x; }
};
struct Derived : Real {
    using Real::Real;
    __device__ long long name() override { return 1; }
    __device__ float apply(float x) override { return value * x; }
};

__global__ void make(Real** objects, HandMade* made) {
    int i = threadIdx.x;
    objects[i] = i & 1 ? new Derived(i) : new Real(i);
    made[i].methods = i & 1 ? &adding : &multiplying;
}

__global__ void call_hand_made(HandMade* objects, float* out) {
    int i = threadIdx.x;
    out[i] = objects[i].methods->second(&objects[i], 4.0f);
}

// name: in no other table at its place; apply: may be a hand-made one.
__global__ void call_real(Real** objects, float* out) {
    int i = threadIdx.x;
    out[i] = objects[i]->name() + objects[i]->apply(out[i]);
}

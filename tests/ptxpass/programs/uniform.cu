// Receivers that a warp shares, and some that only look like it.
struct Rule {
    int limit;
    Rule* next = nullptr;
    __device__ explicit Rule(int l) : limit(l) {}
    __device__ virtual int check(int x) const = 0;
};
struct Above : Rule {
    using Rule::Rule;
    __device__ int check(int x) const override { return x > limit; }
};
struct Below : Rule {
    using Rule::Rule;
    __device__ int check(int x) const override { return x < limit; }
};

__constant__ Rule* rules_in_constant[4];
__device__ Rule* one_rule;

__global__ void make(Rule** rules, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rules[i] = i & 1 ? static_cast<Rule*>(new Above(i)) : new Below(i);
}

// The kernel's argument: uniform.
__global__ void argument(Rule* rule, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = rule->check(i);
}

// The counter of the loop and the array are the same for all threads: uniform.
__global__ void uniform_counter(Rule** rules, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += rules[k]->check(i);
    out[i] = sum;
}

// A block works on one object: uniform.
__global__ void one_a_block(Rule** rules, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = rules[blockIdx.x]->check(i);
}

// From constant memory and from a variable: uniform.
__global__ void variables(int* out, int which) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = rules_in_constant[which]->check(i) + one_rule->check(i + 1);
}

// Each thread its own: not uniform.
__global__ void own(Rule** rules, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = rules[i]->check(i);
}

// The loop starts at the thread's number: not uniform.
__global__ void own_counter(Rule** rules, int* out, int n) {
    int sum = 0;
#pragma unroll 1
    for (int k = threadIdx.x; k < n; k += 32) sum += rules[k]->check(k);
    out[threadIdx.x] = sum;
}

// Both are uniform, but the threads choose: not uniform.
__global__ void chosen(Rule* one, Rule* other, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Rule* rule = out[i] ? one : other;
    out[i] = rule->check(i);
}

// A uniform condition chooses between uniform ones: uniform.
__global__ void chosen_together(Rule* one, Rule* other, int* out, int which) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Rule* rule = which ? one : other;
    out[i] = rule->check(i);
}

// Threads leave the loop at different turns, and each uses the counter after it: not uniform.
__global__ void left_at_different_turns(Rule** rules, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = 0;
#pragma unroll 1
    while (k < n && out[k] > i) ++k;
    out[i] = rules[k]->check(i);
}

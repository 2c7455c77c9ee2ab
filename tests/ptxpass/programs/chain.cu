// The result of a call is the next receiver: a linked list, a walk down a tree, a chained call.
struct Link {
    int value;
    Link* after = nullptr;
    __device__ explicit Link(int v) : value(v) {}
    __device__ virtual Link* next() { return after; }
    __device__ virtual int weight() const { return value; }
    __device__ virtual Link* child(bool right) { return right ? after : nullptr; }
};
struct Skip : Link {
    using Link::Link;
    __device__ Link* next() override { return after ? after->after : nullptr; }
};
struct Heavy : Link {
    Link* left = nullptr;
    using Link::Link;
    __device__ int weight() const override { return 100 * value; }
    __device__ Link* child(bool right) override { return right ? after : left; }
};

__global__ void make(Link** links, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 3 == 0) links[i] = new Link(i);
    else if (i % 3 == 1) links[i] = new Skip(i);
    else links[i] = new Heavy(i);
}

__global__ void walk_list(Link** heads, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (Link* link = heads[i]; link != nullptr; link = link->next()) sum += link->weight();
    out[i] = sum;
}

__global__ void walk_tree(Link** roots, const int* keys, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Link* link = roots[0];
    Link* last = link;
    while (link != nullptr) {
        last = link;
        link = link->child(keys[i] > link->value);
    }
    out[i] = last->weight();
}

__global__ void chained(Link** heads, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = heads[i]->next()->next()->weight();
}

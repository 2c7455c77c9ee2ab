// Calls under conditions: one side, both sides, in a switch, after an early return, short circuit.
struct Node {
    int weight;
    __device__ explicit Node(int w) : weight(w) {}
    __device__ virtual bool ready() = 0;
    __device__ virtual int run(int x) = 0;
    __device__ virtual int stop() { return -weight; }
};
struct Fast : Node {
    using Node::Node;
    __device__ bool ready() override { return weight > 3; }
    __device__ int run(int x) override { return weight + x; }
};
struct Slow : Node {
    using Node::Node;
    __device__ bool ready() override { return --weight < 0; }
    __device__ int run(int x) override { return weight * x; }
    __device__ int stop() override { return weight; }
};

__global__ void make(Node** nodes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) nodes[i] = i & 1 ? static_cast<Node*>(new Fast(i)) : new Slow(i);
}

__global__ void one_side(Node** nodes, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && nodes[i] != nullptr) out[i] = nodes[i]->run(i);
}

// Other slots on either side: two calls, of slot 1 and slot 2.
__global__ void both_sides(Node** nodes, int* out, const int* flags) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* node = nodes[i];
    out[i] = flags[i] ? node->run(5) : node->stop();
}

__global__ void short_circuit(Node** nodes, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && nodes[i]->ready() && nodes[i + 1]->ready()) out[i] = 1;
}

__global__ void in_switch(Node** nodes, int* out, const int* what) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* node = nodes[i];
    int result = 0;
    switch (what[i]) {
        case 0: result = node->run(1) + 3; break;
        case 1: result = node->stop() * 5; break;
        case 2: result = node->ready() ? 4 : 9; break;
        case 3: result = node->run(out[i]) - 8; break;
        case 4: return;
        case 5: result = i; break;
        case 6: result = node->weight; break;
        default: break;
    }
    out[i] = result;
}

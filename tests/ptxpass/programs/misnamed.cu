// Methods that are called like destructors, and a destructor that makes an object.
struct Node {
    int value;
    __device__ virtual int get(int x) = 0;
};
struct Leaf : Node {
    __device__ int get(int x) override { return value + x; }
};
struct Twig : Node {
    __device__ int get(int x) override { return value * x; }
};
struct Factory {
    int kind;
    __device__ __noinline__ Node* makeD1() {
        Node* made = kind & 1 ? static_cast<Node*>(new Leaf) : new Twig;
        made->value = kind;
        return made;
    }
};
template <class T> struct Last {
    Node** to;
    __device__ __noinline__ ~Last() {
        *to = new T;
        (*to)->value = 5;
    }
};

__global__ void make(Node** nodes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nodes[i] = i & 1 ? static_cast<Node*>(new Leaf) : new Twig;
    nodes[i]->value = i;
}

__global__ void get(Node** nodes, int* out) { out[threadIdx.x] = nodes[threadIdx.x]->get(2); }

__global__ void from_factory(int* out) {
    int i = threadIdx.x;
    Factory factory{out[i]};
    out[i] = factory.makeD1()->get(i);
}

__global__ void from_destructor(int* out) {
    int i = threadIdx.x;
    Node* node;
    if (i & 1) Last<Leaf> last{&node};
    else Last<Twig> last{&node};
    out[i] = node->get(i);
}

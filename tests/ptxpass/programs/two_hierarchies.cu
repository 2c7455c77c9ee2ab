// Two unrelated hierarchies whose methods have the same slots and signatures; objects of each call
// those of the other. A third has other signatures.
struct Receiver {
    int got = 0;
    __device__ virtual int accept(int x) = 0;
};
struct Sender {
    Receiver* to;
    __device__ explicit Sender(Receiver* r) : to(r) {}
    __device__ virtual int send(int x) = 0;
};
struct Sink : Receiver {
    __device__ int accept(int x) override { return got += x; }
};
struct Mirror : Receiver {
    Sender* back = nullptr;
    __device__ int accept(int x) override { return x > 0 ? back->send(x - 1) : got; }
};
struct Straight : Sender {
    using Sender::Sender;
    __device__ int send(int x) override { return to->accept(x); }
};
struct Doubled : Sender {
    using Sender::Sender;
    __device__ int send(int x) override { return to->accept(x) + to->accept(2 * x); }
};
struct Clock {
    double now = 0;
    __device__ virtual double tick(int x) { return now += x; }
};

__global__ void make(Sender** senders, Receiver** receivers, Clock** clocks) {
    int i = threadIdx.x;
    Mirror* mirror = new Mirror;
    receivers[i] = i & 1 ? static_cast<Receiver*>(new Sink) : mirror;
    senders[i] = i & 2 ? static_cast<Sender*>(new Straight(receivers[i])) : new Doubled(mirror);
    mirror->back = senders[i];
    clocks[i] = new Clock;
}

__global__ void run(Sender** senders, Clock** clocks, int* out) {
    int i = threadIdx.x;
    out[i] = senders[i]->send(i) + static_cast<int>(clocks[i]->tick(i));
}

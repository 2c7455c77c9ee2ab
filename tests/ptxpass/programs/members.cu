// Objects of the heap with polymorphic members, single and in an array, and a buffer for one.
struct Gauge {
    int level;
    __device__ virtual int read(int x) = 0;
};
struct Dial : Gauge {
    __device__ int read(int x) override { return level + x; }
};
struct Pipe : Gauge {
    __device__ int read(int x) override { return level - x; }
};
struct Valve : Gauge {
    __device__ int read(int x) override { return level * x; }
};
struct Panel : Gauge {
    Dial dial;
    Pipe pipes[2];
    long long buffer[2];
    __device__ int read(int x) override { return 2 * level + x; }
};

struct Clock {
    long long now;
    __device__ virtual long long tell(long long x) = 0;
};
struct Early : Clock {
    __device__ long long tell(long long x) override { return now - x; }
};
struct Late : Clock {
    __device__ long long tell(long long x) override { return now + x; }
};

inline __device__ void* operator new(size_t, void* place, int) { return place; }
inline __device__ void operator delete(void*, void*, int) {}

// As our heap constructs: each object in the place that it is given.
__global__ void make(char* panels, char* clocks, Gauge** gauges, Clock** times, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Panel* panel = new (panels + 80 * i, 0) Panel;
    panel->level = i;
    panel->dial.level = 2 * i;
    panel->pipes[0].level = panel->pipes[1].level = 3;
    gauges[i] = panel;
    void* place = clocks + 16 * i;
    times[i] = i & 1 ? static_cast<Clock*>(new (place, 0) Early) : new (place, 0) Late;
    times[i]->now = i;
}

__global__ void read(Gauge** gauges, int* out) {
    int i = threadIdx.x;
    out[i] = gauges[i]->read(out[i]);
}

// References to parts.
__global__ void parts(Gauge** gauges, Gauge** found) {
    int i = threadIdx.x;
    Panel* panel = static_cast<Panel*>(gauges[i]);
    found[i] = i & 1 ? static_cast<Gauge*>(&panel->dial) : &panel->pipes[i & 2 ? 1 : 0];
}

// A variant: an object in a buffer of another one.
__global__ void fill(Gauge** gauges, int* out) {
    int i = threadIdx.x;
    Panel* panel = static_cast<Panel*>(gauges[i]);
    Gauge* valve = new (panel->buffer, 0) Valve;
    valve->level = 4;
    Gauge* either = out[i] & 1 ? valve : panel;
    out[i] = either->read(i);
}

__global__ void tell(Clock** times, long long* out) {
    int i = threadIdx.x;
    out[i] = times[i]->tell(out[i]);
}

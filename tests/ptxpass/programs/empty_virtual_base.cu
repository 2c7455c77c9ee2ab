// Virtual bases without data: the offsets before the functions of a table are all zeros, and look
// like type information and pure functions. `Mixed` is that in truth: two pure functions, then
// others.
struct Sound {
    __device__ virtual int play(int x) = 0;
};
struct Tone : virtual Sound {
    int pitch;
    __device__ explicit Tone(int p) : pitch(p) {}
    __device__ int play(int x) override { return pitch + x; }
    __device__ virtual int shift(int x) { return pitch * x; }
};
struct Noise : virtual Sound {
    __device__ int play(int x) override { return 3 * x; }
};
struct Chord : Tone {
    __device__ explicit Chord(int p) : Tone(p) {}
    __device__ int play(int x) override { return pitch - x; }
};

// The only class with functions of this signature; read as an ordinary table, slot 2 holds `low`.
struct Voice {
    __device__ virtual long long low(long long x, int y) = 0;
};
struct Singer : virtual Voice {
    __device__ long long low(long long x, int y) override { return x + y; }
    __device__ virtual long long high(long long x, int y) { return x - y; }
    __device__ virtual long long loud(long long x, int y) { return x * y; }
};

struct Mixed {
    double level = 2;
    __device__ virtual double left(double x) = 0;
    __device__ virtual double right(double x) = 0;
    __device__ virtual double both(double x) { return left(x) + right(x); }
};
struct Quiet : Mixed {
    __device__ double left(double x) override { return x / level; }
    __device__ double right(double x) override { return x - level; }
};
struct Loud : Mixed {
    __device__ double left(double x) override { return x * level; }
    __device__ double right(double x) override { return x + level; }
    __device__ double both(double x) override { return x; }
};

__global__ void make(Sound** sounds, Tone** tones, Mixed** mixed, Singer** singers) {
    int i = threadIdx.x;
    Tone* tone = i & 1 ? new Tone(i) : new Chord(i);
    tones[i] = tone;
    sounds[i] = i % 3 ? static_cast<Sound*>(tone) : new Noise;
    mixed[i] = i & 2 ? static_cast<Mixed*>(new Quiet) : new Loud;
    singers[i] = new Singer;
}

__global__ void play(Sound** sounds, int* out) {
    int i = threadIdx.x;
    out[i] = sounds[i]->play(out[i]);
}

__global__ void shift(Tone** tones, int* out) {
    int i = threadIdx.x;
    out[i] = tones[i]->shift(out[i]);
}

__global__ void play_tones(Tone** tones, int* out) {
    int i = threadIdx.x;
    out[i] = tones[i]->play(out[i]);
}

__global__ void mix(Mixed** mixed, double* out) {
    int i = threadIdx.x;
    out[i] = mixed[i]->both(out[i]) + mixed[i]->right(2);
}

__global__ void sing(Singer** singers, long long* out) {
    int i = threadIdx.x;
    out[i] = singers[i]->loud(out[i], 3);
}

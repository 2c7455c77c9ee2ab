// Methods that call virtual methods of their own object, and constructors that do.
struct Game {
    int score = 0;
    __device__ Game() { score = opening(); }
    __device__ virtual int opening() const { return 1; }
    __device__ virtual int move(int x) = 0;
    __device__ virtual bool over() const { return score > 100; }
    __device__ int play(int turns) {
        int turn = 0;
        while (turn < turns && !over()) score += move(turn++);
        return score;
    }
    __device__ virtual int replay(int turns) { return play(turns) + play(2 * turns); }
};
struct Chess : Game {
    __device__ int opening() const override { return 20; }
    __device__ int move(int x) override { return x & 3; }
};
struct Go : Game {
    __device__ int move(int x) override { return 361 - x; }
    __device__ bool over() const override { return score > 5000; }
};

__global__ void make(Game** games) {
    int i = threadIdx.x;
    if (i & 1) games[i] = new Chess; else games[i] = new Go;
}

__global__ void play(Game** games, int* out, int turns) {
    int i = threadIdx.x;
    out[i] = games[i]->replay(turns) + games[i]->play(3);
}

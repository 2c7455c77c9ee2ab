// Methods with none to six parameters, of all sizes; all sizes of results.
struct Number {
    double value;
    __device__ explicit Number(double v) : value(v) {}
    __device__ virtual void none() = 0;
    __device__ virtual bool one(bool a) = 0;
    __device__ virtual char two(char a, short b) = 0;
    __device__ virtual long long three(long long a, unsigned b, float c) = 0;
    __device__ virtual double four(double a, int b, double c, const double* d) = 0;
    __device__ virtual unsigned short five(int a, int b, int c, int d, int e) = 0;
    __device__ virtual float six(float a, bool b, double c, char d, long long e, Number* f) = 0;
    __device__ virtual unsigned char byte(unsigned char a) = 0;
};
struct Plain : Number {
    using Number::Number;
    __device__ void none() override { value += 1; }
    __device__ bool one(bool a) override { return a != (value > 0); }
    __device__ char two(char a, short b) override { return a + b; }
    __device__ long long three(long long a, unsigned b, float c) override { return a + b + c; }
    __device__ double four(double a, int b, double c, const double* d) override {
        return a * b + c * d[b] + value;
    }
    __device__ unsigned short five(int a, int b, int c, int d, int e) override {
        return a + b + c + d + e;
    }
    __device__ float six(float a, bool b, double c, char d, long long e, Number* f) override {
        return b ? a + c : d * e + f->value;
    }
    __device__ unsigned char byte(unsigned char a) override { return a + 200; }
};
struct Odd : Number {
    using Number::Number;
    __device__ void none() override { value *= 3; }
    __device__ bool one(bool a) override { return a && value < 9; }
    __device__ char two(char a, short b) override { return a - b; }
    __device__ long long three(long long a, unsigned b, float c) override { return a * b - c; }
    __device__ double four(double a, int b, double c, const double* d) override {
        return a / b - c + d[0];
    }
    __device__ unsigned short five(int a, int b, int c, int d, int e) override {
        return a * b * c * d * e;
    }
    __device__ float six(float a, bool b, double c, char d, long long e, Number* f) override {
        return b ? a - c : d + e - f->value;
    }
    __device__ unsigned char byte(unsigned char a) override { return a / 3; }
};

__global__ void make(Number** numbers, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) numbers[i] = i & 1 ? static_cast<Number*>(new Plain(i)) : new Odd(i);
}

__global__ void call_all(Number** numbers, const double* x, double* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Number* number = numbers[i];
    number->none();
    bool one = number->one(x[i] > 0);
    char two = number->two(i, -i);
    long long three = number->three(i, two, 1.5f);
    double four = number->four(x[i], 3, x[i + 1], x);
    unsigned short five = number->five(1, i, 3, i + 4, 5);
    float six = number->six(four, one, x[i], two, three, numbers[0]);
    unsigned char byte = number->byte(five);
    out[i] = one + two + three + four + five + six + byte;
}

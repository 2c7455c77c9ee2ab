// An abstract base and, below it and another abstract class, four classes with objects.
struct Animal {
    int age;
    __device__ explicit Animal(int a) : age(a) {}
    __device__ virtual int legs() const = 0;
    __device__ virtual int noise(int loudness) = 0;
};
struct Bird : Animal {
    using Animal::Animal;
    __device__ int legs() const override { return 2; }
};
struct Duck : Bird {
    using Bird::Bird;
    __device__ int noise(int loudness) override { return loudness + age; }
};
struct Goose : Bird {
    using Bird::Bird;
    __device__ int legs() const override { return 3; }
    __device__ int noise(int loudness) override { return 2 * loudness; }
};
struct Dog : Animal {
    using Animal::Animal;
    __device__ int legs() const override { return 4; }
    __device__ int noise(int loudness) override { return loudness * age++; }
};
struct Snake : Animal {
    using Animal::Animal;
    __device__ int legs() const override { return 0; }
    __device__ int noise(int loudness) override { return -loudness; }
};

__global__ void make(Animal** animals, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    switch (i % 4) {
        case 0: animals[i] = new Duck(i); break;
        case 1: animals[i] = new Goose(i); break;
        case 2: animals[i] = new Dog(i); break;
        default: animals[i] = new Snake(i); break;
    }
}

__global__ void count_legs(Animal** animals, int* legs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) legs[i] = animals[i]->legs();
}

__global__ void make_noise(Animal** animals, int* noise, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) noise[i] = animals[i]->noise(n);
}

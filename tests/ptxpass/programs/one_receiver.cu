// Several calls on one receiver: the vtable pointer may be read once or again for every call.
struct Account {
    long long cents = 0;
    __device__ virtual void pay(int amount) = 0;
    __device__ virtual long long balance() const = 0;
    __device__ virtual bool empty() const { return cents == 0; }
};
struct Savings : Account {
    __device__ void pay(int amount) override { cents += amount; }
    __device__ long long balance() const override { return cents; }
};
struct Credit : Account {
    int limit = 100;
    __device__ void pay(int amount) override { cents += amount - limit / 10; }
    __device__ long long balance() const override { return cents - limit; }
    __device__ bool empty() const override { return cents <= -limit; }
};

__global__ void make(Account** accounts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) accounts[i] = i % 3 ? static_cast<Account*>(new Savings) : new Credit;
}

__global__ void five_calls(Account** accounts, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account* account = accounts[i];
    account->pay(i);
    account->pay(2 * i);
    long long first = account->balance();
    account->pay(-i);
    out[i] = first - account->balance();
}

// Different slots of one object, the last only if the first said so.
__global__ void three_slots(Account** accounts, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account* account = accounts[i];
    if (!account->empty()) {
        account->pay(7);
        out[i] = account->balance();
    }
}

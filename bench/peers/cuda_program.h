// What the CUDA C++ programs share: input, output, launches and times. Compiled as plain C++ a launch
// is a loop over its threads, which checks a program where there is no GPU.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#define CHECKED(call)                                                              \
  do {                                                                             \
    cudaError_t error = (call);                                                    \
    if (error != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));          \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

__device__ inline int thread_x() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int thread_y() { return blockIdx.y * blockDim.y + threadIdx.y; }

// Where launches go: the default stream but while a step is recorded.
inline cudaStream_t stream = nullptr;

template <class Kernel, class... Arguments>
void launch(Kernel kernel, int threads, Arguments... arguments) {
  kernel<<<(threads + 255) / 256, 256, 0, stream>>>(arguments...);
}

template <class Kernel, class... Arguments>
void launch_square(Kernel kernel, int side, Arguments... arguments) {
  kernel<<<dim3((side + 31) / 32, (side + 7) / 8), dim3(32, 8), 0, stream>>>(arguments...);
}

inline void wait() { CHECKED(cudaDeviceSynchronize()); }

inline void *allocate(size_t bytes) {
  void *found = nullptr;
  CHECKED(cudaMalloc(&found, bytes));
  return found;
}

inline void copy(void *to, const void *from, size_t bytes) {
  CHECKED(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

inline void clear(void *memory, size_t bytes) { CHECKED(cudaMemset(memory, 0, bytes)); }

__global__ void occupy(long long cycles) {
  long long begun = clock64();
  while (clock64() - begun < cycles) {}
}
#else
#define __global__
#define __device__
inline int current_x, current_y;
inline int thread_x() { return current_x; }
inline int thread_y() { return current_y; }

template <class Kernel, class... Arguments>
void launch(Kernel kernel, int threads, Arguments... arguments) {
  for (current_x = 0; current_x < threads; current_x++) kernel(arguments...);
}

template <class Kernel, class... Arguments>
void launch_square(Kernel kernel, int side, Arguments... arguments) {
  for (current_y = 0; current_y < side; current_y++)
    for (current_x = 0; current_x < side; current_x++) kernel(arguments...);
}

inline void wait() {}
inline void *allocate(size_t bytes) { return std::malloc(bytes); }
inline void copy(void *to, const void *from, size_t bytes) { std::memcpy(to, from, bytes); }
inline void clear(void *memory, size_t bytes) { std::memset(memory, 0, bytes); }

using std::min;
inline int atomicAdd(int *place, int value) {
  int found = *place;
  *place += value;
  return found;
}
#endif

template <class T>
T *room_for(size_t count) { return static_cast<T *>(allocate(count * sizeof(T))); }

template <class T>
T *zeros(size_t count) {
  T *found = room_for<T>(count);
  clear(found, count * sizeof(T));
  return found;
}

// One run of a program: `PROGRAM VARIANT INPUT OUTPUT REPEAT NUMBER...`.
class Run {
 public:
  Run(int argc, char **argv)
      : input_(argv[2], std::ios::binary), output_(argv[3]), repeat_(std::atoi(argv[4])),
        next_(argv + 5), variant(argv[1]) {}

  int number() { return std::atoi(*next_++); }

  // The next array of the input, on the device.
  template <class T>
  T *read(size_t count) {
    std::vector<T> values(count);
    input_.read(reinterpret_cast<char *>(values.data()), count * sizeof(T));
    if (!input_) { std::fprintf(stderr, "the input is too short\n"); std::exit(1); }
    T *found = room_for<T>(count);
    copy(found, values.data(), count * sizeof(T));
    return found;
  }

  template <class T>
  void write(const T *values, size_t count) {
    std::vector<T> found(count);
    copy(found.data(), values, count * sizeof(T));
    std::ofstream(output_, std::ios::binary)
        .write(reinterpret_cast<const char *>(found.data()), count * sizeof(T));
  }

  // Take samples of a step, and print them as JSON.
  void measure(const std::function<void()> &step) {
    wait();
    double first = seconds([&] { step(); wait(); });
    std::vector<double> host, device;
    for (int i = 0; i < repeat_; i++) {
      wait();
      host.push_back(seconds(step));
    }
    wait();
#ifdef __CUDACC__
    std::vector<cudaEvent_t> events(2 * repeat_);
    for (cudaEvent_t &event : events) CHECKED(cudaEventCreate(&event));
    // All steps are queued while another kernel runs, so that none waits for the host.
    occupy<<<1, 1>>>(60000ll * repeat_);
    for (int i = 0; i < repeat_; i++) {
      CHECKED(cudaEventRecord(events[2 * i]));
      step();
      CHECKED(cudaEventRecord(events[2 * i + 1]));
    }
    wait();
    CHECKED(cudaGetLastError());
    for (int i = 0; i < repeat_; i++) {
      float milliseconds = 0;
      CHECKED(cudaEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1]));
      device.push_back(milliseconds / 1000);
    }
#else
    for (int i = 0; i < repeat_; i++) device.push_back(seconds(step));
#endif
    print(first, 1 + 2 * repeat_, host, device);
  }

  // Run so many steps, at least 2, and take samples by the clock: the mean time of a step in each
  // part of the run. On a GPU steps are replayed as graphs, of which there are `period`: after so
  // many steps the buffers that a step swaps lie as before.
  void measure_run(int steps, int period, const std::function<void()> &step) {
    wait();
    std::vector<std::function<void()>> recorded;
    double first = seconds([&] { step(); wait(); recorded = record(period, step); });
    std::vector<double> samples;
    int parts = std::min(repeat_, steps - 1);
    for (int part = 0, done = 0; part < parts; part++) {
      int begin = done, end = (steps - 1LL) * (part + 1) / parts;
      double taken = seconds([&] {
        for (; done < end; done++) recorded[done % period]();
        wait();
      });
      samples.push_back(taken / (end - begin));
    }
    print(first, steps, {}, samples);
  }

 private:
  static std::vector<std::function<void()>> record(int period, const std::function<void()> &step) {
#ifdef __CUDACC__
    CHECKED(cudaGetLastError());
    std::vector<std::function<void()>> found;
    CHECKED(cudaStreamCreate(&stream));  // the default stream cannot be captured
    for (int i = 0; i < period; i++) {
      cudaGraph_t graph;
      cudaGraphExec_t made;
      CHECKED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      step();
      CHECKED(cudaStreamEndCapture(stream, &graph));
      CHECKED(cudaGraphInstantiateWithFlags(&made, graph, 0));
      found.push_back([=] { CHECKED(cudaGraphLaunch(made, stream)); });
    }
    return found;
#else
    return std::vector<std::function<void()>>(period, step);
#endif
  }

  static double seconds(const std::function<void()> &action) {
    auto begun = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  static void print(double first, int steps, const std::vector<double> &host,
                    const std::vector<double> &samples) {
    std::printf("{\"first\": %.9f, \"steps\": %d, \"host\": ", first, steps);
    print(host);
    std::printf(", \"samples\": ");
    print(samples);
    std::printf("}\n");
  }

  static void print(const std::vector<double> &values) {
    std::printf("[");
    for (size_t i = 0; i < values.size(); i++) std::printf("%s%.9f", i ? ", " : "", values[i]);
    std::printf("]");
  }

  std::ifstream input_;
  std::string output_;
  int repeat_;
  char **next_;

 public:
  const std::string variant;
};

// Exclusive prefix sums: by CUB, which comes with nvcc, and a loop where there is no GPU.
#pragma once

#include "cuda_program.h"

#ifdef __CUDACC__
#include <cub/device/device_scan.cuh>

class PrefixSum {
 public:
  explicit PrefixSum(int count) : count_(count) {
    const int *values = nullptr;
    int *result = nullptr;
    CHECKED(cub::DeviceScan::ExclusiveSum(nullptr, bytes_, values, result, count));
    memory_ = allocate(bytes_);
  }

  // Make result[k] the sum of the elements of `values` before k.
  void launch(const int *values, int *result) {
    CHECKED(cub::DeviceScan::ExclusiveSum(memory_, bytes_, values, result, count_, stream));
  }

 private:
  int count_;
  size_t bytes_ = 0;
  void *memory_ = nullptr;
};
#else
class PrefixSum {
 public:
  explicit PrefixSum(int count) : count_(count) {}

  void launch(const int *values, int *result) {
    int total = 0;
    for (int k = 0; k < count_; k++) {
      result[k] = total;
      total += values[k];
    }
  }

 private:
  int count_;
};
#endif

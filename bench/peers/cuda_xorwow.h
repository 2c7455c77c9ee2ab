// XORWOW, the default generator of cuRAND, with the numbers of apps/common/xorwow.py: written out so
// that the programs also run where there is no CUDA.
#pragma once

#include "cuda_program.h"

struct Xorwow {
  unsigned d, v[5];

  // One raw draw.
  __device__ unsigned bits() {
    unsigned t = v[0] ^ (v[0] >> 2), last = v[4];
    for (int i = 0; i < 4; i++) v[i] = v[i + 1];
    v[4] = last ^ (last << 4) ^ t ^ (t << 1);
    d += 362437;
    return v[4] + d;
  }

  // One draw above 0 and at most 1.
  __device__ float uniform() { return bits() * 2.3283064e-10f + 1.1641532e-10f; }
};

// What cuRAND makes of a 32-bit seed, taken as signed.
__device__ inline Xorwow seeded(unsigned seed) {
  unsigned high = seed >= 0x80000000u ? 0xFFFFFFFFu : 0u;
  unsigned low_mix = 1099087573u * (seed ^ 0xAAD26B49u);
  unsigned high_mix = 2591861531u * (high ^ 0xF7DCEFDDu);
  return {6615241u + high_mix + low_mix,
          {123456789u + low_mix, 362436069u ^ low_mix, 521288629u + high_mix,
           88675123u ^ high_mix, 5783321u + low_mix}};
}

// What the CPU *and* the OS allow, and how many threads are worth starting.
#pragma once

#include <cstdint>

namespace bankml {

enum CpuFeature : uint32_t {
  kAvx2 = 1,        // AVX2, FMA and F16C, with the OS saving ymm registers
  kAvxVnni = 2,     // dot products of integers in 256 bits
  kAvx512 = 4,      // AVX-512 F, VL, BW and DQ, with the OS saving zmm and mask registers
  kAvx512Vnni = 8,  // dot products of integers in 512 bits
};

// Features usable in this process: CPUID, and XCR0 for the registers that the OS saves.
uint32_t cpu_features();

// Threads worth using: physical cores in the affinity mask (SMT siblings counted once), no more than the cgroup's CPU
// quota, at least 1.
int usable_cores();

// Flushes denormals to zero while it lives (FTZ and DAZ on x86, FZ on ARM), then restores what was set before.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace bankml

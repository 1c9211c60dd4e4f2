#include "cpu.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#endif

namespace bankml {

namespace {

#if defined(__x86_64__)
uint64_t xcr0() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Whether all of `bits` are set.
bool has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

uint32_t detect() {
  constexpr uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kF16c = 1u << 29;  // leaf 1, ecx
  constexpr uint32_t kAvx2Bit = 1u << 5, kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30,
                     kVl = 1u << 31;             // leaf 7.0, ebx
  constexpr uint32_t kAvx512VnniBit = 1u << 11;  // leaf 7.0, ecx
  constexpr uint32_t kAvxVnniBit = 1u << 4;      // leaf 7.1, eax
  constexpr uint64_t kXmmYmm = 0x06, kMaskZmm = 0xe0;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, kFma | kOsxsave | kF16c)) return 0;
  if ((xcr0() & kXmmYmm) != kXmmYmm) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, kAvx2Bit)) return 0;
  uint32_t found = kAvx2;
  if (has(b, kF | kDq | kBw | kVl) && (xcr0() & kMaskZmm) == kMaskZmm) {
    found |= has(c, kAvx512VnniBit) ? kAvx512 | kAvx512Vnni : kAvx512;
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, kAvxVnniBit)) found |= kAvxVnni;
  return found;
}
#else
uint32_t detect() { return 0; }
#endif

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

int physical_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) {  // more processors than a cpu_set_t holds
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;  // by the list of siblings that share the core, "0,64"
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string id = std::to_string(cpu);
    const std::string siblings = first_line("/sys/devices/system/cpu/cpu" + id + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? id : siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

// Cores' worth of quota in one cgroup directory; 0 when there is none. v2: cpu.max "200000 100000" or "max …"; v1: two
// files.
double quota_in(const std::string& directory) {
  double quota = 0, period = 0;
  std::istringstream v2(first_line(directory + "/cpu.max"));
  if (v2 >> quota >> period && period > 0) return quota / period;
  std::istringstream v1(first_line(directory + "/cpu.cfs_quota_us") + " " +
                        first_line(directory + "/cpu.cfs_period_us"));
  if (v1 >> quota >> period && quota > 0 && period > 0) return quota / period;
  return 0;
}

// The tightest quota from the process's own cgroup up to the root: a parent's limit binds its children.
double cgroup_quota() {
  double tightest = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;  // not cpuset
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string group = line.substr(second + 1);; group = group.substr(0, group.rfind('/'))) {
      const double quota = quota_in(root + group);
      if (quota > 0) tightest = tightest > 0 ? std::min(tightest, quota) : quota;
      if (group.empty() || group.find('/') == std::string::npos) break;
    }
  }
  return tightest;
}

}  // namespace

uint32_t cpu_features() {
  static const uint32_t features = detect();
  return features;
}

int usable_cores() {
  const double quota = cgroup_quota();
  const int cores = physical_cores();
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
}

#if defined(__x86_64__)
FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(static_cast<uint32_t>(saved_) | 0x8040); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<uint32_t>(saved_)); }
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
  __asm__ volatile("msr fpcr, %0" ::"r"(saved_ | uint64_t{1} << 24));
}
FlushDenormals::~FlushDenormals() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
FlushDenormals::FlushDenormals() : saved_(0) {}
FlushDenormals::~FlushDenormals() = default;
#endif

}  // namespace bankml

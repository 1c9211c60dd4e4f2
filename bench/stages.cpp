#include "stages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bankml {

namespace {

// The time stamp counter takes a third of a clock's call; it runs at one speed on every x86-64 of the last 15 years.
uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// One thread's. Only that thread writes; others read a value that is at most one mark old.
struct alignas(64) Clock {
  std::array<std::atomic<uint64_t>, kStageNames.size()> spent{};
  std::atomic<uint64_t> since{ticks()};
  std::atomic<Stage> stage{Stage::other};
  std::atomic<uint64_t> marks{0};

  Stage enter(Stage next) {
    const uint64_t now = ticks();
    const Stage before = stage.load(std::memory_order_relaxed);
    add(spent[static_cast<size_t>(before)], now - since.load(std::memory_order_relaxed));
    since.store(now, std::memory_order_relaxed);
    stage.store(next, std::memory_order_relaxed);
    return before;
  }

  static void add(std::atomic<uint64_t>& sum, uint64_t more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
};

std::mutex mutex;
std::vector<Clock*> clocks;  // never freed: the pool's threads live as long as the process

Clock* make_clock() {
  const std::lock_guard lock(mutex);
  return clocks.emplace_back(new Clock);
}

Clock& own_clock() {
  thread_local Clock* const clock = make_clock();
  return *clock;
}

}  // namespace

Timed::Timed(Stage stage) : outer_(own_clock().enter(stage)) { Clock::add(own_clock().marks, 1); }
Timed::~Timed() { own_clock().enter(outer_); }

StageTimes stage_times() {
  const std::lock_guard lock(mutex);
  StageTimes out;
  out.now = ticks();
  for (const Clock* clock : clocks) {
    for (size_t i = 0; i < out.ticks.size(); ++i) out.ticks[i] += clock->spent[i].load(std::memory_order_relaxed);
    const uint64_t since = clock->since.load(std::memory_order_relaxed);
    out.ticks[static_cast<size_t>(clock->stage.load(std::memory_order_relaxed))] += out.now - std::min(since, out.now);
    out.marks += clock->marks.load(std::memory_order_relaxed);
  }
  return out;
}

double ticks_of_a_mark() {
  constexpr int kMarks = 1000, kRounds = 100;
  uint64_t best = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t start = ticks();
    for (int i = 0; i < kMarks; ++i) const Timed timed(Stage::other);
    best = std::min(best, ticks() - start);
  }
  return static_cast<double>(best) / kMarks;
}

}  // namespace bankml

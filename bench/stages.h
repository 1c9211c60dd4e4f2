// The clocks behind csrc/stage.h: for each thread the time of each stage, read all together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stage.h"

namespace bankml {

constexpr std::array<const char*, 11> kStageNames = {"other", "tokenizer", "gather",    "norm",    "rows", "panels",
                                                     "tiles", "finish",    "attention", "pooling", "wait"};
static_assert(kStageNames.size() == static_cast<size_t>(Stage::wait) + 1);  // a name for each, in the same order

// Ticks of every thread so far, what it is at included.
struct StageTimes {
  std::array<uint64_t, kStageNames.size()> ticks{};  // by Stage, all threads together
  uint64_t marks = 0;                                // how many stages were begun
  uint64_t now = 0;                                  // ticks
};

StageTimes stage_times();

// What one mark costs, in ticks: beginning and ending a stage.
double ticks_of_a_mark();

}  // namespace bankml

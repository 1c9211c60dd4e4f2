// The clocks behind csrc/stage.h: for each thread the time of each stage, read all together.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "stage.h"

namespace bankml {

constexpr std::array<const char*, 11> kStageNames = {"other", "tokenizer", "gather",    "norm",    "rows", "panels",
                                                     "tiles", "finish",    "attention", "pooling", "wait"};

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

// `bankml_profile MODEL BACKEND THREADS TOKENS SECONDS < TEXTS`: encodes the texts of stdin, one a line, each cut to
// TOKENS, for SECONDS; prints as JSON the time of every call and how it splits into stages. bench/profile.py reads it.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine.h"
#include "stages.h"

using namespace bankml;
using std::chrono::steady_clock;

namespace {

constexpr int kLeastCalls = 3;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::vector<std::string> lines(std::istream& in) {
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// One call: its seconds, its ticks, its marks, and the ticks of each stage.
void print_call(const Engine& engine, const std::vector<std::string_view>& texts, const EncodeOptions& options) {
  const StageTimes before = stage_times();
  const auto start = steady_clock::now();
  engine.encode(texts, options);
  const double seconds = seconds_since(start);
  const StageTimes after = stage_times();
  std::printf("{\"seconds\": %.9f, \"ticks\": %llu, \"marks\": %llu, \"stages\": {", seconds,
              static_cast<unsigned long long>(after.now - before.now),
              static_cast<unsigned long long>(after.marks - before.marks));
  for (size_t i = 0; i < kStageNames.size(); ++i) {
    std::printf("%s\"%s\": %lld", i == 0 ? "" : ", ", kStageNames[i],
                static_cast<long long>(after.ticks[i] - before.ticks[i]));
  }
  std::printf("}}");
}

void profile(const std::string& model, const Options& engine_options, const EncodeOptions& options, double seconds) {
  const std::vector<std::string> held = lines(std::cin);
  const std::vector<std::string_view> texts(held.begin(), held.end());
  const Engine engine(model, engine_options);
  int tokens = 0;
  for (const int32_t length : engine.encode(texts, options).tokens) tokens += length;  // also warms up
  std::printf("{\"backend\": \"%s\", \"threads\": %d, \"texts\": %zu, \"tokens\": %d, \"ticks_of_a_mark\": %.2f,\n",
              engine.backend(), engine.threads(), texts.size(), tokens, ticks_of_a_mark());
  std::printf(" \"calls\": [\n");
  const auto start = steady_clock::now();
  for (int call = 0; call < kLeastCalls || seconds_since(start) < seconds; ++call) {
    std::printf("%s", call == 0 ? "" : ",\n");
    print_call(engine, texts, options);
  }
  std::printf("\n]}\n");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) throw std::invalid_argument("usage: bankml_profile MODEL BACKEND THREADS TOKENS SECONDS < TEXTS");
  Options engine;
  engine.backend = argv[2];
  engine.threads = std::stoi(argv[3]);
  EncodeOptions encode;
  encode.max_tokens = std::stoi(argv[4]);
  profile(argv[1], engine, encode, std::stod(argv[5]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

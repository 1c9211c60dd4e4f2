// Token ids of several texts, one behind the other; no padding anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bankml {

struct Batch {
  std::vector<int32_t> ids;       // (tokens)
  std::vector<int> starts = {0};  // (texts + 1): text i is ids[starts[i]] … ids[starts[i + 1] − 1]

  int tokens() const { return static_cast<int>(ids.size()); }
  int texts() const { return static_cast<int>(starts.size()) - 1; }
  int length(int text) const { return starts[text + 1] - starts[text]; }
  std::span<const int32_t> text(int i) const { return {ids.data() + starts[i], static_cast<size_t>(length(i))}; }
  void add(std::span<const int32_t> text) {
    ids.insert(ids.end(), text.begin(), text.end());
    starts.push_back(tokens());
  }
};

}  // namespace bankml

#include "unicode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <vector>

namespace bankml::unicode {
namespace {

struct Range {  // up to the next range's first
  char32_t first;
  uint8_t kind;
};

struct Mapping {
  char32_t from;
  uint32_t start;  // in the pool
  uint32_t length;
};

#include "unicode_tables.inc"

// One byte a code point in two stages: of 4,352 blocks of 256 most are uniform and shared.
class KindTable {
 public:
  KindTable() {
    std::array<uint8_t, 256> block{};
    const Range* range = kRanges;
    for (char32_t c = 0; c <= 0x10FFFF; c++) {
      while (range + 1 != std::end(kRanges) && range[1].first <= c) range++;
      block[c % 256] = range->kind;
      if (c % 256 == 255) places_[c / 256] = place(block);
    }
  }
  uint8_t at(char32_t c) const { return blocks_[places_[c / 256]][c % 256]; }

 private:
  uint16_t place(const std::array<uint8_t, 256>& block) {
    if (blocks_.empty() || blocks_.back() != block) blocks_.push_back(block);
    return static_cast<uint16_t>(blocks_.size() - 1);
  }

  std::array<uint16_t, 0x110000 / 256> places_{};
  std::vector<std::array<uint8_t, 256>> blocks_;
};

template <size_t n>
std::u32string_view mapped(const Mapping (&mappings)[n], const char32_t* pool, char32_t c) {
  const Mapping* found =
      std::lower_bound(mappings, mappings + n, c, [](const Mapping& m, char32_t x) { return m.from < x; });
  if (found == mappings + n || found->from != c) return {};
  return {pool + found->start, found->length};
}

constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;

}  // namespace

CodePointKind kind(char32_t c) {
  static const KindTable table;
  return kKinds[table.at(c)];
}

std::u32string_view decompose(char32_t c, char32_t (&hangul)[3]) {
  const char32_t syllable = c - kSyllables;
  if (c < kSyllables || syllable >= 11172) return mapped(kDecomposed, kDecomposedPool, c);
  hangul[0] = kLeads + syllable / 588;
  hangul[1] = kVowels + syllable % 588 / 28;
  hangul[2] = kTails + syllable % 28;
  return {hangul, syllable % 28 == 0 ? size_t{2} : size_t{3}};
}

std::u32string_view lower(char32_t c) { return mapped(kLowered, kLoweredPool, c); }

}  // namespace bankml::unicode

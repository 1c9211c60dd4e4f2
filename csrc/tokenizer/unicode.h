// What BERT's normaliser and pre-tokenizer know of a code point; the tables are observed from Hugging Face
// `tokenizers`.
#pragma once

#include <cstdint>
#include <string_view>

namespace bankml::unicode {

enum Flag : uint8_t {
  kDrop = 1,         // removed by clean_text: controls, unassigned, U+FFFD
  kSpace = 2,        // becomes a space
  kIdeograph = 4,    // a word of its own
  kPunctuation = 8,  // a word of its own
  kMark = 16,        // removed by strip_accents
  kDecomposes = 32,
  kLowers = 64,
};

struct CodePointKind {
  uint8_t flags;
  uint8_t order;  // rank in canonical ordering; 0 = starter, nothing moves past it
};

CodePointKind kind(char32_t c);  // c <= U+10FFFF

// The full canonical decomposition; `hangul` is where a syllable's two or three jamo go. For kDecomposes.
std::u32string_view decompose(char32_t c, char32_t (&hangul)[3]);
// The full lower-case mapping. For kLowers.
std::u32string_view lower(char32_t c);

}  // namespace bankml::unicode

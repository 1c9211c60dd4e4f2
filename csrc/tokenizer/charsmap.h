// SentencePiece's precompiled character map: byte sequences → replacements, longest match first.
//
// The blob is u32 length, that many bytes of an XOR-compressed double array, then NUL-terminated replacements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../error.h"
#include "../gguf.h"

namespace bankml {

class Charsmap {
 public:
  struct Match {
    size_t bytes = 0;  // 0: nothing at the front of the text is mapped
    std::string_view replacement;
  };

  Charsmap() { std::fill_n(plain_.begin(), 128, true); }  // maps nothing
  // Throws a model_error naming tokenizer.ggml.precompiled_charsmap when sizes and contents disagree. `path` is the
  // file's, for messages.
  explicit Charsmap(std::string_view blob, std::string path = "");

  bool empty() const { return units_.empty(); }
  // The longest mapped prefix. A walk or replacement outside of the blob is a model_error, found when a text first
  // leads there.
  Match longest(std::string_view text) const;
  // Whether a byte is ASCII and stays as it is when another ASCII byte or the end of the text follows: most of most
  // texts.
  bool plain(char byte) const { return plain_[static_cast<uint8_t>(byte)]; }

 private:
  uint32_t unit(size_t index) const;
  std::string_view replacement(uint32_t offset) const;
  size_t reach(std::string_view text) const;
  bool is_plain(char ascii) const;
  Error broken(const std::string& what) const;
  Error out_of_range(size_t index) const;

  std::string path_;
  std::vector<uint32_t> units_;
  std::string replacements_;
  std::vector<bool> starts_text_;  // whether UTF-8 up to the NUL begins at an offset of the replacements
  std::array<bool, 256> plain_{};
};

// The file's map; it may be stored as bytes or, as some converters do, as an array of base64 characters. Absent → maps
// nothing.
Charsmap read_charsmap(const gguf::File& file);

}  // namespace bankml

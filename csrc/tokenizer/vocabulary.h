// The pieces of a file's vocabulary and its special tokens, copied out of `tokenizer.ggml.*`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../gguf.h"
#include "trie.h"

namespace bankml {

enum class PieceType : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };

class Vocabulary {
 public:
  explicit Vocabulary(const gguf::File& file);

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  std::string_view piece(int32_t id) const;  // empty for an id out of range
  uint32_t piece_bytes(int32_t id) const {
    return starts_[static_cast<size_t>(id) + 1] - starts_[static_cast<size_t>(id)];
  }
  PieceType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  uint32_t longest_piece() const { return longest_; }         // bytes
  std::optional<int32_t> find(std::string_view piece) const;  // reads the whole vocabulary

  // A trie of the pieces whose type is in `types`. Empty pieces and pieces that are not UTF-8 match no text and are
  // left out. `scores` are by id, or empty.
  Trie trie(std::initializer_list<PieceType> types, const std::vector<float>& scores = {}) const;

  // The id under a key. Out of range is a model_error if the id is needed, else a warning and nothing.
  std::optional<int32_t> special(const gguf::File& file, std::string_view key, bool needed);
  // The first key that is there; without any, the token that is written as `text`, with a warning. It is a model_error
  // if there is none.
  int32_t needed(const gguf::File& file, std::initializer_list<const char*> keys, std::string_view text);
  bool flag(const gguf::File& file, std::string_view key, bool assumed);
  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::string path_;              // of the file, for messages
  std::string bytes_;             // all pieces, one after the other
  std::vector<uint32_t> starts_;  // (size + 1) places in bytes_
  std::vector<PieceType> types_;
  uint32_t longest_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace bankml

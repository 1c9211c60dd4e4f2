#include "vocabulary.h"

#include <algorithm>

#include "../error.h"
#include "../utf8.h"

namespace bankml {
namespace {

constexpr size_t kMaxPieces = size_t{1} << 22;  // the trie's nodes; each piece needs at least one
constexpr size_t kMaxPieceBytes = size_t{1}
                                  << 16;  // XLM-R's longest has 48; the lattice keeps a score a byte of the longest

std::vector<PieceType> read_types(const gguf::File& file, size_t size, std::vector<std::string>& warnings) {
  if (file.find("tokenizer.ggml.token_type") == nullptr) {
    warnings.push_back("tokenizer.ggml.token_type is absent: every token is taken as text");
    return std::vector<PieceType>(size, PieceType::normal);
  }
  const std::vector<int32_t> numbers = file.integers("tokenizer.ggml.token_type");
  if (numbers.size() < size) {
    throw file.error("tokenizer.ggml.token_type has " + std::to_string(numbers.size()) + " entries for " +
                     std::to_string(size) + " tokens; convert the model again");
  }
  std::vector<PieceType> types(size);
  for (size_t i = 0; i < size; i++) {
    const bool known = numbers[i] > 0 && numbers[i] <= static_cast<int32_t>(PieceType::byte);
    types[i] = known ? static_cast<PieceType>(numbers[i]) : PieceType::undefined;
  }
  return types;
}

}  // namespace

Vocabulary::Vocabulary(const gguf::File& file) : path_(file.path()) {
  const std::vector<std::string_view> pieces = file.strings("tokenizer.ggml.tokens");
  if (pieces.empty() || pieces.size() > kMaxPieces) {
    throw file.error("tokenizer.ggml.tokens has " + std::to_string(pieces.size()) +
                     " entries; a vocabulary has from 1 to 2^27; convert the model again");
  }
  types_ = read_types(file, pieces.size(), warnings_);
  starts_.reserve(pieces.size() + 1);
  starts_.push_back(0);
  for (const std::string_view piece : pieces) {
    if (piece.size() > kMaxPieceBytes || bytes_.size() + piece.size() > UINT32_MAX) {
      throw file.error("tokenizer.ggml.tokens holds a piece of " + std::to_string(piece.size()) + " bytes as token " +
                       std::to_string(starts_.size() - 1) +
                       "; pieces have at most 65536 and 4 GiB in all; convert the model again");
    }
    bytes_ += piece;
    starts_.push_back(static_cast<uint32_t>(bytes_.size()));
    longest_ = std::max(longest_, static_cast<uint32_t>(piece.size()));
  }
  bytes_.shrink_to_fit();
}

std::string_view Vocabulary::piece(int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return std::string_view(bytes_).substr(starts_[static_cast<size_t>(id)], piece_bytes(id));
}

std::optional<int32_t> Vocabulary::find(std::string_view wanted) const {
  for (int32_t id = 0; id < size(); id++) {
    if (piece(id) == wanted) return id;
  }
  return std::nullopt;
}

Trie Vocabulary::trie(std::initializer_list<PieceType> types, const std::vector<float>& scores) const {
  std::vector<Trie::Entry> entries;
  for (int32_t id = 0; id < size(); id++) {
    const std::string_view text = piece(id);
    const bool wanted = std::find(types.begin(), types.end(), type(id)) != types.end();
    if (!wanted || text.empty() || !utf8::valid(text)) continue;
    entries.push_back({text, id, scores.empty() ? 0 : scores[static_cast<size_t>(id)]});
  }
  return Trie(std::move(entries), path_);
}

std::optional<int32_t> Vocabulary::special(const gguf::File& file, std::string_view key, bool needed) {
  const std::optional<int64_t> id = file.integer(key);
  if (!id) return std::nullopt;
  if (*id >= 0 && *id < size()) return static_cast<int32_t>(*id);
  const std::string fault =
      std::string(key) + " is " + std::to_string(*id) + ", outside of the vocabulary of " + std::to_string(size());
  if (needed) throw file.error(fault + "; convert the model again");
  warn(fault + ": it is ignored");
  return std::nullopt;
}

int32_t Vocabulary::needed(const gguf::File& file, std::initializer_list<const char*> keys, std::string_view text) {
  for (const char* key : keys) {
    if (const std::optional<int32_t> id = special(file, key, true)) return *id;
  }
  const std::string absent = std::string(*keys.begin()) + " is absent";
  const std::optional<int32_t> id = find(text);
  if (!id) throw file.error(absent + " and the vocabulary has no " + std::string(text) + "; convert the model again");
  warn(absent + ": " + std::string(text) + ", token " + std::to_string(*id) + ", is assumed");
  return *id;
}

bool Vocabulary::flag(const gguf::File& file, std::string_view key, bool assumed) {
  const std::optional<bool> value = file.boolean(key);
  if (!value) warn(std::string(key) + " is absent: " + (assumed ? "true" : "false") + " is assumed");
  return value.value_or(assumed);
}

}  // namespace bankml

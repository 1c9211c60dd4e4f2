// SentencePiece's Unigram model, as XLM-R uses it.
#include <algorithm>
#include <cmath>

#include "../error.h"
#include "charsmap.h"
#include "lattice.h"
#include "specials.h"
#include "tokenizer.h"
#include "vocabulary.h"

namespace bankml {
namespace {

constexpr float kUnknownPenalty = 10.0f;

class Unigram final : public Tokenizer {
 public:
  explicit Unigram(const gguf::File& file);

  Tokens tokenize(std::string_view utf8, const TokenizeOptions& options) const override;
  int32_t vocabulary_size() const override { return vocabulary_.size(); }
  std::string piece(int32_t id) const override { return std::string(vocabulary_.piece(id)); }
  const std::vector<std::string>& warnings() const override { return vocabulary_.warnings(); }

 private:
  std::vector<float> read_scores(const gguf::File& file);
  void read_specials(const gguf::File& file);

  Vocabulary vocabulary_;
  Charsmap charsmap_;
  Specials specials_;
  UnigramPieces pieces_;
  SpaceRules spaces_;
  std::optional<int32_t> opening_, closing_;
};

Unigram::Unigram(const gguf::File& file) : vocabulary_(file), charsmap_(read_charsmap(file)), specials_(vocabulary_) {
  pieces_.vocabulary = &vocabulary_;
  pieces_.trie = vocabulary_.trie({PieceType::normal, PieceType::user_defined, PieceType::unused}, read_scores(file));
  // Absent flags are SentencePiece's defaults, with which XLM-R and T5 were trained; llama.cpp takes false for both.
  spaces_.add_prefix = vocabulary_.flag(file, "tokenizer.ggml.add_space_prefix", true);
  spaces_.remove_extra = vocabulary_.flag(file, "tokenizer.ggml.remove_extra_whitespaces", true);
  if (charsmap_.empty()) vocabulary_.warn("tokenizer.ggml.precompiled_charsmap is absent: text is not normalised");
  read_specials(file);
}

std::vector<float> Unigram::read_scores(const gguf::File& file) {
  const auto size = static_cast<size_t>(vocabulary_.size());
  std::vector<float> scores = file.floats("tokenizer.ggml.scores");
  if (scores.size() < size) {
    throw file.error("tokenizer.ggml.scores has " + std::to_string(scores.size()) + " entries for " +
                     std::to_string(size) + " tokens; convert the model again");
  }
  float least = 0;
  for (size_t i = 0; i < size; i++) {
    const PieceType type = vocabulary_.type(static_cast<int32_t>(i));
    float& score = scores[i];
    if (!std::isfinite(score))
      throw file.error("tokenizer.ggml.scores[" + std::to_string(i) + "] is not finite; convert the model again");
    if (type == PieceType::user_defined) score = 0;
    if (type == PieceType::normal) least = std::min(least, score);
  }
  pieces_.unknown_score = least - kUnknownPenalty;
  return scores;
}

// What is absent is assumed as the vocabulary has it: XLM-R writes <s> and opens every text with it, T5 has none.
void Unigram::read_specials(const gguf::File& file) {
  constexpr const char *kBos = "tokenizer.ggml.bos_token_id", *kEos = "tokenizer.ggml.eos_token_id";
  const bool has_bos = file.find(kBos) != nullptr || vocabulary_.find("<s>").has_value();
  if (vocabulary_.flag(file, "tokenizer.ggml.add_bos_token", has_bos)) {
    opening_ = vocabulary_.needed(file, {kBos}, "<s>");
  }
  if (vocabulary_.flag(file, "tokenizer.ggml.add_eos_token", true)) {
    closing_ = vocabulary_.needed(file, {kEos}, "</s>");
  }
  pieces_.unknown = vocabulary_.needed(file, {"tokenizer.ggml.unknown_token_id"}, "<unk>");
  for (const char* key : {kBos, kEos, "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
                          "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id"}) {
    vocabulary_.special(file, key, false);
  }
}

Tokens Unigram::tokenize(std::string_view utf8, const TokenizeOptions& options) const {
  TokenSink sink(options.limit, closing_);
  if (opening_) sink.add(*opening_);
  Lattice lattice(pieces_);
  const auto plain = [&](std::string_view text) {
    Normalizer normalizer(text, charsmap_, spaces_);
    lattice.segment(normalizer, sink);
    return !sink.full();
  };
  const auto special = [&](int32_t id) {
    sink.add(id);
    return !sink.full();
  };
  specials_.partition(utf8, options.parse_special, plain, special);
  return std::move(sink).finish();
}

}  // namespace

std::unique_ptr<Tokenizer> make_unigram(const gguf::File& file) { return std::make_unique<Unigram>(file); }

}  // namespace bankml

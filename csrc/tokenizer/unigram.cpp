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
  std::optional<int32_t> assumed(const gguf::File& file, std::string_view key, bool needed, int32_t id);

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
  spaces_.add_prefix = vocabulary_.flag(file, "tokenizer.ggml.add_space_prefix", false);
  spaces_.remove_extra = vocabulary_.flag(file, "tokenizer.ggml.remove_extra_whitespaces", false);
  read_specials(file);
}

std::vector<float> Unigram::read_scores(const gguf::File& file) {
  const auto size = static_cast<size_t>(vocabulary_.size());
  std::vector<float> scores = file.floats("tokenizer.ggml.scores");
  if (scores.size() < size) {
    throw model_error("tokenizer.ggml.scores has " + std::to_string(scores.size()) + " entries for " +
                      std::to_string(size) + " tokens; convert the model again");
  }
  float least = 0;
  for (size_t i = 0; i < size; i++) {
    const PieceType type = vocabulary_.type(static_cast<int32_t>(i));
    float& score = scores[i];
    if (!std::isfinite(score))
      throw model_error("tokenizer.ggml.scores[" + std::to_string(i) + "] is not finite; convert the model again");
    if (type == PieceType::user_defined) score = 0;
    if (type == PieceType::normal) least = std::min(least, score);
  }
  pieces_.unknown_score = least - kUnknownPenalty;
  return scores;
}

// The numbers for absent keys are T5's, as in llama.cpp.
void Unigram::read_specials(const gguf::File& file) {
  const bool add_bos = vocabulary_.flag(file, "tokenizer.ggml.add_bos_token", false);
  const bool add_eos = vocabulary_.flag(file, "tokenizer.ggml.add_eos_token", true);
  const std::optional<int32_t> bos = vocabulary_.special(file, "tokenizer.ggml.bos_token_id", add_bos);
  const std::optional<int32_t> eos = assumed(file, "tokenizer.ggml.eos_token_id", add_eos, 1);
  pieces_.unknown = *assumed(file, "tokenizer.ggml.unknown_token_id", true, 2);
  for (const char* key : {"tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
                          "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id"}) {
    vocabulary_.special(file, key, false);
  }
  if (add_bos && !bos)
    throw model_error(
        "tokenizer.ggml.add_bos_token is true but tokenizer.ggml.bos_token_id is absent; convert the model again");
  if (add_bos) opening_ = bos;
  if (add_eos) closing_ = eos;
}

std::optional<int32_t> Unigram::assumed(const gguf::File& file, std::string_view key, bool needed, int32_t id) {
  if (file.find(key) != nullptr) return vocabulary_.special(file, key, needed);
  vocabulary_.warn(std::string(key) + " is absent: " + std::to_string(id) + " is assumed");
  if (id < vocabulary_.size()) return id;
  if (!needed) return std::nullopt;
  throw model_error(std::string(key) + " is absent and the assumed " + std::to_string(id) +
                    " is outside of the vocabulary of " + std::to_string(vocabulary_.size()) +
                    "; convert the model again");
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

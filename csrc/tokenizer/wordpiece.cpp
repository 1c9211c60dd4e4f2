// BERT's WordPiece: each word is cut greedily into the longest pieces, or is unknown as a whole.
#include "../utf8.h"
#include "bert_words.h"
#include "sink.h"
#include "specials.h"
#include "tokenizer.h"
#include "vocabulary.h"

namespace bankml {
namespace {

constexpr std::string_view kWordStart =
    "\xE2\x96\x81";  // U+2581 before pieces that begin a word; the others have nothing

class WordPiece final : public Tokenizer {
 public:
  explicit WordPiece(const gguf::File& file);

  Tokens tokenize(std::string_view utf8, const TokenizeOptions& options) const override;
  int32_t vocabulary_size() const override { return vocabulary_.size(); }
  std::string piece(int32_t id) const override { return std::string(vocabulary_.piece(id)); }
  const std::vector<std::string>& warnings() const override { return vocabulary_.warnings(); }

 private:
  bool cut(std::string_view word, std::vector<int32_t>& ids) const;
  void add_words(std::string_view text, std::vector<int32_t>& ids, TokenSink& sink) const;

  Vocabulary vocabulary_;
  Specials specials_;
  Trie trie_;
  Trie::Node word_start_;
  BertRules rules_;
  BertAscii ascii_;
  int32_t opening_, closing_, unknown_;
};

BertRules read_rules(const gguf::File& file) {
  const bool lowercase = file.boolean("tokenizer.ggml.normalizer.lowercase").value_or(true);
  return {lowercase, file.boolean("tokenizer.ggml.normalizer.strip_accents").value_or(lowercase)};
}

WordPiece::WordPiece(const gguf::File& file)
    : vocabulary_(file),
      specials_(vocabulary_),
      trie_(vocabulary_.trie({PieceType::normal, PieceType::user_defined, PieceType::unused})),
      word_start_(trie_.find(kWordStart)),
      rules_(read_rules(file)),
      ascii_(rules_),
      opening_(vocabulary_.needed(file, {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.cls_token_id"}, "[CLS]")),
      closing_(vocabulary_.needed(file, {"tokenizer.ggml.seperator_token_id", "tokenizer.ggml.eos_token_id"}, "[SEP]")),
      unknown_(vocabulary_.needed(file, {"tokenizer.ggml.unknown_token_id"}, "[UNK]")) {
  for (const char* key : {"tokenizer.ggml.cls_token_id", "tokenizer.ggml.eos_token_id",
                          "tokenizer.ggml.padding_token_id", "tokenizer.ggml.mask_token_id"}) {
    vocabulary_.special(file, key, false);
  }
}

// Appends the word's pieces; false when some part of it is no piece.
bool WordPiece::cut(std::string_view word, std::vector<int32_t>& ids) const {
  for (Trie::Node start = word_start_; !word.empty(); start = trie_.root()) {
    // Inside a word U+2581 is a character, not the mark of a word's start.
    if (!ids.empty() && word.substr(0, kWordStart.size()) == kWordStart) return false;
    size_t longest = 0;
    Trie::Node node = start, piece = start;
    for (size_t i = 0; i < word.size() && trie_.step(node, static_cast<uint8_t>(word[i])); i++) {
      if (!node.ends()) continue;
      longest = i + 1;
      piece = node;
    }
    if (longest == 0) return false;
    ids.push_back(trie_.leaf(piece).id);
    word.remove_prefix(longest);
  }
  return true;
}

void WordPiece::add_words(std::string_view text, std::vector<int32_t>& ids, TokenSink& sink) const {
  BertWords words(text, rules_, ascii_);
  while (!sink.full() && words.next()) {
    ids.clear();
    if (words.too_long() || !cut(words.word(), ids)) ids.assign(1, unknown_);
    for (const int32_t id : ids) sink.add(id);
  }
}

Tokens WordPiece::tokenize(std::string_view utf8, const TokenizeOptions& options) const {
  TokenSink sink(options.limit, closing_);
  sink.add(opening_);
  std::vector<int32_t> ids;
  const auto plain = [&](std::string_view text) {
    add_words(text, ids, sink);
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

std::unique_ptr<Tokenizer> make_wordpiece(const gguf::File& file) { return std::make_unique<WordPiece>(file); }

}  // namespace bankml

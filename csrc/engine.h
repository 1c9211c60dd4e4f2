// The public face of the engine: load a file, tokenize, embed. Knows nothing of Python, HTTP or Ollama.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "tokenizer/tokenizer.h"

namespace bankml {

// Raised whenever a release changes the bits of a vector by more than backends differ by (docs/numerics.md): whoever
// keeps vectors must not compare old ones with new ones.
constexpr int kNumerics = 1;

enum class Pooling { none, mean, cls, last };
enum class Gelu { erf, tanh };

struct Options {
  int threads = 0;      // 0: one per usable physical core
  std::string backend;  // "": the best one this CPU and OS allow
  Gelu gelu = Gelu::erf;
  std::optional<Pooling> pooling;  // overrides the file's
  int pass_tokens = 1024;          // token budget of one pass; a longer text runs alone
};

struct EncodeOptions {
  bool normalize = true;
  bool truncate = true;  // false: a text above context_length is an input_error that gives both counts
  int dimensions = 0;    // 0 < d < dims: cut, then normalise
  int max_tokens = 0;    // 0: the model's context length
  bool parse_special = false;
  bool urgent = false;              // goes before passes that are not, between their layers
  std::function<bool()> cancelled;  // asked between layers, at most every 50 ms
};

struct Embeddings {
  std::vector<float> vectors;  // (rows, dims); a row a text, or a row a token for Pooling::none
  int dims = 0;
  std::vector<int32_t> tokens;     // tokens really encoded, a text
  std::vector<uint8_t> truncated;  // a text
};

struct Tokenized {
  Batch batch;
  std::vector<uint8_t> truncated;  // a text
};

struct PassOptions {
  bool urgent = false;
  std::function<std::vector<int>()> unwanted;  // asked as `cancelled`: the texts that nobody waits for any more
};

struct Model {  // what the file says
  std::string arch, name;
  int layers = 0, hidden = 0, heads = 0, ffn = 0, context_length = 0;
  float epsilon = 0;
  Pooling pooling = Pooling::none;
  std::vector<std::string> warnings;  // what it leaves unsaid and is assumed
};

class Engine {
 public:
  Engine(const std::string& path, const Options& options);
  ~Engine();

  const Model& model() const;
  const gguf::File& file() const;
  const Tokenizer& tokenizer() const;
  const char* backend() const;
  int threads() const;
  Pooling pooling() const;
  std::vector<std::string> warnings() const;

  // Texts in, vectors out, in order. Thread-safe. Any number of texts; memory is bounded by the pass, not by the call.
  // An error that is about one text says which: Error::text counts in the call.
  Embeddings encode(const std::vector<std::string_view>& texts, const EncodeOptions& options) const;
  Embeddings encode_ids(const std::vector<std::vector<int32_t>>& ids, const EncodeOptions& options) const;

  // The same in two steps, for a caller that makes passes of the texts of several requests: their ids, cut to the limit
  // as `encode` cuts them, and the pooled rows (texts, hidden) of one pass over such ids, as the model made them. The
  // rows of unwanted texts are zero.
  Tokenized tokenize(const std::vector<std::string_view>& texts, const EncodeOptions& options) const;
  // The ids of whole texts, however long, and of none where there are none.
  Tokenized tokenize_whole(const std::vector<std::string_view>& texts, const EncodeOptions& options) const;
  std::vector<float> encode_pass(const Batch& batch, const PassOptions& options) const;

  // Reads every weight; throws a model_error naming the first tensor that holds a value that is not finite.
  void verify_finite(const std::function<void(uint64_t done, uint64_t total)>& progress) const;

 private:
  struct Impl;
  int limit(const EncodeOptions& options) const;
  template <class Next>
  Tokenized tokenize_all(size_t count, const EncodeOptions& options, const Next& next) const;
  template <class Next>
  Embeddings encode_all(size_t count, const EncodeOptions& options, const Next& next) const;
  std::unique_ptr<Impl> impl_;
};

// Keeps the first `dims` of the `hidden` components of each row, of unit length (L2) when `normalize`, as `encode`
// does.
std::vector<float> shortened(const float* rows, int64_t count, int hidden, int dims, bool normalize);

}  // namespace bankml

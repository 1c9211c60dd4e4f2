#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <span>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "cpu.h"
#include "encoder.h"
#include "error.h"
#include "kernels/registry.h"
#include "stage.h"

namespace bankml {

namespace {

constexpr auto kCancelCheck = std::chrono::milliseconds(50);
constexpr size_t kIdleWorkspace = size_t{64}
                                  << 20;  // a larger one (a text of thousands of tokens) is given back to the system

constexpr int kMaxThreads = 1024;

// The allocator keeps what was freed: 12 MB after XLM-R's tokenizer was built, 26 to 50 MB after a model is closed.
void give_memory_back() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

int threads_for(int wanted) {
  if (wanted < 0 || wanted > kMaxThreads) {
    throw input_error("threads is " + std::to_string(wanted) + ", 0 (one per usable core) to " +
                      std::to_string(kMaxThreads) + " is possible");
  }
  return wanted == 0 ? usable_cores() : wanted;
}

// L2 norm summed in double, in order; the zero vector stays zero.
void normalise_row(float* row, int dims) {
  double sum = 0;
  for (int i = 0; i < dims; ++i) sum += static_cast<double>(row[i]) * row[i];
  if (sum == 0) return;
  const double inverse = 1 / std::sqrt(sum);
  for (int i = 0; i < dims; ++i) row[i] = static_cast<float>(row[i] * inverse);
}

// Whether to ask the caller something again: at most every kCancelCheck, because asking may mean waiting for the
// caller's interpreter.
class Patience {
 public:
  bool over() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + kCancelCheck;
    return true;
  }

 private:
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kCancelCheck;
};

void check_cancelled(const EncodeOptions& options, Patience& patience) {
  if (options.cancelled && patience.over() && options.cancelled()) {
    throw Error(ErrorKind::cancelled, "the request was cancelled");
  }
}

// Takes the unwanted texts out of the pass and of the list of those that are left.
void drop(const std::vector<int>& unwanted, std::vector<int>& wanted, Pass& pass) {
  const std::set<int> gone(unwanted.begin(), unwanted.end());
  std::vector<int> kept, left;
  for (int i = 0; i < static_cast<int>(wanted.size()); ++i) {
    if (gone.contains(wanted[i])) continue;
    kept.push_back(i);
    left.push_back(wanted[i]);
  }
  if (left.size() < wanted.size() && !left.empty()) pass.keep(kept);
  wanted = std::move(left);
}

// The rows of the wanted texts → the rows of all, zero for the others.
std::vector<float> spread(const std::vector<float>& rows, const std::vector<int>& wanted, int texts, size_t hidden) {
  std::vector<float> out(texts * hidden);
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::copy_n(rows.data() + i * hidden, hidden, out.data() + wanted[i] * hidden);
  }
  return out;
}

}  // namespace

struct Engine::Impl {
  Impl(const std::string& path, const Options& options)
      : file(path),
        model(read_model(file)),
        weights(file, model),
        tokenizer(make_tokenizer(file)),
        settings{choose_backend(options.backend, backend_warning), threads_for(options.threads), options.gelu,
                 options.pooling.value_or(model.pooling)},
        pass_tokens(std::max(1, options.pass_tokens)) {
    if (tokenizer->vocabulary_size() > weights.token_table.rows.n) {
      throw model_error(path + ": tensor token_embd.weight has " + std::to_string(weights.token_table.rows.n) +
                        " rows for a vocabulary of " + std::to_string(tokenizer->vocabulary_size()) +
                        "; convert the model again");
    }
    file.release_metadata();
    give_memory_back();
  }

  std::unique_ptr<Workspace> take_workspace() {
    const std::lock_guard lock(mutex);
    return idle ? std::move(idle) : std::make_unique<Workspace>();
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex);
    if (workspace->bytes() <= kIdleWorkspace) idle = std::move(workspace);
  }

  std::vector<float> run(const Batch& batch, const PassOptions& options);
  void check_rows(const float* rows, const Batch& batch) const;

  std::string backend_warning;
  gguf::File file;
  Model model;
  Weights weights;
  std::unique_ptr<Tokenizer> tokenizer;
  Settings settings;
  int pass_tokens;
  std::mutex mutex;
  std::unique_ptr<Workspace> idle;
};

// One batch through all layers → its pooled rows, (texts, hidden), or (tokens, hidden) for Pooling::none.
std::vector<float> Engine::Impl::run(const Batch& batch, const PassOptions& options) {
  file.check_intact();
  std::vector<float> rows;
  std::vector<int> wanted(batch.texts());  // the texts that are still worked on
  std::iota(wanted.begin(), wanted.end(), 0);
  {
    const Place place(options.urgent);
    Turn turn(place);  // before the workspace: callers that wait hold no activations
    auto workspace = take_workspace();
    Pass pass(model, weights, settings, batch, *workspace);
    while (!wanted.empty() && pass.advance(turn)) {
      if (options.unwanted) drop(options.unwanted(), wanted, pass);
      turn.yield();
    }
    const size_t count = settings.pooling == Pooling::none ? batch.tokens() : wanted.size();
    rows.resize(count * model.hidden);
    if (!wanted.empty()) pass.pool(rows.data());
    give_back(std::move(workspace));
  }
  if (wanted.size() < static_cast<size_t>(batch.texts())) rows = spread(rows, wanted, batch.texts(), model.hidden);
  check_rows(rows.data(), batch);
  return rows;
}

void Engine::Impl::check_rows(const float* rows, const Batch& batch) const {
  for (int text = 0; text < batch.texts(); ++text) {
    const float* end = rows + int64_t{model.hidden} * (settings.pooling == Pooling::none ? batch.length(text) : 1);
    if (!std::all_of(rows, end, [](float value) { return std::isfinite(value); })) {
      throw Error(ErrorKind::not_finite,
                  file.path() + ": its weights are too large for f32, a vector overflowed; fetch the model again",
                  text);
    }
    rows = end;
  }
}

std::vector<float> shortened(const float* rows, int64_t count, int hidden, int dims, bool normalize) {
  const Timed timed(Stage::pooling);
  const FlushDenormals flush;  // a small component of a unit vector would depend on the caller's mode
  std::vector<float> out(static_cast<size_t>(count) * dims);
  for (int64_t row = 0; row < count; ++row) {
    std::copy_n(rows + row * hidden, dims, out.data() + row * dims);
    if (normalize) normalise_row(out.data() + row * dims, dims);
  }
  return out;
}

Engine::Engine(const std::string& path, const Options& options) : impl_(std::make_unique<Impl>(path, options)) {}
Engine::~Engine() {
  impl_.reset();
  give_memory_back();
}
const Model& Engine::model() const { return impl_->model; }
const gguf::File& Engine::file() const { return impl_->file; }
const Tokenizer& Engine::tokenizer() const { return *impl_->tokenizer; }
const char* Engine::backend() const { return impl_->settings.backend.name; }
int Engine::threads() const { return impl_->settings.threads; }
Pooling Engine::pooling() const { return impl_->settings.pooling; }

std::vector<std::string> Engine::warnings() const {
  std::vector<std::string> out = impl_->model.warnings;
  out.insert(out.end(), impl_->tokenizer->warnings().begin(), impl_->tokenizer->warnings().end());
  if (!impl_->backend_warning.empty()) out.push_back(impl_->backend_warning);
  return out;
}

namespace {

void check_length(bool too_long, size_t index, int limit, bool truncate) {
  if (!too_long || truncate) return;
  throw Error(ErrorKind::too_long,
              "text " + std::to_string(index) + " has more than " + std::to_string(limit) +
                  " tokens, the most that is allowed; shorten it or allow truncation",
              index);
}

// The text's ids. A fault of the file that this text is the first to lead to is an error about this text.
Tokens tokenized(const Tokenizer& tokenizer, std::string_view text, size_t index, const TokenizeOptions& options) {
  const Timed timed(Stage::tokenizer);
  try {
    return tokenizer.tokenize(text, options);
  } catch (Error& error) {
    error.text = index;
    throw;
  }
}

// The text's ids, cut to the limit, or an error when they may not be cut.
Tokens limited(const Tokenizer& tokenizer, std::string_view text, size_t index, int limit,
               const EncodeOptions& options) {
  Tokens tokens = tokenized(tokenizer, text, index, {static_cast<size_t>(limit), options.parse_special});
  check_length(tokens.truncated, index, limit, options.truncate);
  if (tokens.ids.empty()) {
    throw Error(ErrorKind::input,
                "text " + std::to_string(index) +
                    " has no tokens in this model's vocabulary, which adds no special ones; give it words",
                index);
  }
  return tokens;
}

// The same from ids: the closing token stays.
Tokens limited(const std::vector<int32_t>& ids, size_t index, int limit, const EncodeOptions& options) {
  const bool too_long = ids.size() > static_cast<size_t>(limit);
  check_length(too_long, index, limit, options.truncate);
  Tokens tokens{ids, too_long};
  if (too_long) {
    tokens.ids.resize(limit);
    tokens.ids.back() = ids.back();
  }
  return tokens;
}

void check_ids(std::span<const int32_t> ids, size_t index, int vocabulary) {
  const std::string text = "text " + std::to_string(index);
  if (ids.empty()) throw Error(ErrorKind::input, text + " has no token ids; give at least one", index);
  for (const int32_t id : ids) {
    if (id >= 0 && id < vocabulary) continue;
    throw Error(ErrorKind::input,
                text + " has the token id " + std::to_string(id) + ", the vocabulary has " +
                    std::to_string(vocabulary) + "; use this model's tokenizer",
                index);
  }
}

}  // namespace

// `next(i)` gives the ids of text i; texts are gathered into passes of at most pass_tokens.
template <class Next>
Embeddings Engine::encode_all(size_t count, const EncodeOptions& options, const Next& next) const {
  const int hidden = impl_->model.hidden;
  Embeddings out;
  out.dims = options.dimensions > 0 && options.dimensions < hidden ? options.dimensions : hidden;
  if (impl_->settings.pooling != Pooling::none) out.vectors.reserve(count * out.dims);
  Patience patience;
  const auto check = [&] {
    check_cancelled(options, patience);
    return std::vector<int>{};
  };
  Batch batch;
  const auto run = [&](size_t behind) {
    try {
      const std::vector<float> rows = impl_->run(batch, {options.urgent, check});
      const std::vector<float> kept =
          shortened(rows.data(), static_cast<int64_t>(rows.size()) / hidden, hidden, out.dims, options.normalize);
      out.vectors.insert(out.vectors.end(), kept.begin(), kept.end());
    } catch (Error& error) {
      if (error.text) *error.text += behind - batch.texts();
      throw;
    }
    batch = {};
  };
  for (size_t i = 0; i < count; ++i) {
    Tokens tokens = next(i);
    const int length = static_cast<int>(tokens.ids.size());
    if (batch.texts() > 0 && batch.tokens() + length > impl_->pass_tokens) run(i);
    batch.add(tokens.ids);
    out.tokens.push_back(length);
    out.truncated.push_back(tokens.truncated);
  }
  if (batch.texts() > 0) run(count);
  return out;
}

int Engine::limit(const EncodeOptions& options) const {
  const int context = impl_->model.context_length;
  return options.max_tokens > 0 ? std::min(options.max_tokens, context) : context;
}

Embeddings Engine::encode(const std::vector<std::string_view>& texts, const EncodeOptions& options) const {
  return encode_all(texts.size(), options,
                    [&](size_t i) { return limited(*impl_->tokenizer, texts[i], i, limit(options), options); });
}

Embeddings Engine::encode_ids(const std::vector<std::vector<int32_t>>& ids, const EncodeOptions& options) const {
  for (size_t i = 0; i < ids.size(); ++i) check_ids(ids[i], i, impl_->tokenizer->vocabulary_size());
  return encode_all(ids.size(), options,
                    [&](size_t i) { return limited(ids[i], i, impl_->model.context_length, options); });
}

template <class Next>
Tokenized Engine::tokenize_all(size_t count, const EncodeOptions& options, const Next& next) const {
  Tokenized out;
  Patience patience;
  for (size_t i = 0; i < count; ++i) {
    const Tokens tokens = next(i);
    out.batch.add(tokens.ids);
    out.truncated.push_back(tokens.truncated);
    check_cancelled(options, patience);
  }
  return out;
}

Tokenized Engine::tokenize(const std::vector<std::string_view>& texts, const EncodeOptions& options) const {
  return tokenize_all(texts.size(), options,
                      [&](size_t i) { return limited(*impl_->tokenizer, texts[i], i, limit(options), options); });
}

Tokenized Engine::tokenize_whole(const std::vector<std::string_view>& texts, const EncodeOptions& options) const {
  return tokenize_all(texts.size(), options, [&](size_t i) {
    TokenizeOptions whole;
    whole.parse_special = options.parse_special;
    return tokenized(*impl_->tokenizer, texts[i], i, whole);
  });
}

std::vector<float> Engine::encode_pass(const Batch& batch, const PassOptions& options) const {
  const Model& model = impl_->model;
  if (impl_->settings.pooling == Pooling::none) {
    throw input_error(impl_->file.path() + " gives a vector per token, not per text; load it with a pooling");
  }
  for (int text = 0; text < batch.texts(); ++text) {
    check_ids(batch.text(text), text, impl_->tokenizer->vocabulary_size());
    check_length(batch.length(text) > model.context_length, text, model.context_length, false);
  }
  if (batch.texts() == 0) return {};
  Patience patience;
  return impl_->run(batch, {options.urgent, [&] {
                              return options.unwanted && patience.over() ? options.unwanted() : std::vector<int>{};
                            }});
}

void Engine::verify_finite(const std::function<void(uint64_t, uint64_t)>& progress) const {
  constexpr size_t kChunk = size_t{4} << 20;
  const gguf::File& file = impl_->file;
  uint64_t done = 0, total = 0;
  for (const gguf::Tensor& tensor : file.tensors()) total += tensor.bytes;
  std::vector<uint8_t> bytes;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const DTypeInfo& type = info(tensor.type);
    const size_t step = kChunk / type.block_bytes * type.block_bytes;
    for (uint64_t at = 0; at < tensor.bytes; at += step) {
      bytes.resize(std::min<uint64_t>(step, tensor.bytes - at));
      file.read(tensor.offset + at, bytes.size(), bytes.data());
      if (!type.finite(bytes.data(), bytes.size() / type.block_bytes * type.block)) {
        throw model_error(file.path() + ": tensor " + tensor.name +
                          " holds a value that is not finite; fetch the model again");
      }
      done += bytes.size();
      if (progress) progress(done, total);
    }
  }
}

}  // namespace bankml

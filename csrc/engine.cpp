#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>

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

// Asks the caller whether it gave up, at most every kCancelCheck: asking may mean waiting for the caller's interpreter.
class Cancellation {
 public:
  explicit Cancellation(const std::function<bool()>& cancelled) : cancelled_(cancelled) {}
  void check() {
    const auto now = std::chrono::steady_clock::now();
    if (!cancelled_ || now < next_) return;
    next_ = now + kCancelCheck;
    if (cancelled_()) throw Error(ErrorKind::cancelled, "the request was cancelled");
  }

 private:
  const std::function<bool()>& cancelled_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kCancelCheck;
};

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

  void run(const Batch& batch, const EncodeOptions& options, Cancellation& cancellation, Embeddings& out);
  void append_rows(const float* rows, const Batch& batch, const EncodeOptions& options, Embeddings& out) const;

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

// One batch through all layers; its rows are appended to `out`.
void Engine::Impl::run(const Batch& batch, const EncodeOptions& options, Cancellation& cancellation, Embeddings& out) {
  file.check_intact();
  const int rows = settings.pooling == Pooling::none ? batch.tokens() : batch.texts();
  std::vector<float> pooled(static_cast<size_t>(rows) * model.hidden);
  {
    const Place place;
    Turn turn(place);  // before the workspace: callers that wait hold no activations
    auto workspace = take_workspace();
    Pass pass(model, weights, settings, batch, *workspace);
    while (pass.advance(turn)) {
      cancellation.check();
      turn.yield();
    }
    pass.pool(pooled.data());
    give_back(std::move(workspace));
  }
  append_rows(pooled.data(), batch, options, out);
}

void Engine::Impl::append_rows(const float* rows, const Batch& batch, const EncodeOptions& options,
                               Embeddings& out) const {
  const Timed timed(Stage::pooling);
  const FlushDenormals flush;  // a small component of a unit vector would depend on the caller's mode
  for (int text = 0; text < batch.texts(); ++text) {
    const float* end = rows + int64_t{model.hidden} * (settings.pooling == Pooling::none ? batch.length(text) : 1);
    if (!std::all_of(rows, end, [](float value) { return std::isfinite(value); })) {
      throw Error(ErrorKind::not_finite,
                  file.path() + ": its weights are too large for f32, a vector overflowed; fetch the model again",
                  text);
    }
    for (; rows < end; rows += model.hidden) {
      out.vectors.insert(out.vectors.end(), rows, rows + out.dims);
      if (options.normalize) normalise_row(out.vectors.data() + out.vectors.size() - out.dims, out.dims);
    }
  }
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

void check_length(bool too_long, size_t index, int limit, const EncodeOptions& options) {
  if (!too_long || options.truncate) return;
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
  check_length(tokens.truncated, index, limit, options);
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
  check_length(too_long, index, limit, options);
  Tokens tokens{ids, too_long};
  if (too_long) {
    tokens.ids.resize(limit);
    tokens.ids.back() = ids.back();
  }
  return tokens;
}

void check_ids(const std::vector<int32_t>& ids, size_t index, int vocabulary) {
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
  Cancellation cancellation(options.cancelled);
  Batch batch;
  const auto run = [&](size_t behind) {
    try {
      impl_->run(batch, options, cancellation, out);
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

Embeddings Engine::encode(const std::vector<std::string_view>& texts, const EncodeOptions& options) const {
  const int context = impl_->model.context_length;
  const int limit = options.max_tokens > 0 ? std::min(options.max_tokens, context) : context;
  return encode_all(texts.size(), options,
                    [&](size_t i) { return limited(*impl_->tokenizer, texts[i], i, limit, options); });
}

Embeddings Engine::encode_ids(const std::vector<std::vector<int32_t>>& ids, const EncodeOptions& options) const {
  for (size_t i = 0; i < ids.size(); ++i) check_ids(ids[i], i, impl_->tokenizer->vocabulary_size());
  return encode_all(ids.size(), options,
                    [&](size_t i) { return limited(ids[i], i, impl_->model.context_length, options); });
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

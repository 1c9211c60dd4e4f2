#include "weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <set>

#include "error.h"
#include "utf8.h"

namespace bankml {

namespace {

constexpr int kMaxLayers = 512;      // as llama.cpp
constexpr int kMaxExtent = 1 << 20;  // of hidden, ffn and context: far above every model, far below overflow

std::string of(const gguf::File& file, const std::string& key) { return file.path() + ": key " + key; }

int required(const gguf::File& file, const std::string& key, int64_t most) {
  const auto value = file.integer(key);
  if (!value) throw model_error(of(file, key) + " is missing; convert the model again");
  if (*value < 1 || *value > most) {
    throw model_error(of(file, key) + " is " + std::to_string(*value) + ", 1 to " + std::to_string(most) +
                      " is possible; convert the model again");
  }
  return static_cast<int>(*value);
}

void warn_if_absent(const gguf::File& file, const std::string& key, const char* assumed, Model& model) {
  if (file.find(key) == nullptr) model.warnings.push_back(key + " is absent: " + assumed + " is assumed");
}

Pooling read_pooling(const gguf::File& file, Model& model) {
  const std::string key = "bert.pooling_type";
  warn_if_absent(file, key, "0 (none), a vector a token,", model);
  const int64_t id = file.integer(key).value_or(0);
  if (id == 4)
    throw model_error(of(file, key) + " is 4 (rank): bankml embeds and does not rerank; use an embedding model");
  if (id < 0 || id > 4)
    throw model_error(of(file, key) + " is " + std::to_string(id) +
                      ", 0 (none) to 3 (last) is possible; convert the model again");
  return static_cast<Pooling>(id);
}

float read_epsilon(const gguf::File& file, const std::string& key) {
  const auto value = file.real(key);
  if (!value) throw model_error(of(file, key) + " is missing; convert the model again");
  if (!(*value >= FLT_MIN && *value <= 1)) {  // a smaller one is 0 where denormals are flushed
    char shown[32];
    std::snprintf(shown, sizeof shown, "%g", *value);
    throw model_error(of(file, key) + " is " + shown + ", 1.2e-38 to 1 is possible; convert the model again");
  }
  return static_cast<float>(*value);
}

// A file, and which of its tensors were asked for: one that nobody reads would have changed every vector.
class Source {
 public:
  explicit Source(const gguf::File& of_file) : file(of_file) {}
  const gguf::Tensor* find(const std::string& name) const { return file.find_tensor(name); }
  const gguf::Tensor& tensor(const std::string& name);
  void refuse_unread() const;

  const gguf::File& file;

 private:
  std::set<const gguf::Tensor*> read_;
};

const gguf::Tensor& Source::tensor(const std::string& name) {
  const gguf::Tensor* found = find(name);
  if (found == nullptr) throw model_error(file.path() + ": tensor " + name + " is missing; convert the model again");
  if (info(found->type).widen == nullptr) {
    throw model_error(file.path() + ": tensor " + name + " has the type " + info(found->type).name +
                      ", which bankml does not run; use a file with tensors of these types only: " + runnable_types());
  }
  read_.insert(found);
  return *found;
}

void Source::refuse_unread() const {
  for (const gguf::Tensor& t : file.tensors()) {
    if (read_.count(&t)) continue;
    const bool head = t.name.starts_with("cls.");
    throw model_error(file.path() + ": tensor " + utf8::printable(t.name) + " of shape " + t.shape() +
                      (head ? " is a reranker's head; use an embedding model, bankml does not rerank"
                            : " is no part of the encoder that bankml runs, and without it the vectors would be "
                              "wrong; use another model"));
  }
}

// The table is the limit, whatever the file claims: a position beyond it has no row.
int read_context_length(const gguf::File& file) {
  const int claimed = required(file, "bert.context_length", INT32_MAX);
  const int64_t rows = std::min<int64_t>(Source(file).tensor("position_embd.weight").rows(), kMaxExtent);
  const int length = std::min(claimed, static_cast<int>(rows));
  if (length >= 2) return length;
  throw model_error(file.path() + ": key bert.context_length is " + std::to_string(claimed) +
                    ", tensor position_embd.weight has " + counted(rows, "row") +
                    "; 2 are needed at least; convert the model again");
}

// Row 0 of the table is all that is used, so its height matters to nobody but those who ask for the count.
void check_type_count(const gguf::File& file, Model& model) {
  const gguf::Tensor* table = file.find_tensor("token_types.weight");
  if (table == nullptr) {
    model.warnings.push_back("token_types.weight is absent: no token type is added");
    return;
  }
  const std::string key = "tokenizer.ggml.token_type_count";
  warn_if_absent(file, key, (std::to_string(table->rows()) + ", the rows of token_types.weight,").c_str(), model);
  if (file.integer(key).value_or(table->rows()) == table->rows()) return;
  throw model_error(of(file, key) + " is " + std::to_string(*file.integer(key)) + ", tensor token_types.weight has " +
                    counted(table->rows(), "row") + "; convert the model again");
}

// A tensor of exactly `inputs` × `outputs`, whose rows stay in the file.
Matrix matrix(Source& source, const std::string& name, int64_t inputs, int64_t outputs) {
  const gguf::Tensor& t = source.tensor(name);
  if (t.ne[0] == inputs && t.rows() == outputs) {
    return {t.type, source.file.data(t), static_cast<int>(outputs), static_cast<int>(inputs)};
  }
  const std::string rows = outputs == 1 ? "" : ", " + std::to_string(outputs);
  throw model_error(source.file.path() + ": tensor " + name + " has the shape " + t.shape() + ", [" +
                    std::to_string(inputs) + rows + "] is due; convert the model again");
}

// A tensor's first row as floats; copied by pread and checked.
std::vector<float> first_row(const Source& source, const gguf::Tensor& t) {
  std::vector<uint8_t> blocks(t.row_bytes());
  source.file.read(t.offset, blocks.size(), blocks.data());
  if (!info(t.type).finite(blocks.data(), t.ne[0])) {
    throw model_error(source.file.path() + ": tensor " + t.name +
                      " holds a value that is not finite; fetch the model again");
  }
  std::vector<float> out(t.ne[0]);
  info(t.type).widen(blocks.data(), out.data(), t.ne[0]);
  return out;
}

std::vector<float> vector(Source& source, const std::string& name, int64_t count) {
  matrix(source, name, count, 1);
  return first_row(source, source.tensor(name));
}

Norm norm(Source& source, const std::string& name, int hidden) {
  return {vector(source, name + ".weight", hidden), vector(source, name + ".bias", hidden)};
}

std::vector<float> bias(Source& source, const std::string& name, int count) {
  return source.find(name) == nullptr ? std::vector<float>(count) : vector(source, name, count);
}

Linear linear(Source& source, const std::string& name, int inputs, int outputs) {
  return {matrix(source, name + ".weight", inputs, outputs), bias(source, name + ".bias", outputs), name + ".weight"};
}

// Outputs [first, first + count) of a fused product.
Linear part(const Linear& whole, int first, int count) {
  Linear out{whole.w, {whole.b.begin() + first, whole.b.begin() + first + count}, whole.name};
  out.w.data += whole.w.row_bytes() * first;
  out.w.n = count;
  return out;
}

void read_qkv(Source& source, const std::string& prefix, int hidden, Layer& layer) {
  if (source.find(prefix + "attn_qkv.weight") != nullptr) {
    const Linear fused = linear(source, prefix + "attn_qkv", hidden, 3 * hidden);
    layer.q = part(fused, 0, hidden);
    layer.k = part(fused, hidden, hidden);
    layer.v = part(fused, 2 * hidden, hidden);
    return;
  }
  layer.q = linear(source, prefix + "attn_q", hidden, hidden);
  layer.k = linear(source, prefix + "attn_k", hidden, hidden);
  layer.v = linear(source, prefix + "attn_v", hidden, hidden);
}

void read_layer(Source& source, const Model& model, int index, Layer& layer) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  read_qkv(source, prefix, model.hidden, layer);
  layer.o = linear(source, prefix + "attn_output", model.hidden, model.hidden);
  layer.up = linear(source, prefix + "ffn_up", model.hidden, model.ffn);
  layer.down = linear(source, prefix + "ffn_down", model.ffn, model.hidden);
  layer.attention_norm = norm(source, prefix + "attn_output_norm", model.hidden);
  layer.output_norm = norm(source, prefix + "layer_output_norm", model.hidden);
}

Table table(Source& source, const std::string& name, int hidden) {
  const int64_t rows = source.tensor(name).rows();
  if (rows < 1 || rows > INT32_MAX) {
    throw model_error(source.file.path() + ": tensor " + name + " has " + counted(rows, "row") +
                      "; convert the model again");
  }
  return {matrix(source, name, hidden, rows), name};
}

// "Sentence A", row 0 of a table of any height; a file without the table adds nothing, as in llama.cpp.
std::vector<float> type_row(Source& source, int hidden) {
  const gguf::Tensor* t = source.find("token_types.weight");
  if (t == nullptr) return std::vector<float>(hidden);
  matrix(source, t->name, hidden, t->rows());
  return first_row(source, *t);
}

}  // namespace

Model read_model(const gguf::File& file) {
  Model model;
  model.arch = file.string("general.architecture").value_or("");
  if (model.arch != "bert") {
    throw model_error(of(file, "general.architecture") + " is '" + utf8::printable(model.arch) +
                      "', which bankml does not run; it runs 'bert' (BERT and XLM-R encoders)");
  }
  model.name = file.string("general.name").value_or("");
  model.layers = required(file, "bert.block_count", kMaxLayers);
  model.hidden = required(file, "bert.embedding_length", kMaxExtent);
  model.ffn = required(file, "bert.feed_forward_length", kMaxExtent);
  model.heads = required(file, "bert.attention.head_count", kMaxExtent);
  if (model.hidden % model.heads != 0) {
    throw model_error(of(file, "bert.attention.head_count") + " is " + std::to_string(model.heads) +
                      ", which does not divide the hidden size " + std::to_string(model.hidden) +
                      "; convert the model again");
  }
  model.epsilon = read_epsilon(file, "bert.attention.layer_norm_epsilon");
  model.pooling = read_pooling(file, model);
  warn_if_absent(file, "bert.attention.causal", "false", model);
  if (file.boolean("bert.attention.causal").value_or(false)) {
    throw model_error(of(file, "bert.attention.causal") +
                      " is true: bankml runs encoders, which see the whole text; use another model");
  }
  model.context_length = read_context_length(file);
  check_type_count(file, model);
  return model;
}

void RowReader::add(const Table& table, int64_t row, float* out) {
  const Matrix& rows = table.rows;
  blocks_.resize(rows.row_bytes());
  values_.resize(rows.k);
  file_.read(file_.offset_of(rows.data) + blocks_.size() * row, blocks_.size(), blocks_.data());
  if (!info(rows.type).finite(blocks_.data(), rows.k)) {
    throw Error(ErrorKind::not_finite, file_.path() + ": row " + std::to_string(row) + " of tensor " + table.name +
                                           " holds a value that is not finite; fetch the model again");
  }
  info(rows.type).widen(blocks_.data(), values_.data(), rows.k);
  for (int i = 0; i < rows.k; ++i) out[i] += values_[i];
}

Weights::Weights(const gguf::File& of_file, const Model& model) : file(of_file), layers(model.layers) {
  Source source(file);
  token_table = table(source, "token_embd.weight", model.hidden);
  position_table = table(source, "position_embd.weight", model.hidden);
  type_row = bankml::type_row(source, model.hidden);
  embedding_norm = norm(source, "token_embd_norm", model.hidden);
  for (int i = 0; i < model.layers; ++i) read_layer(source, model, i, layers[i]);
  source.refuse_unread();
}

}  // namespace bankml

#include "weights.h"

#include <algorithm>
#include <cmath>

#include "error.h"

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
                      " is possible");
  }
  return static_cast<int>(*value);
}

Pooling read_pooling(const gguf::File& file, const std::string& key) {
  const int64_t id = file.integer(key).value_or(0);
  if (id == 4)
    throw model_error(of(file, key) + " is 4 (rank): bankml embeds and does not rerank; use an embedding model");
  if (id < 0 || id > 4)
    throw model_error(of(file, key) + " is " + std::to_string(id) + ", 0 (none) to 3 (last) is known");
  return static_cast<Pooling>(id);
}

float read_epsilon(const gguf::File& file, const std::string& key) {
  const auto value = file.real(key);
  if (!value) throw model_error(of(file, key) + " is missing; convert the model again");
  if (!std::isfinite(*value) || *value <= 0 || *value > 1) {
    throw model_error(of(file, key) + " is " + std::to_string(*value) + ", a small positive number is needed");
  }
  return static_cast<float>(*value);
}

std::string shape_of(const gguf::Tensor& tensor) {
  std::string out = "[";
  for (int i = 0; i < tensor.n_dims; ++i) out += (i ? ", " : "") + std::to_string(tensor.ne[i]);
  return out + "]";
}

const gguf::Tensor& tensor(const gguf::File& file, const std::string& name) {
  const gguf::Tensor* found = file.find_tensor(name);
  if (found == nullptr) throw model_error(file.path() + ": tensor " + name + " is missing; convert the model again");
  if (info(found->type).widen == nullptr) {
    throw model_error(file.path() + ": tensor " + name + " has the type " + info(found->type).name +
                      ", which bankml does not run yet; use a file of type F32, F16, Q8_0 or Q4_0");
  }
  return *found;
}

// A tensor of exactly `inputs` × `outputs`, whose rows stay in the file.
Matrix matrix(const gguf::File& file, const std::string& name, int64_t inputs, int64_t outputs) {
  const gguf::Tensor& t = tensor(file, name);
  if (t.ne[0] != inputs || t.rows() != outputs) {
    throw model_error(file.path() + ": tensor " + name + " has the shape " + shape_of(t) + ", [" +
                      std::to_string(inputs) + ", " + std::to_string(outputs) + "] is due");
  }
  return {t.type, file.data(t), static_cast<int>(outputs), static_cast<int>(inputs)};
}

// The first `count` values of the first row, as floats; copied by pread and checked.
std::vector<float> vector(const gguf::File& file, const std::string& name, int64_t count) {
  const gguf::Tensor& t = tensor(file, name);
  if (t.ne[0] != count) {
    throw model_error(file.path() + ": tensor " + name + " has the shape " + shape_of(t) + ", [" +
                      std::to_string(count) + "] is due");
  }
  if (t.rows() < 1) throw model_error(file.path() + ": tensor " + name + " is empty");
  std::vector<uint8_t> blocks(t.row_bytes());
  file.read(t.offset, blocks.size(), blocks.data());
  if (!info(t.type).finite(blocks.data(), count)) {
    throw model_error(file.path() + ": tensor " + name + " holds a value that is not finite; fetch the model again");
  }
  std::vector<float> out(count);
  info(t.type).widen(blocks.data(), out.data(), count);
  return out;
}

Norm norm(const gguf::File& file, const std::string& name, int hidden) {
  return {vector(file, name + ".weight", hidden), vector(file, name + ".bias", hidden)};
}

std::vector<float> bias(const gguf::File& file, const std::string& name, int count) {
  return file.find_tensor(name) == nullptr ? std::vector<float>(count) : vector(file, name, count);
}

Linear linear(const gguf::File& file, const std::string& name, int inputs, int outputs) {
  return {matrix(file, name + ".weight", inputs, outputs), bias(file, name + ".bias", outputs), name + ".weight"};
}

// Outputs [first, first + count) of a fused product.
Linear part(const Linear& whole, int first, int count) {
  Linear out{whole.w, {whole.b.begin() + first, whole.b.begin() + first + count}, whole.name};
  out.w.data += whole.w.row_bytes() * first;
  out.w.n = count;
  return out;
}

void read_qkv(const gguf::File& file, const std::string& prefix, int hidden, Layer& layer) {
  if (file.find_tensor(prefix + "attn_qkv.weight") != nullptr) {
    const Linear fused = linear(file, prefix + "attn_qkv", hidden, 3 * hidden);
    layer.q = part(fused, 0, hidden);
    layer.k = part(fused, hidden, hidden);
    layer.v = part(fused, 2 * hidden, hidden);
    return;
  }
  layer.q = linear(file, prefix + "attn_q", hidden, hidden);
  layer.k = linear(file, prefix + "attn_k", hidden, hidden);
  layer.v = linear(file, prefix + "attn_v", hidden, hidden);
}

void read_layer(const gguf::File& file, const Model& model, int index, Layer& layer) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  read_qkv(file, prefix, model.hidden, layer);
  layer.o = linear(file, prefix + "attn_output", model.hidden, model.hidden);
  layer.up = linear(file, prefix + "ffn_up", model.hidden, model.ffn);
  layer.down = linear(file, prefix + "ffn_down", model.ffn, model.hidden);
  layer.attention_norm = norm(file, prefix + "attn_output_norm", model.hidden);
  layer.output_norm = norm(file, prefix + "layer_output_norm", model.hidden);
}

Table table(const gguf::File& file, const std::string& name, int hidden) {
  const int64_t rows = tensor(file, name).rows();
  if (rows < 1 || rows > INT32_MAX) {
    throw model_error(file.path() + ": tensor " + name + " has " + std::to_string(rows) +
                      " rows; convert the model again");
  }
  return {matrix(file, name, hidden, rows), name};
}

}  // namespace

Model read_model(const gguf::File& file) {
  Model model;
  model.arch = file.string("general.architecture").value_or("");
  if (model.arch != "bert") {
    throw model_error(file.path() + ": architecture '" + model.arch +
                      "' is not supported; bankml runs 'bert' (BERT and XLM-R encoders)");
  }
  model.name = file.string("general.name").value_or("");
  model.layers = required(file, "bert.block_count", kMaxLayers);
  model.hidden = required(file, "bert.embedding_length", kMaxExtent);
  model.ffn = required(file, "bert.feed_forward_length", kMaxExtent);
  model.heads = required(file, "bert.attention.head_count", kMaxExtent);
  if (model.hidden % model.heads != 0) {
    throw model_error(of(file, "bert.attention.head_count") + " is " + std::to_string(model.heads) +
                      ", which does not divide the hidden size " + std::to_string(model.hidden));
  }
  model.epsilon = read_epsilon(file, "bert.attention.layer_norm_epsilon");
  model.pooling = read_pooling(file, "bert.pooling_type");
  if (file.boolean("bert.attention.causal").value_or(false)) {
    throw model_error(of(file, "bert.attention.causal") + " is true; bankml runs encoders, which see the whole text");
  }
  // The table is the limit, whatever the file claims: a position beyond it has no row.
  const int64_t positions = std::min<int64_t>(tensor(file, "position_embd.weight").rows(), kMaxExtent);
  model.context_length = std::min(required(file, "bert.context_length", INT32_MAX), static_cast<int>(positions));
  if (model.context_length < 2) {
    throw model_error(file.path() + ": tensor position_embd.weight has " + std::to_string(positions) +
                      " rows, 2 are needed at least");
  }
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

Weights::Weights(const gguf::File& source, const Model& model)
    : file(source),
      token_table(table(source, "token_embd.weight", model.hidden)),
      position_table(table(source, "position_embd.weight", model.hidden)),
      type_row(vector(source, "token_types.weight", model.hidden)),
      embedding_norm(norm(source, "token_embd_norm", model.hidden)),
      layers(model.layers) {
  for (int i = 0; i < model.layers; ++i) read_layer(source, model, i, layers[i]);
}

}  // namespace bankml

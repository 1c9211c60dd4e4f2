// A model's config and weights, read from a checked GGUF file: every name, shape and number that the bert graph needs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine.h"
#include "linear.h"

namespace bankml {

struct Norm {
  std::vector<float> w, b;  // (hidden)
};

struct Linear {
  Matrix w;
  std::vector<float> b;  // (n); zeros where the file has none
  std::string name;
};

struct Layer {
  Linear q, k, v, o, up, down;
  Norm attention_norm, output_norm;
  mutable std::atomic<bool> checked{false};  // its matrices were seen to be finite
};

// A table of any height; its rows are read as they are needed, by pread, never through the map.
struct Table {
  Matrix rows;
  std::string name;
};

// Adds rows of tables to activations; keeps its buffers from row to row.
class RowReader {
 public:
  explicit RowReader(const gguf::File& file) : file_(file) {}
  // out (hidden) += row `row`; an error when it holds a value that is not finite.
  void add(const Table& table, int64_t row, float* out);

 private:
  const gguf::File& file_;
  std::vector<uint8_t> blocks_;
  std::vector<float> values_;
};

// Reads the file's architecture `bert`: model_errors name the key or tensor and the value.
Model read_model(const gguf::File& file);

struct Weights {
  Weights(const gguf::File& file, const Model& model);

  const gguf::File& file;
  Table token_table, position_table;
  std::vector<float> type_row;  // (hidden)
  Norm embedding_norm;
  std::vector<Layer> layers;
};

}  // namespace bankml

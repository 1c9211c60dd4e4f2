// A seeded model of two layers in F32, as the bytes of a GGUF file, with a vocabulary of ten words.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine.h"
#include "gguf_writer.h"

namespace bankml::testing {

constexpr int kHidden = 40, kHeads = 4, kFfn = 72, kPositions = 80;  // head dim 10: no multiple of any tile
inline const std::vector<std::string> kWords = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁sky",
                                                "▁blue", "▁why",  "s",     "▁is",   "▁the"};

inline std::string floats(size_t count, float scale, float mean, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    const float value = mean + scale * normal(random);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return out;
}

inline check::GgufWriter keys(uint32_t pooling) {
  check::GgufWriter writer;
  writer.string("general.architecture", "bert").string("general.name", "made here").u32("bert.block_count", 2);
  writer.u32("bert.embedding_length", kHidden).u32("bert.feed_forward_length", kFfn).u32("bert.context_length", 512);
  writer.u32("bert.attention.head_count", kHeads).f32("bert.attention.layer_norm_epsilon", 1e-12f);
  writer.boolean("bert.attention.causal", false).u32("bert.pooling_type", pooling);
  writer.string("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", kWords);
  writer.u32("tokenizer.ggml.unknown_token_id", 1).u32("tokenizer.ggml.cls_token_id", 2);
  writer.u32("tokenizer.ggml.seperator_token_id", 3).u32("tokenizer.ggml.padding_token_id", 0);
  return writer;
}

inline void add_norm(check::GgufWriter& writer, const std::string& name, uint32_t seed) {
  writer.tensor(name + ".weight", DType::f32, {kHidden}, floats(kHidden, 0.1f, 1, seed));
  writer.tensor(name + ".bias", DType::f32, {kHidden}, floats(kHidden, 0.1f, 0, seed + 1));
}

inline void add_linear(check::GgufWriter& writer, const std::string& name, int inputs, int outputs, uint32_t seed) {
  writer.tensor(name + ".weight", DType::f32, {inputs, outputs},
                floats(static_cast<size_t>(inputs) * outputs, 0.3f, 0, seed));
  writer.tensor(name + ".bias", DType::f32, {outputs}, floats(outputs, 0.1f, 0, seed + 1));
}

inline std::string model(Pooling pooling, bool fused = false) {
  check::GgufWriter writer = keys(static_cast<uint32_t>(pooling));
  const auto rows = static_cast<int64_t>(kWords.size());
  writer.tensor("token_embd.weight", DType::f32, {kHidden, rows}, floats(kHidden * kWords.size(), 1, 0, 1));
  writer.tensor("position_embd.weight", DType::f32, {kHidden, kPositions}, floats(kHidden * kPositions, 0.5f, 0, 2));
  writer.tensor("token_types.weight", DType::f32, {kHidden, 2}, floats(kHidden * 2, 0.1f, 0, 3));
  add_norm(writer, "token_embd_norm", 4);
  for (uint32_t i = 0; i < 2; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const uint32_t seed = 100 * (i + 1);
    if (fused) {
      add_linear(writer, prefix + "attn_qkv", kHidden, 3 * kHidden, seed);
    } else {
      for (const char* name : {"attn_q", "attn_k", "attn_v"})
        add_linear(writer, prefix + name, kHidden, kHidden, seed + name[5]);
    }
    add_linear(writer, prefix + "attn_output", kHidden, kHidden, seed + 4);
    add_norm(writer, prefix + "attn_output_norm", seed + 6);
    add_linear(writer, prefix + "ffn_up", kHidden, kFfn, seed + 8);
    add_linear(writer, prefix + "ffn_down", kFfn, kHidden, seed + 10);
    add_norm(writer, prefix + "layer_output_norm", seed + 12);
  }
  return writer.bytes();
}

}  // namespace bankml::testing

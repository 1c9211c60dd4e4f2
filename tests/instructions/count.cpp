// The cases whose instructions are counted: prints the compiler, then the name of each case as it runs it. Every case
// runs twice, the second time inside `bankml_counted`, which tests/check_instructions.py has valgrind collect alone.
// One thread; fixed seeds, texts and vocabularies.
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../cpp/charsmap_writer.h"
#include "../cpp/gguf_writer.h"
#include "../cpp/kernel_data.h"
#include "../cpp/tiny_model.h"
#include "cpu.h"
#include "engine.h"
#include "kernels/registry.h"
#include "linear.h"
#include "tokenizer/tokenizer.h"

using namespace bankml;
using namespace bankml::testing;

// The assembly keeps the call from being the last thing done, which would make it a jump.
extern "C" [[gnu::noinline]] void bankml_counted(const std::function<void()>& work) {
  work();
  __asm__ volatile("" ::: "memory");
}

namespace {

void count(const std::string& name, const std::function<void()>& work) {
  std::printf("%s\n", name.c_str());
  work();
  bankml_counted(work);
}

// And the architecture it writes for.
std::string compiler() {
#if defined(__x86_64__)
  const std::string architecture = "-x86_64";
#else
  const std::string architecture = "-other";
#endif
#if defined(__clang__)
  return "clang-" + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + architecture;
#else
  return "gcc-" + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + architecture;
#endif
}

struct Size {
  int m, n, k;
};

// A few rows and more inputs than are widened at once, where packing and fetching ahead weigh most; many rows, where
// the tiles do.
constexpr Size kSizes[] = {{3, 184, 1280}, {32, 72, 256}};

void count_products(const Backend& backend, DType type) {
  for (const auto& [m, n, k] : kSizes) {
    const std::vector<uint8_t> blocks = random_blocks(type, static_cast<size_t>(n) * k, false, 1);
    const std::vector<float> x(static_cast<size_t>(m) * k, 0.5f), bias(n, 0.25f);
    std::vector<float> y(static_cast<size_t>(m) * n), scratch(panel_scratch());
    Packed packed;
    const Product product{.w = {type, blocks.data(), n, k}, .bias = bias.data(), .y = y.data(), .ldy = size_t(n)};
    count(std::string(backend.name) + " product " + info(type).name + " " + std::to_string(m) + "x" +
              std::to_string(n) + "x" + std::to_string(k),
          [&, m = m, k = k] {
            const Place place;
            Turn turn(place);
            multiply({backend, turn, 1, scratch.data(), scratch.size()}, {x.data(), size_t(k), m, k}, {&product, 1},
                     packed);
          });
  }
}

// Packing and tiles alone: in a whole product a fetch ahead that is gone would be less than the tolerance. One row, and
// inputs that end inside a register.
void count_floats(const Backend& backend) {
  constexpr int kOutputs = 64, kInputs = 250;
  const std::vector<uint8_t> blocks = random_blocks(DType::f16, kOutputs * kInputs, false, 7);
  const std::vector<float> x = filled(kMaxTile * kInputs, Fill::random, 8);
  std::vector<float> rows(x.size()), panels(kOutputs * kInputs), y(kOutputs);
  const std::string name = backend.name;
  count(name + " rows", [&] { backend.pack_rows(x.data(), kInputs, backend.mr, kInputs, rows.data()); });
  count(name + " panels F16",
        [&] { backend.pack_panels(DType::f16, blocks.data(), 2 * kInputs, kOutputs, 0, kInputs, panels.data()); });
  count(name + " tile", [&] {
    Ahead ahead{blocks.data(), 2 * kInputs, 2 * kInputs, kOutputs};
    backend.multiply(rows.data(), 1, panels.data(), kOutputs, kInputs, false, y.data(), kOutputs, ahead);
  });
}

void count_integers(const Backend& backend, DType type) {
  constexpr int kOutputs = 64, kInputs = 256;
  const std::vector<uint8_t> blocks = random_blocks(type, kOutputs * kInputs, false, 9);
  const std::vector<float> x = filled(kMaxTile * kInputs, Fill::random, 10), inverse(kMaxTile, 1000.0f),
                           scales(kMaxTile, 0.001f);
  std::vector<int16_t> rows(x.size());
  std::vector<float> sums(x.size() / 16), panels(kOutputs * kInputs), y(kOutputs);
  uint8_t* bytes = reinterpret_cast<uint8_t*>(panels.data());
  const size_t row_bytes = dtype_row_bytes(type, kInputs);
  const std::string name = backend.name, of = std::string(" ") + info(type).name;
  count(name + " rows16" + of, [&] {
    float* to_sums = info(type).minima ? sums.data() : nullptr;
    backend.pack_rows16(x.data(), kInputs, backend.mr16, kInputs, inverse.data(), rows.data(), to_sums);
  });
  count(name + " panels16" + of,
        [&] { backend.pack_panels16(type, blocks.data(), row_bytes, kOutputs, 0, kInputs, bytes); });
  count(name + " tile16" + of, [&] {
    Ahead ahead{blocks.data(), row_bytes, row_bytes, kOutputs};
    backend.multiply16(type, {rows.data(), sums.data(), scales.data()}, 1, bytes, kOutputs, kInputs, false, y.data(),
                       kOutputs, ahead);
  });
}

// Rows of a search: four at a time and one alone, with inputs that end inside a register.
void count_dots(const Backend& backend) {
  constexpr int kRows = 9, kWidth = 250;
  const std::vector<uint8_t> rows = random_blocks(DType::f32, kRows * kWidth, false, 11);
  const std::vector<float> query(kWidth + kQueryPad, 0.5f);
  const std::vector<int16_t> integers(kWidth + kQueryPad, 5);
  std::vector<float> out(kRows);
  std::vector<int32_t> sums(kRows);
  const std::string name = backend.name;
  for (const DType type : {DType::f32, DType::f16}) {
    count(name + " dots " + info(type).name,
          [&] { backend.dots(type, rows.data(), kRows, kWidth, query.data(), out.data()); });
  }
  count(name + " dots16", [&] {
    backend.dots16(reinterpret_cast<const int8_t*>(rows.data()), kRows, kWidth, integers.data(), sums.data());
  });
}

void count_attention(const Backend& backend) {
  constexpr int kQueries = 20, kKeys = 100, kDim = 32;
  const std::vector<float> q = filled(kQueries * kDim, Fill::random, 2), k = filled(kKeys * kDim, Fill::random, 3),
                           v = filled(kKeys * kDim, Fill::random, 4);
  std::vector<float> out(q.size()), scratch(attention_scratch(kDim));
  const Attention task{q.data(), kDim, kQueries, k.data(), v.data(), kDim, kKeys, kDim, 0.2f, out.data(), kDim};
  count(std::string(backend.name) + " attention", [&] { backend.attend(task, scratch.data()); });
}

void count_rows(const Backend& backend) {
  constexpr int kRows = 4, kWidth = 391;  // no multiple of any register
  const std::vector<float> x = filled(kRows * kWidth, Fill::random, 5), w = filled(kWidth, Fill::random, 6);
  std::vector<float> y = x;
  count(std::string(backend.name) + " norm",
        [&] { backend.layer_norm(x.data(), kWidth, w.data(), w.data(), 1e-5f, y.data()); });
  for (const Act act : {Act::none, Act::gelu_erf, Act::gelu_tanh}) {
    const char* names[] = {"none", "gelu erf", "gelu tanh"};
    count(std::string(backend.name) + " finish " + names[static_cast<int>(act)], [&] {
      y = x;
      backend.finish(y.data(), kWidth, kRows, kWidth, w.data(), act, x.data(), kWidth);
    });
  }
}

void count_encode(const Backend& backend) {
  const check::TemporaryFile file(model(Pooling::mean));
  Options options;
  options.threads = 1;
  options.backend = backend.name;
  const Engine engine(file.path(), options);
  std::string text;
  for (int i = 0; i < 12; ++i) text += "why is the blue sky blues ";
  count(std::string(backend.name) + " encode", [&] { engine.encode({text, "the sky"}, {}); });
}

// Capitals, accents whole and composed, punctuation, ideographs, numbers, and letters that no vocabulary here knows.
const std::string kText =
    "The quick brown fox isn't where 1,024 lazy dogs expected it: behind the Caf\u00e9 de l'Op\u00e9ra, reading "
    "\u201cfaster than light\u201d. \u00dcber allen Gipfeln ist Ruh', na\u0308mlich \u6771\u4eac\u306e\u7a7a; "
    "\uff26\uff55\uff4c\uff4c width, \u00bd a ligature (\ufb01nally), \u043f\u0440\u0438\u0432\u0435\u0442 and the "
    "unreadableunbrokenwordsthatnobodywrites.";

// Every character, the first letters of every word behind a U+2581, every second word whole, and ends of words.
std::vector<std::string> pieces_of(const std::string& text) {
  std::set<std::string> found;
  std::string word;
  int words = 0;
  for (const char c : text + " ") {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) word += c >= 'a' ? c : static_cast<char>(c + 32);
    if (letter || word.empty()) continue;
    for (size_t i = 0; i < word.size(); ++i) {
      found.insert(word.substr(i, 1));
      found.insert("\u2581" + word.substr(0, std::min<size_t>(i + 1, 4)));
      if (i + 3 >= word.size()) found.insert(word.substr(i));
    }
    if (words++ % 2 == 0) found.insert("\u2581" + word);
    word.clear();
  }
  found.insert("\u2581");
  return {found.begin(), found.end()};
}

std::unique_ptr<Tokenizer> tokenizer(const check::GgufWriter& writer) {
  const check::TemporaryFile file(writer.bytes());
  return make_tokenizer(gguf::File(file.path()));
}

std::unique_ptr<Tokenizer> wordpiece(const std::vector<std::string>& pieces) {
  std::vector<std::string> all = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  all.insert(all.end(), pieces.begin(), pieces.end());
  check::GgufWriter file;
  file.string("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", all);
  file.u32("tokenizer.ggml.unknown_token_id", 1).u32("tokenizer.ggml.cls_token_id", 2);
  file.u32("tokenizer.ggml.seperator_token_id", 3).u32("tokenizer.ggml.padding_token_id", 0);
  return tokenizer(file);
}

std::unique_ptr<Tokenizer> unigram(const std::vector<std::string>& pieces) {
  std::vector<std::string> all = {"<s>", "<pad>", "</s>", "<unk>"};
  std::vector<int32_t> types = {3, 3, 3, 2};
  all.insert(all.end(), pieces.begin(), pieces.end());
  types.resize(all.size(), 1);
  std::vector<float> scores;
  for (const std::string& piece : all) scores.push_back(-8.0f - 0.5f * static_cast<float>(piece.size() % 7));
  const std::string map = check::charsmap_blob(
      {{"\uff26", "F"}, {"\uff55", "u"}, {"\uff4c", "l"}, {"\ufb01", "fi"}, {"\u00bd", "1/2"}, {"a\u0308", "\u00e4"}});
  check::GgufWriter file;
  file.string("tokenizer.ggml.model", "t5").strings("tokenizer.ggml.tokens", all);
  file.floats("tokenizer.ggml.scores", scores).i32s("tokenizer.ggml.token_type", types);
  file.boolean("tokenizer.ggml.add_space_prefix", true).boolean("tokenizer.ggml.remove_extra_whitespaces", true);
  file.u32("tokenizer.ggml.unknown_token_id", 3).boolean("tokenizer.ggml.add_bos_token", true);
  file.octets("tokenizer.ggml.precompiled_charsmap", map);
  return tokenizer(file);
}

void count_tokenizers() {
  const std::vector<std::string> pieces = pieces_of(kText);
  const auto words = wordpiece(pieces), grams = unigram(pieces);
  count("tokenizer wordpiece", [&] { words->tokenize(kText); });
  count("tokenizer unigram", [&] { grams->tokenize(kText); });
}

void count_backend(const Backend& backend) {
  for (const DType type : {DType::f32, DType::f16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k}) {
    count_products(backend, type);
  }
  count_floats(backend);
  for (const DType type : {DType::q8_0, DType::q4_k}) count_integers(backend, type);
  count_dots(backend);
  count_attention(backend);
  count_rows(backend);
  count_encode(backend);
}

}  // namespace

int main() try {
  std::printf("%s\n", compiler().c_str());
  count_tokenizers();
  std::string warning;
  count_backend(choose_backend("scalar", warning));
  if (cpu_features() & kAvx2) count_backend(choose_backend("avx2", warning));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

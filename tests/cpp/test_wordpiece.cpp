#include <algorithm>

#include "../../csrc/error.h"
#include "../../csrc/tokenizer/bert_words.h"
#include "../../csrc/tokenizer/tokenizer.h"
#include "allocations.h"
#include "check.h"
#include "gguf_writer.h"

using bankml::Tokenizer;
using bankml::Tokens;
using check::GgufWriter;
using Ids = std::vector<int32_t>;

namespace {

enum : int32_t {
  kPad,
  kUnk,
  kCls,
  kSep,
  kRun,
  kRunning,
  kIng,
  kN,
  kBang,
  kCafe,
  kU,
  kN2,
  kTokyo,
  kKyo,
  kMarker,
  kA,
  kA2
};

GgufWriter vocabulary() {
  GgufWriter file;
  file.string("tokenizer.ggml.model", "bert");
  file.strings("tokenizer.ggml.tokens",
               {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581run", "\u2581running", "ing", "\u2581n", "\u2581!",
                "\u2581cafe", "\u2581u", "n", "\u2581東", "\u2581京", "\u2581\u2581", "\u2581a", "a"});
  file.i32s("tokenizer.ggml.token_type", {3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  return file;
}

std::unique_ptr<Tokenizer> load(const GgufWriter& writer) {
  const check::TemporaryFile file(writer.bytes());
  return bankml::make_tokenizer(bankml::gguf::File(file.path()));
}

Ids ids(std::string_view text) {
  static const auto tokenizer = load(vocabulary());
  Ids found = tokenizer->tokenize(text).ids;
  CHECK(found.size() >= 2 && found.front() == kCls && found.back() == kSep);
  return {found.begin() + 1, found.end() - 1};
}

// The words, joined by '|'.
std::string words(std::string_view text, bankml::BertRules rules = {}) {
  const bankml::BertAscii ascii(rules);
  bankml::BertWords reader(text, rules, ascii);
  std::string joined;
  while (reader.next()) {
    if (!joined.empty()) joined += '|';
    joined += reader.too_long() ? "too long" : reader.word();
  }
  return joined;
}

}  // namespace

TEST(wordpiece_cuts_greedily) {
  CHECK((ids("running run runing") == Ids{kRunning, kRun, kRun, kIng}));
  CHECK((ids("") == Ids{}));
  CHECK((ids(" \t\n ") == Ids{}));
}

TEST(wordpiece_makes_the_whole_word_unknown) {
  CHECK((ids("runx run") == Ids{kUnk, kRun}));
  CHECK((ids("un") == Ids{kU, kN2}));
  CHECK((ids("nun") == Ids{kUnk}));
}

TEST(wordpiece_tells_a_written_marker_from_a_word_start) {
  CHECK((ids("\u2581") == Ids{kMarker}));
  CHECK((ids("a\u2581a") == Ids{kUnk}));
  CHECK((ids("\u2581n") == Ids{kMarker, kN2}));
}

TEST(wordpiece_takes_words_of_at_most_a_hundred_characters) {
  const std::string hundred(100, 'a');
  Ids expected(100, kA2);
  expected[0] = kA;
  CHECK(ids(hundred) == expected);
  CHECK((ids(hundred + "a") == Ids{kUnk}));
  std::string accents;
  for (int i = 0; i < 100; i++) accents += "á";
  CHECK(ids(accents) == expected);
  CHECK((ids(accents + "á run") == Ids{kUnk, kRun}));
}

TEST(wordpiece_takes_special_text_as_text_unless_told) {
  const auto tokenizer = load(vocabulary());
  CHECK((tokenizer->tokenize("[SEP]").ids == Ids{kCls, kUnk, kUnk, kUnk, kSep}));
  CHECK((tokenizer->tokenize("run[SEP]run", {.parse_special = true}).ids == Ids{kCls, kRun, kSep, kRun, kSep}));
}

TEST(wordpiece_cuts_at_limits) {
  const auto tokenizer = load(vocabulary());
  std::string text;
  for (int i = 0; i < 250; i++) text += i % 5 == 0 ? "runing " : i % 3 == 0 ? "run!" : "zz ";
  const Ids whole = tokenizer->tokenize(text).ids;
  for (size_t limit = 1; limit <= 600; limit++) {
    const Tokens tokens = tokenizer->tokenize(text, {.limit = limit});
    Ids expected = whole;
    if (limit < whole.size()) {
      expected.resize(limit - 1);
      expected.push_back(kSep);
    }
    CHECK(tokens.ids == expected && tokens.truncated == (whole.size() > limit));
  }
  CHECK(tokenizer->tokenize("", {.limit = 0}).ids.empty() && tokenizer->tokenize("", {.limit = 0}).truncated);
}

// Eight times the text: the ids' array grows three times more, and nothing else is allocated.
TEST(wordpiece_allocates_nothing_for_a_token) {
  const auto tokenizer = load(vocabulary());
  const std::string unit = "Running cafés, 東京 n\u0303 o\u302E\u302F runx!";
  CHECK(check::allocations_of(*tokenizer, unit, 8000) == check::allocations_of(*tokenizer, unit, 1000) + 3);
  CHECK(check::allocations_of(*tokenizer, "run", 1) <= 3);
}

TEST(bert_words_are_cleaned_and_split) {
  CHECK(words("Hello,World!") == "hello|,|world|!");
  CHECK(words("a\u0000b") == "a");  // a C string: what follows NUL is not passed
  CHECK(words(std::string_view("a\0b\x01\uFFFD\xFF", 8)) == "ab");
  CHECK(words("東京tower") == "東|京|tower");
  CHECK(words("a\u00A0b\u3000c\u2028d\re") == "a|b|c|d|e");
  CHECK(words("$5~") == "$|5|~");
  CHECK(words("\u037E\u1FEF") == ";|`");  // punctuation only once decomposed
}

TEST(bert_words_lose_accents_and_case) {
  CHECK(words("CAFÉ Hokkaidō") == "cafe|hokkaido");
  CHECK(words("CAFÉ", {.lowercase = false, .strip_accents = true}) == "CAFE");
  CHECK(words("CAFÉ", {.lowercase = true, .strip_accents = false}) == "café");
  CHECK(words("CAFÉ", {.lowercase = false, .strip_accents = false}) == "CAFÉ");
  CHECK(words("İ", {.lowercase = true, .strip_accents = false}) == "i\u0307");
  CHECK(words("İ") == "i");
  CHECK(words("한국") == "\u1112\u1161\u11AB\u1100\u116E\u11A8");
  CHECK(words("\uF900\u0301") == "\u8C48");  // a compatibility ideograph; its accent alone is no word
}

TEST(bert_words_keep_canonical_order_of_marks_that_stay) {
  CHECK(words("\U0001D157\u302E\U0001D165") == "\U0001D157\U0001D165\u302E");  // 216 before 224
  CHECK(words("x\u302E\U0001D165") == "x\U0001D165\u302E");
  CHECK(words("x\u302E\u0301\U0001D165") == "x\U0001D165\u302E");  // a stripped mark between
  CHECK(words("x\u302E\u034F\U0001D165") == "x\u302E\U0001D165");  // a stripped starter between
  CHECK(words("x\u302E\U0001D165", {.lowercase = true, .strip_accents = false}) == "x\u302E\U0001D165");
  std::string many = "x";
  for (int i = 0; i < 300; i++) many += "\u302E";
  CHECK(words(many + " y") == "too long|y");
}

TEST(wordpiece_reads_its_rules) {
  CHECK((ids("CAFÉ") == Ids{kCafe}));
  GgufWriter cased = vocabulary();
  cased.boolean("tokenizer.ggml.normalizer.lowercase", false);
  CHECK((load(cased)->tokenize("Run café run").ids == Ids{kCls, kUnk, kUnk, kRun, kSep}));
  GgufWriter stripped = vocabulary();
  stripped.boolean("tokenizer.ggml.normalizer.lowercase", false)
      .boolean("tokenizer.ggml.normalizer.strip_accents", true);
  CHECK((load(stripped)->tokenize("Run café run").ids == Ids{kCls, kUnk, kCafe, kRun, kSep}));
}

TEST(wordpiece_finds_its_special_tokens) {
  CHECK(load(vocabulary())->warnings().size() == 3);
  GgufWriter named = vocabulary();
  named.u32("tokenizer.ggml.cls_token_id", 4)
      .u32("tokenizer.ggml.seperator_token_id", 5)
      .u32("tokenizer.ggml.unknown_token_id", 6);
  const auto tokenizer = load(named);
  CHECK((tokenizer->tokenize("x").ids == Ids{4, 6, 5}));
  CHECK(tokenizer->warnings().empty());
  GgufWriter wrong = vocabulary();
  CHECK_THROWS(load(wrong.u32("tokenizer.ggml.bos_token_id", 17)), "bos_token_id is 17");
  GgufWriter none = GgufWriter().string("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", {"a"});
  CHECK_THROWS(load(none), "bos_token_id is absent and the vocabulary has no [CLS]");
}

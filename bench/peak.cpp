// What the machine can do at this moment: f32 and integer multiply-adds and bytes read per second, of the thread that
// calls. Assembler throughout: a compiler folds equal accumulators into one, or drops loads whose values nobody uses,
// and then reports nonsense.

#include <chrono>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

#if defined(__x86_64__)

constexpr float kFactor = 1.0f, kAddend = 1e-6f;  // sums stay normal numbers
constexpr int kTurns = 100'000;                   // of a loop of 24 instructions: about 0.4 ms

// 12 accumulators of their own: latency 4, two a cycle, so at least 8 must be in flight.
#define BANKML_TWELVE(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define BANKML_CLOBBERED                                                                                              \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "cc"
#define BANKML_LOOP(BODY) "1:\n\t" BODY BODY "dec %[turns]\n\tjnz 1b\n\t"

#define BANKML_AVX2(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n\t"
#define BANKML_AVX512(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define BANKML_ZERO(i) "vxorps %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"

void avx2(int64_t turns) {
  __asm__ volatile(
      BANKML_TWELVE(BANKML_ZERO) "vbroadcastss %[factor], %%ymm12\n\tvbroadcastss %[addend], %%ymm13\n\t" BANKML_LOOP(
          BANKML_TWELVE(BANKML_AVX2)) "vzeroupper\n\t"
      : [turns] "+r"(turns)
      : [factor] "m"(kFactor), [addend] "m"(kAddend)
      : BANKML_CLOBBERED);
}

void avx512(int64_t turns) {
  __asm__ volatile(
      BANKML_TWELVE(BANKML_ZERO) "vbroadcastss %[factor], %%zmm12\n\tvbroadcastss %[addend], %%zmm13\n\t" BANKML_LOOP(
          BANKML_TWELVE(BANKML_AVX512)) "vzeroupper\n\t"
      : [turns] "+r"(turns)
      : [factor] "m"(kFactor), [addend] "m"(kAddend)
      : BANKML_CLOBBERED);
}

// Without a fused instruction: six products beside six sums, both ports busy.
#define BANKML_MUL(i) "mulps %%xmm12, %%xmm" #i "\n\t"
#define BANKML_ADD(i) "addps %%xmm13, %%xmm" #i "\n\t"
#define BANKML_SSE_ZERO(i) "xorps %%xmm" #i ", %%xmm" #i "\n\t"
#define BANKML_SSE \
  BANKML_MUL(0)    \
  BANKML_ADD(6)    \
  BANKML_MUL(1)    \
  BANKML_ADD(7)    \
  BANKML_MUL(2) BANKML_ADD(8) BANKML_MUL(3) BANKML_ADD(9) BANKML_MUL(4) BANKML_ADD(10) BANKML_MUL(5) BANKML_ADD(11)

void sse(int64_t turns) {
  __asm__ volatile(BANKML_TWELVE(BANKML_SSE_ZERO) "movss %[factor], %%xmm12\n\tshufps $0, %%xmm12, %%xmm12\n\t"
                                                  "movss %[addend], %%xmm13\n\tshufps $0, %%xmm13, %%xmm13\n\t" BANKML_LOOP(BANKML_SSE)
                   : [turns] "+r"(turns)
                   : [factor] "m"(kFactor), [addend] "m"(kAddend)
                   : BANKML_CLOBBERED);
}

// Integers. Dot-product instructions have sums of their own, 12 as above; without them a product goes through a
// register of its own to one of six sums. Every byte is 1.
constexpr int8_t kOne = 1;
constexpr int16_t kWideOne = 1;

#define BANKML_SIX(OP) OP(0, 6) OP(1, 7) OP(2, 8) OP(3, 9) OP(4, 10) OP(5, 11)
#define BANKML_BYTES "vpbroadcastb %[one], %%ymm12\n\tvpbroadcastb %[one], %%ymm13\n\tvpbroadcastw %[wide], %%ymm14\n\t"
#define BANKML_INTEGERS(NAME, SETUP, BODY)                                               \
  void NAME(int64_t turns) {                                                             \
    __asm__ volatile(BANKML_TWELVE(BANKML_ZERO) SETUP BANKML_LOOP(BODY) "vzeroupper\n\t" \
                     : [turns] "+r"(turns)                                               \
                     : [one] "m"(kOne), [wide] "m"(kWideOne)                             \
                     : BANKML_CLOBBERED, "xmm14");                                       \
  }
#define BANKML_MADDUBS(i, t)                                                                                  \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm" #t "\n\tvpmaddwd %%ymm14, %%ymm" #t ", %%ymm" #t "\n\tvpaddd %%ymm" #t \
  ", %%ymm" #i ", %%ymm" #i "\n\t"
#define BANKML_MADD(i, t) "vpmaddwd %%ymm12, %%ymm13, %%ymm" #t "\n\tvpaddd %%ymm" #t ", %%ymm" #i ", %%ymm" #i "\n\t"
#define BANKML_AVXVNNI(i) "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" #i "\n\t"
#define BANKML_AVX512VNNI(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n\t"

BANKML_INTEGERS(maddubs, BANKML_BYTES, BANKML_SIX(BANKML_MADDUBS))
BANKML_INTEGERS(madd, BANKML_BYTES, BANKML_SIX(BANKML_MADD))
BANKML_INTEGERS(avxvnni, BANKML_BYTES, BANKML_TWELVE(BANKML_AVXVNNI))
BANKML_INTEGERS(avx512vnni, "vpbroadcastb %[one], %%zmm12\n\tvpbroadcastb %[one], %%zmm13\n\t",
                BANKML_TWELVE(BANKML_AVX512VNNI))

struct Level {
  const char* name;
  const char* kind;
  void (*loop)(int64_t);
  double operations;  // a turn: 12 or 24 multiply-adds of whole registers
};

constexpr Level kLevels[] = {{"avx512", "f32", avx512, 24 * 16 * 2},
                             {"avx2", "f32", avx2, 24 * 8 * 2},
                             {"sse", "f32", sse, 24 * 4},
                             {"avx512 vpdpbusd", "int8", avx512vnni, 24 * 64 * 2},
                             {"avxvnni vpdpbusd", "int8", avxvnni, 24 * 32 * 2},
                             {"avx2 vpmaddubsw", "int8", maddubs, 12 * 32 * 2},
                             {"avx2 vpmaddwd", "int16", madd, 12 * 16 * 2}};
constexpr int kCount = sizeof kLevels / sizeof *kLevels;

bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4)) && __builtin_cpu_supports("avx2");
}

bool supported(int level) {
  switch (level) {
    case 0:
      return __builtin_cpu_supports("avx512f");
    case 1:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case 2:
      return true;
    case 3:
      return __builtin_cpu_supports("avx512vnni");
    case 4:
      return has_avxvnni();
    default:
      return __builtin_cpu_supports("avx2");
  }
}

// 64 bytes a step into four registers; 16-byte loads go far beyond what memory delivers. Fetched 16 KB ahead: the
// hardware's own prefetching alone reads at 0.8 times the speed.
void read(const char* from, const char* end) {
  __asm__ volatile(
      "1:\n\tprefetcht0 16384(%[from])\n\tmovups (%[from]), %%xmm0\n\tmovups 16(%[from]), %%xmm1\n\tmovups "
      "32(%[from]), %%xmm2\n\tmovups 48(%[from]), %%xmm3\n\t"
      "add $64, %[from]\n\tcmp %[end], %[from]\n\tjb 1b\n\t"
      : [from] "+r"(from)
      : [end] "r"(end)
      : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
}

#else  // no loops for this architecture yet: no level, no rates

struct Level {
  const char* name;
  const char* kind;
  void (*loop)(int64_t);
  double operations;
};

constexpr Level kLevels[] = {{"none", "f32", nullptr, 0}};
constexpr int kCount = 0, kTurns = 1;
bool supported(int) { return false; }
void read(const char*, const char*) {}

#endif

}  // namespace

// The name of loop `level`, of each kind the widest first; "" where this machine lacks it, null behind the last one.
extern "C" const char* peak_name(int level) {
  if (level < 0 || level >= kCount) return nullptr;
  return supported(level) ? kLevels[level].name : "";
}

// What loop `level` multiplies: "f32", "int8" or "int16".
extern "C" const char* peak_kind(int level) { return level < 0 || level >= kCount ? nullptr : kLevels[level].kind; }

// Operations per second (a multiply-add is two) of the calling thread, over about `seconds`.
extern "C" double peak_rate(int level, double seconds) {
  if (level < 0 || level >= kCount || !supported(level)) return 0;
  const auto start = Clock::now();
  double turns = 0;
  do {
    kLevels[level].loop(kTurns);
    turns += kTurns;
  } while (since(start) < seconds);
  return turns * kLevels[level].operations / since(start);
}

// Bytes per second of one read of data[0 … bytes), a multiple of 64.
extern "C" double peak_read(const char* data, size_t bytes) {
  const auto start = Clock::now();
  read(data, data + bytes);
  return kCount == 0 ? 0 : static_cast<double>(bytes) / since(start);
}

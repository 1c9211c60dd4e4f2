// A process that preloads this library (LD_PRELOAD) is told of a CPU with AVX2 and FMA and nothing wider: `cpuid` traps
// (arch_prctl ARCH_SET_CPUID), and the answer is the machine's own without AVX-512, AVX10, AMX, AVX-VNNI and the other
// VEX forms of AVX-512's instructions. Every engine that asks the CPU then chooses what it would choose on such a
// machine.
//
// The trap is a setting of the thread: clone and fork pass it on, exec drops it and LD_PRELOAD sets it again. The
// loader asks the CPU before any library runs; GLIBC_TUNABLES (cpu.py) tells glibc's own functions the same. A library
// that replaces the SIGSEGV handler for good would end the process at its next cpuid: that is seen, not a wrong figure.

#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

struct registers {
  uint32_t a, b, c, d;
};

static long trap_cpuid(int trap) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, !trap); }

static struct registers machine(uint32_t leaf, uint32_t subleaf) {
  struct registers r = {leaf, 0, subleaf, 0};
  __asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
  return r;
}

#define BIT(n) (UINT32_C(1) << (n))

static struct registers without_wider(uint32_t leaf, uint32_t subleaf, struct registers r) {
  if (leaf == 7 && subleaf == 0) {
    // AVX512F, DQ, IFMA, PF, ER, CD, BW, VL
    r.b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31));
    r.c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));  // AVX512 VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
    // AVX512 4VNNIW, 4FMAPS, VP2INTERSECT; AMX BF16; AVX512 FP16; AMX TILE, INT8
    r.d &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));
  }
  if (leaf == 7 && subleaf == 1) {
    r.a &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));           // AVX-VNNI, AVX512 BF16, AMX FP16, AVX-IFMA
    r.d &= ~(BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19));  // AVX-VNNI-INT8, NE-CONVERT, AMX-COMPLEX, INT16, AVX10
  }
  return r;
}

static void answer(greg_t* registers) {
  const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
  trap_cpuid(0);
  const struct registers r = without_wider(leaf, subleaf, machine(leaf, subleaf));
  trap_cpuid(1);
  registers[REG_RAX] = r.a;
  registers[REG_RBX] = r.b;
  registers[REG_RCX] = r.c;
  registers[REG_RDX] = r.d;
  registers[REG_RIP] += 2;  // the instruction's bytes
}

// Any other fault: the instruction faults again, or a signal that was sent is sent again, and the process ends as it
// would have. No handler of the program's own is known here: it would have replaced this one.
static void pass_on(int number, const siginfo_t* info) {
  signal(number, SIG_DFL);
  if (info->si_code <= 0) raise(number);
}

static void on_segv(int number, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  // A trapped cpuid is a general protection fault (SI_KERNEL); only then does RIP surely point at readable bytes.
  if (info->si_code == SI_KERNEL && memcmp((const void*)registers[REG_RIP], "\x0f\xa2", 2) == 0) {
    answer(registers);
  } else {
    pass_on(number, info);
  }
}

__attribute__((constructor(101))) static void begin(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_segv;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  if (trap_cpuid(1) != 0) {
    static const char words[] = "bench: this CPU or kernel cannot trap cpuid: run without --cpu avx2\n";
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(1);
  }
}

// Bytes of chance for the template engine: it expands them or says what is wrong, and nothing else.
//
// With clang: -fsanitize=fuzzer,address -DWGT_LIBFUZZER. Without, the driver below mutates its
// corpus, always alike: wgt_fuzz [seconds] [seed]; a fault is repeated by its seed.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "kernels/template.h"

using namespace wgt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::Vars vars;
  vars.set("n", 3);
  vars.set("x", -7);
  vars.set("T", "vec4<f32>");
  vars.set("body", "let a = 1;\nlet b = 2;");
  try {
    kernels::expand_text("fuzz.wgsl", std::string_view(reinterpret_cast<const char*>(data), size),
                         vars);
  } catch (const Error& e) {
    if (e.kind != ErrorKind::generic) std::abort();
  }
  return 0;
}

#ifndef WGT_LIBFUZZER
namespace {

const std::vector<std::string> kCorpus = {
    "//% for i in 0..n\nlet a_{{i}} = {{ i * 2 + x }};\n//% end\n",
    "//% for i in 0..8 step 2\n//% let k = i % n\n{{k}}\n//% end\n",
    "//% if n == 3 && !x\n{{T}}\n//% elif x < -2 ? n : x\n{{body}}\n//% else\nc\n//% end\n",
    "//% include lib/bits.wgsl\nvar v: {{T}};\n",
    "{{ (n + 4) / (x + 7) }}{{ 1 << }}{{ n }}}}\n",
    "{{ - - ! n != 2 || 9223372036854775807 + 1 }}\r\n",
    "//% for i in -9223372036854775807..9223372036854775807\n//% end\n",
    "{{((((((((((((((((n))))))))))))))))}}\n//%\n//% end\n//% nonsense\n",
};
const std::vector<std::string> kTokens = {"//% ",
                                          "{{",
                                          "}}",
                                          "for ",
                                          " in ",
                                          "..",
                                          "step ",
                                          "if ",
                                          "elif ",
                                          "else",
                                          "end",
                                          "let ",
                                          "=",
                                          "include ",
                                          "lib/",
                                          "(",
                                          ")",
                                          "?",
                                          ":",
                                          "&&",
                                          "||",
                                          "\n",
                                          "\r\n",
                                          "-",
                                          "/ 0",
                                          "% 0",
                                          "n",
                                          "x",
                                          "T",
                                          "body",
                                          "99999999999999999999"};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : rng_(seed) {}

  std::string next() {
    std::string s = kCorpus[below(kCorpus.size())];
    for (size_t n = 1 + below(8); n > 0; --n) mutate(s);
    return s;
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(rng_() % n); }

  void mutate(std::string& s) {
    size_t at = below(s.size() + 1), count = below(12);
    switch (below(6)) {
      case 0:
        s.insert(at, kTokens[below(kTokens.size())]);
        break;
      case 1:
        s.erase(at, count);
        break;
      case 2:
        if (at < s.size()) s[at] = static_cast<char>(rng_());
        break;
      case 3:
        s.insert(at, s.substr(below(s.size() + 1), count));
        break;
      case 4:
        s += kCorpus[below(kCorpus.size())];
        break;
      default:
        s.insert(at, std::string(below(300), "({-!"[below(4)]));
    }
  }

  std::mt19937_64 rng_;
};

}  // namespace

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  using Clock = std::chrono::steady_clock;
  auto stop = Clock::now() + std::chrono::duration<double>(seconds);
  uint64_t turns = 0;
  for (; argc > 2 ? turns < 1 : Clock::now() < stop; ++turns, ++seed) {
    std::fprintf(stderr, argc > 2 ? "seed %llu\n" : "", static_cast<unsigned long long>(seed));
    std::string s = Mutator(seed).next();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(s.data()), s.size());
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(turns));
  return 0;
}
#endif

#include "kernels/template.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.h"

using namespace wgt;
using namespace wgt::kernels;

namespace {

std::string run(const std::string& text, const Vars& vars = {}) {
  return expand_text("t.wgsl", text, vars);
}

std::string error_of(const std::string& text, const Vars& vars = {}) {
  try {
    run(text, vars);
  } catch (const Error& e) {
    CHECK(e.kind == ErrorKind::generic);
    return e.what();
  }
  return "no error";
}

int64_t integer(const std::string& expression) {
  Vars v;
  v.set("x", 5);
  return std::stoll(run("{{" + expression + "}}", v));
}

}  // namespace

TEST_CASE("template: expressions") {
  CHECK(integer("1 + 2 * 3") == 7);
  CHECK(integer("(1 + 2) * 3") == 9);
  CHECK(integer("10 - 4 - 3") == 3);
  CHECK(integer("17 / 5 * 5 + 17 % 5") == 17);
  CHECK(integer("-x + 1") == -4);
  CHECK(integer("- -x") == 5);
  CHECK(integer("!x + !0") == 1);
  CHECK(integer("x == 5 && x != 4") == 1);
  CHECK(integer("x < 5 || x >= 6") == 0);
  CHECK(integer("(x <= 5) + (x > 4)") == 2);
  CHECK(integer("x > 4 ? x < 9 ? 1 : 2 : 3") == 1);
  CHECK(integer("x > 9 ? 1 : x > 6 ? 2 : 3") == 3);
  // The side that is not taken is not computed.
  CHECK(integer("x == 5 || 1 / 0") == 1);
  CHECK(integer("x == 4 && nowhere") == 0);
  CHECK(integer("x ? 7 : nowhere") == 7);
}

TEST_CASE("template: loops to the ends of what numbers hold, and beyond what is unrolled") {
  Vars v;
  v.set("top", std::numeric_limits<int64_t>::max());
  CHECK(run("//% for i in top - 7..top step 5\n{{i}}\n//% end\n", v) ==
        "9223372036854775800\n9223372036854775805\n");
  CHECK(run("//% for i in 3..-3\nx\n//% end\n").empty());
  std::string most = "//% for i in -top..top\n//% end\n";
  CHECK(error_of(most, v).find("t.wgsl:1: loops of more turns") != std::string::npos);
  std::string nest = "//% for i in 0..1000\n//% for j in 0..1000\n//% end\n//% end\n";
  CHECK(error_of(nest).find("t.wgsl:2: loops of more turns") != std::string::npos);
}

TEST_CASE("template: inline insertion") {
  Vars v;
  v.set("n", 3);
  v.set("T", "f32");
  CHECK(run("var a_{{n}}: vec{{ n + 1 }}<{{T}}>;\n", v) == "var a_3: vec4<f32>;\n");
  CHECK(run("no line break", v) == "no line break\n");
  CHECK(run("", v).empty());
  CHECK(run("a\r\nb\r\n", v) == "a\nb\n");
}

TEST_CASE("template: texts of many lines, and of none") {
  Vars v;
  v.set("body", "let a = 1;\nlet b = 2;");
  v.set("lines", "x;\ny;\n");
  v.set("none", "");
  CHECK(run("{\n{{body}}\n}\n", v) == "{\nlet a = 1;\nlet b = 2;\n}\n");
  CHECK(run("{{lines}}\nz;\n", v) == "x;\ny;\nz;\n");
  CHECK(run("a;\n  {{none}}\nb;\n", v) == "a;\nb;\n");
  CHECK(run("a;{{none}}\n", v) == "a;\n");
  CHECK(run("\n", v) == "\n");
}

TEST_CASE("template: a text is not expanded again") {
  Vars v;
  v.set("t", "{{x}}\n//% end");
  CHECK(run("{{t}}", v) == "{{x}}\n//% end\n");
}

TEST_CASE("template: if") {
  const std::string text = "//% if n == 1\none\n//% elif n == 2\ntwo\n//% else\nmany\n//% end\n";
  for (auto [n, want] : {std::pair{1, "one\n"}, {2, "two\n"}, {3, "many\n"}}) {
    Vars v;
    v.set("n", n);
    CHECK(run(text, v) == want);
  }
  CHECK(run("//% if 0\na\n//% end\n").empty());
  CHECK(run("//% if 0\n{{unknown}}\n//% end\nb\n") == "b\n");
  CHECK(run("  //%if 1\n//% if 0\na\n//% else\nb\n//% end\n  //%  end  \n") == "b\n");
}

TEST_CASE("template: for") {
  CHECK(run("//% for i in 0..3\na{{i}}\n//% end\n") == "a0\na1\na2\n");
  CHECK(run("//% for i in 1+1..8 step 2 + 1\na{{i}}\n//% end\n") == "a2\na5\n");
  CHECK(run("//% for i in 3..3\na\n//% end\n").empty());
  CHECK(run("//% for i in 0..2\n//% for j in i..2\n{{i}}{{j}}\n//% end\n//% end\n") ==
        "00\n01\n11\n");
}

TEST_CASE("template: let") {
  CHECK(run("//% let a = 2\n//% let b = a * a\n{{b}}\n") == "4\n");
  CHECK(run("//% let a = 1\n//% for i in 0..2\n//% let a = i + 5\n{{a}}\n//% end\n{{a}}\n") ==
        "5\n6\n1\n");
  CHECK(run("//% if 1\n//% let a = 1\n//% end\n{{a}}\n") == "1\n");
  Vars v;
  v.set("t", "text");
  CHECK(run("//% let t = 3\n{{t}}\n", v) == "3\n");
}

TEST_CASE("template: errors name file and line") {
  Vars v;
  v.set("t", "text");
  auto has = [&](const std::string& text, const std::string& message) {
    CHECK(error_of(text, v) == "shaders/t.wgsl:" + message);
  };
  has("a\n{{x}}\n", "2: unknown variable 'x'");
  has("a\n\n//% if y\n//% end\n", "3: unknown variable 'y'");
  has("//% if 0\n//% elif y\n//% end\n", "2: unknown variable 'y'");
  has("{{t + 1}}\n", "1: 't' is a text, and an integer is needed");
  has("//% let a = t\n", "1: 't' is a text, and an integer is needed");
  has("//% for i in 0..t\n//% end\n", "1: 't' is a text, and an integer is needed");
  has("{{1 / 0}}\n", "1: division by zero");
  has("{{1 % 0}}\n", "1: division by zero");
  has("{{1 +}}\n", "1: unexpected end of the expression");
  has("{{}}\n", "1: unexpected end of the expression");
  has("{{1 2}}\n", "1: bad syntax at '2'");
  has("{{3x}}\n", "1: bad syntax at '3x'");
  has("{{(1}}\n", "1: unexpected end of the expression");
  has("{{1 ? 2}}\n", "1: unexpected end of the expression");
  has("{{99999999999999999999}}\n", "1: the number is too large");
  has("{{x\n", "1: '{{' without '}}'");
  has("//% if\n//% end\n", "1: unexpected end of the expression");
  has("\n//% if 1\na\n", "2: 'if' without 'end'");
  has("//% if 1\n//% else\na\n", "2: 'else' without 'end'");
  has("//% for i in 0..2\na\n", "1: 'for' without 'end'");
  has("a\n//% end\n", "2: 'end' without a beginning");
  has("//% else\n", "1: 'else' without a beginning");
  has("//% if 1\n//% else\n//% else\n//% end\n", "3: 'else' after 'else'");
  has("//% for i in 0..2\n//% else\n//% end\n", "2: 'else' inside 'for'");
  has("//% if 1\n//% end now\n", "2: unexpected 'now' after 'end'");
  has("//% for i of 0..2\n//% end\n", "1: bad syntax at '0..2'");
  has("//% for i in 0 to 2\n//% end\n", "1: bad syntax at 'to 2'");
  has("//% for i in 0..2 by 1\n//% end\n", "1: unexpected 'by' in 'for'");
  has("//% for i in 0..2 step 0\n//% end\n", "1: the step of a loop must be positive");
  has("//% let = 2\n", "1: bad syntax at '= 2'");
  has("//% let a 2\n", "1: bad syntax at '2'");
  has("//% unless 1\n", "1: unknown directive 'unless'");
  has("//% include\n", "1: include needs a file name");
  has("a\n//% include lib/nowhere.wgsl\n", "2: there is no shaders/lib/nowhere.wgsl");
}

TEST_CASE("template: deep nests are refused, not a crash") {
  CHECK(error_of("{{" + std::string(100000, '(') + "1}}").find("nests too deeply") !=
        std::string::npos);
  CHECK(error_of("{{" + std::string(100000, '-') + "1}}").find("nests too deeply") !=
        std::string::npos);
}

TEST_CASE("template: an error in an included file names that file") {
  const std::string message = error_of("a\n//% include matmul.wgsl\n");
  CHECK(message.find("shaders/matmul.wgsl:") == 0);
  CHECK(message.find("unknown variable") != std::string::npos);
}

TEST_CASE("template: embedded shaders, from several threads") {
  CHECK_THROWS_AS(expand("nowhere.wgsl", {}), Error);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 50; ++j) CHECK_THROWS_AS(expand("matmul.wgsl", {}), Error);
    });
  for (auto& t : threads) t.join();
}

#include "kernels/template.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/errors.h"
#include "kernels/embedded.h"
#include "kernels/template_expr.h"

namespace wgt::kernels {
namespace {

using namespace tmpl;

// ---- parsed templates ----

/// A piece of a line: text to copy, or an expression to insert.
struct Piece {
  std::string text;
  bool is_expr = false;
  Expr expr;
};

struct Node;
using Block = std::vector<Node>;

struct Node {
  enum Kind { line, if_chain, for_loop, let, include } kind = line;
  int at = 0;                   // line number
  std::vector<Piece> pieces;    // line, without its line break
  std::string name;             // for, let: the variable; include: the file
  std::vector<Expr> exprs;      // if: the conditions; for: from, to, step; let: the value
  std::vector<int> expr_lines;  // if: where each condition stands
  std::vector<Block> blocks;  // if: a block per condition, perhaps one more for else; for: the body
};

struct Template {
  std::string name;
  Block body;
};

class Parser {
 public:
  Parser(const std::string& shader, std::string_view text) : shader_(shader), text_(text) {}

  Block parse() {
    Block body;
    if (block(body, "")) fail(here(), "'" + directive_ + "' without a beginning");
    return body;
  }

 private:
  Place here() const { return {&shader_, line_}; }
  bool next_line() {
    if (text_.empty()) return false;
    const size_t n = text_.find('\n');
    current_ = text_.substr(0, n);
    text_.remove_prefix(n == std::string_view::npos ? text_.size() : n + 1);
    if (!current_.empty() && current_.back() == '\r') current_.remove_suffix(1);
    ++line_;
    return true;
  }

  /// Reads nodes until elif, else or end (true: directive_ and rest_ hold it) or the text's end.
  bool block(Block& out, const char* opener) {
    const int opened = line_;
    while (next_line()) {
      std::string_view s = trim(current_);
      if (!s.starts_with("//%")) {
        out.push_back(text_line());
        continue;
      }
      s = trim(s.substr(3));
      size_t n = 0;
      while (n < s.size() && is_name(s[n])) ++n;
      directive_ = s.substr(0, n);
      rest_ = trim(s.substr(n));
      if (directive_ == "elif" || directive_ == "else" || directive_ == "end") return true;
      out.push_back(directive());
    }
    if (*opener) fail({&shader_, opened}, "'" + std::string(opener) + "' without 'end'");
    return false;
  }

  Node directive() {
    Node n;
    n.at = line_;
    if (directive_ == "if") {
      parse_if(n);
    } else if (directive_ == "for") {
      parse_for(n);
    } else if (directive_ == "let") {
      n.kind = Node::let;
      ExprParser p(rest_, here());
      n.name = p.take_name();
      if (n.name.empty() || !p.take("=")) p.bad();
      n.exprs.push_back(p.parse_all());
    } else if (directive_ == "include") {
      n.kind = Node::include;
      n.name = rest_;
      if (n.name.empty()) fail(here(), "include needs a file name");
    } else {
      fail(here(), "unknown directive '" + directive_ + "'");
    }
    return n;
  }
  void parse_if(Node& n) {
    n.kind = Node::if_chain;
    for (bool last = false; directive_ != "end";) {
      if (last) fail(here(), "'" + directive_ + "' after 'else'");
      last = directive_ == "else";
      if (last) {
        need_nothing_more();
      } else {
        n.exprs.push_back(ExprParser(rest_, here()).parse_all());
        n.expr_lines.push_back(line_);
      }
      n.blocks.emplace_back();
      block(n.blocks.back(), last ? "else" : "if");
    }
    need_nothing_more();
  }
  void parse_for(Node& n) {
    n.kind = Node::for_loop;
    // The header is read before the body, and each error names its line.
    ExprParser p(rest_, here());
    n.name = p.take_name();
    if (n.name.empty() || p.take_name() != "in") p.bad();
    n.exprs.push_back(p.parse());
    if (!p.take("..")) p.bad();
    n.exprs.push_back(p.parse());
    if (!p.rest().empty()) {
      if (const std::string word = p.take_name(); word != "step")
        fail(here(), "unexpected '" + word + "' in 'for'");
      n.exprs.push_back(p.parse_all());
    }
    n.blocks.emplace_back();
    block(n.blocks.back(), "for");
    if (directive_ != "end") fail(here(), "'" + directive_ + "' inside 'for'");
    need_nothing_more();
  }
  void need_nothing_more() {
    if (!rest_.empty())
      fail(here(), "unexpected '" + std::string(rest_) + "' after '" + directive_ + "'");
  }

  Node text_line() {
    Node n;
    n.at = line_;
    std::string_view s = current_;
    for (size_t open; (open = s.find("{{")) != std::string_view::npos;) {
      const size_t close = s.find("}}", open);
      if (close == std::string_view::npos) fail(here(), "'{{' without '}}'");
      if (open) n.pieces.push_back({std::string(s.substr(0, open)), false, {}});
      const std::string_view inner = s.substr(open + 2, close - open - 2);
      n.pieces.push_back({"", true, ExprParser(inner, here()).parse_all()});
      s.remove_prefix(close + 2);
    }
    if (!s.empty()) n.pieces.push_back({std::string(s), false, {}});
    return n;
  }

  const std::string& shader_;
  std::string_view text_, current_, rest_;
  std::string directive_;
  int line_ = 0;
};

const Template& parsed(const std::string& shader, const Place* from) {
  // Never freed: kernels may be expanded while static objects die.
  static auto& cache = *new std::unordered_map<std::string, std::unique_ptr<const Template>>;
  static auto& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  auto& slot = cache[shader];
  if (slot) return *slot;
  const EmbeddedShader* source = embedded_shader(shader);
  if (!source) {
    if (from) fail(*from, "there is no shaders/" + shader);
    raise(ErrorKind::generic, "there is no shaders/" + shader);
  }
  auto t = std::make_unique<Template>();
  t->name = shader;
  t->body = Parser(t->name, source->text).parse();
  slot = std::move(t);
  return *slot;
}

// ---- expansion ----

class Expander {
 public:
  explicit Expander(const Vars& vars) : scope_{vars, {}} {}

  std::string run(const Template& t) {
    expand_template(t);
    return std::move(out_);
  }

 private:
  void expand_template(const Template& t) {
    const std::string* outer = std::exchange(shader_, &t.name);
    for (const Node& n : t.body) node(n);
    shader_ = outer;
  }
  int64_t value(const Expr& e, int line) { return evaluate(e, scope_, {shader_, line}); }

  void node(const Node& n) {
    switch (n.kind) {
      case Node::line:
        return line(n);
      case Node::if_chain:
        return if_chain(n);
      case Node::for_loop:
        return for_loop(n);
      case Node::let:
        return scope_.locals.emplace_back(n.name, value(n.exprs[0], n.at)), void();
      case Node::include:
        return include(n);
    }
  }
  void line(const Node& n) {
    const size_t start = out_.size();
    bool inserted = false;
    for (const Piece& p : n.pieces) {
      const std::string* text = nullptr;
      if (p.is_expr && p.expr.op == "name") text = find_text(scope_, p.expr.name);
      inserted |= text != nullptr;
      if (!p.is_expr)
        out_ += p.text;
      else
        out_ += text ? *text : std::to_string(value(p.expr, n.at));
    }
    // A text that stands alone on its line brings its own line breaks, or vanishes with the line.
    const bool alone = inserted && n.pieces.size() == 1;
    const bool blank = trim(std::string_view(out_).substr(start)).empty();
    if (inserted && blank)
      out_.resize(start);
    else if (!(alone && out_.back() == '\n'))
      out_ += '\n';
  }
  void if_chain(const Node& n) {
    size_t i = 0;
    while (i < n.exprs.size() && value(n.exprs[i], n.expr_lines[i]) == 0) ++i;
    if (i < n.blocks.size())
      for (const Node& child : n.blocks[i]) node(child);
  }
  void for_loop(const Node& n) {
    const int64_t from = value(n.exprs[0], n.at), to = value(n.exprs[1], n.at);
    const int64_t step = n.exprs.size() > 2 ? value(n.exprs[2], n.at) : 1;
    if (step < 1) fail({shader_, n.at}, "the step of a loop must be positive");
    const size_t outer = scope_.locals.size();
    // The distance of any two numbers is in uint64_t; a turn may be the last that is in int64_t.
    const uint64_t distance =
        from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
    const uint64_t turns = distance / static_cast<uint64_t>(step) +
                           (distance % static_cast<uint64_t>(step) != 0 ? 1 : 0);
    for (uint64_t turn = 0; turn < turns; ++turn) {
      if (++turns_ > kMostTurns) fail({shader_, n.at}, "loops of more turns than are unrolled");
      const uint64_t i = static_cast<uint64_t>(from) + turn * static_cast<uint64_t>(step);
      scope_.locals.emplace_back(n.name, static_cast<int64_t>(i));
      for (const Node& child : n.blocks[0]) node(child);
      scope_.locals.resize(outer);
    }
  }
  void include(const Node& n) {
    const Place at{shader_, n.at};
    if (++depth_ > 16) fail(at, "includes nest too deeply");
    expand_template(parsed(n.name, &at));
    --depth_;
  }

  Scope scope_;
  const std::string* shader_ = nullptr;
  std::string out_;
  int depth_ = 0, turns_ = 0;
  static constexpr int kMostTurns = 1 << 16;  // of all loops together
};

}  // namespace

std::string expand(const std::string& shader, const Vars& vars) {
  return Expander(vars).run(parsed(shader, nullptr));
}

std::string expand_text(const std::string& shader, std::string_view text, const Vars& vars) {
  Template t;
  t.name = shader;
  t.body = Parser(t.name, text).parse();
  return Expander(vars).run(t);
}

}  // namespace wgt::kernels

// The sections of shaders/lib: what kernels need of them, expanded.
#include <algorithm>
#include <map>
#include <sstream>

#include "graph/codegen.h"
#include "kernels/embedded.h"

namespace wgt::graph {

namespace {

// Functions of 64-bit numbers are sections whose names end in 64.
bool is_wide_name(const std::string& name) {
  return name.size() > 2 && name.compare(name.size() - 2, 2, "64") == 0;
}

std::string function_suffix(const std::string& name, int width) {
  return (is_wide_name(name) ? "64_" : "") + std::to_string(width);
}

struct Section {
  std::vector<std::string> needs;
  std::string text;
  bool any_width = false;  // of numbers: 64 bits too
};

void add_sections(const char* text, std::map<std::string, Section>& sections) {
  std::istringstream in(text);
  std::string line;
  Section* current = nullptr;
  while (std::getline(in, line)) {
    if (line.rfind("//@ ", 0) == 0) {
      size_t colon = line.find(':');
      std::string name = line.substr(4, colon - 4);
      bool any_width = name.back() == '*';
      if (any_width) name.pop_back();
      if (sections.count(name)) internal_error("shaders/lib has two sections " + name);
      current = &sections[name];
      current->any_width = any_width;
      std::istringstream needs(line.substr(colon + 1));
      std::string need;
      while (needs >> need) current->needs.push_back(need);
    } else if (current) {
      current->text += line + "\n";
    }
  }
}

const std::map<std::string, Section>& sections() {
  static const std::map<std::string, Section> all = [] {
    std::map<std::string, Section> m;
    for (const kernels::EmbeddedShader* s = kernels::embedded_shaders(); s->name; ++s)
      if (std::string_view(s->name).substr(0, 4) == "lib/") add_sections(s->text, m);
    return m;
  }();
  return all;
}

std::string replace_all(std::string s, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += by.size())
    s.replace(at, what.size(), by);
  return s;
}

// The section of that name: for "name64" also the one of `name`, if it is for any width of numbers.
const Section* find_section(const std::string& name) {
  auto it = sections().find(name);
  if (it != sections().end()) return &it->second;
  if (!is_wide_name(name)) return nullptr;
  it = sections().find(name.substr(0, name.size() - 2));
  return it != sections().end() && it->second.any_width ? &it->second : nullptr;
}

std::string expanded(std::string text, bool wide, int width, const std::string& suffix) {
  auto set = [&](const char* name, const std::string& value) {
    text = replace_all(std::move(text), std::string("{{") + name + "}}", value);
  };
  set("W", suffix);
  set("F", wgsl_type(wide ? "f64" : "f32", width));
  set("I", wgsl_type(wide ? "i64" : "i32", width));
  set("U", wgsl_type(wide ? "u64" : "u32", width));
  set("F32", wgsl_type("f32", width));
  set("I32", wgsl_type("i32", width));
  set("U32", wgsl_type("u32", width));
  set("F64", wgsl_type("f64", width));
  set("WIDTH", std::to_string(width));
  set("B", wgsl_type("bool", width));
  set("BITS", wide ? "64" : "32");
  set("LAST", wide ? "63" : "31");
  set("SIGN", wide ? "0x8000000000000000lu" : "0x80000000u");
  set("MAGNITUDE", wide ? "0x7ffffffffffffffflu" : "0x7fffffffu");
  set("INF", wide ? "0x7ff0000000000000lu" : "0x7f800000u");
  set("NAN", wide ? "0x7ff8000000000000lu" : "0x7fc00000u");
  set("FRACTION", wide ? "52" : "23");
  set("EXPONENT", wide ? "11" : "8");
  set("BIAS", wide ? "1023" : "127");
  set("ONE", wide ? "0x3ff0000000000000lu" : "0x3f800000u");
  set("ANY", width == 1 ? "" : "any");
  set("ALL", width == 1 ? "" : "all");
  set("UNPACKED", width == 1 ? "unpack2x16float(h).x"
                             : "vec4<f32>(unpack2x16float(h.x).x, unpack2x16float(h.y).x, "
                               "unpack2x16float(h.z).x, unpack2x16float(h.w).x)");
  set("MAXSTART", width == 1 ? "start" : "max(max(start.x, start.y), max(start.z, start.w))");
  return text;
}

void append_section(const std::string& name, int width, bool exact,
                    std::vector<std::pair<std::string, int>>& done, std::string& out) {
  std::pair<std::string, int> key{name, width};
  if (std::find(done.begin(), done.end(), key) != done.end()) return;
  done.push_back(key);
  const Section* section = exact ? find_section(name + "!") : nullptr;
  if (!section) section = find_section(name);
  if (!section) internal_error("shaders/lib has no section " + name);
  bool derived = !sections().count(name);
  for (const std::string& need : section->needs)
    append_section(derived ? need + "64" : need, width, exact, done, out);
  out += expanded(section->text, is_wide_name(name), width, function_suffix(name, width));
}

}  // namespace

std::string library_name(const std::string& name, int width) {
  std::string base = is_wide_name(name) ? name.substr(0, name.size() - 2) : name;
  return base + "_" + function_suffix(name, width);
}

bool library_has(const std::string& section) {
  return find_section(section) != nullptr;
}

std::string library(const std::vector<std::pair<std::string, int>>& functions, bool exact) {
  std::string out;
  std::vector<std::pair<std::string, int>> done;
  for (const auto& f : functions) append_section(f.first, f.second, exact, done, out);
  return out;
}

}  // namespace wgt::graph

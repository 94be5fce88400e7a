#include "base/settings.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "base/accepted.h"
#include "base/environment.h"
#include "base/errors.h"

namespace wgt {

namespace {

void parse(const std::string&, const std::string& text, std::string& out) {
  out = text;
}

void parse(const std::string& name, const std::string& text, bool& out) {
  if (text == "1" || text == "true" || text == "True" || text == "on") {
    out = true;
  } else if (text.empty() || text == "0" || text == "false" || text == "False" || text == "off") {
    out = false;
  } else {
    raise(ErrorKind::value, name + "='" + text + "': expected 0 or 1");
  }
}

void parse(const std::string&, const std::string& text, int& out) {
  out = static_cast<int>(*whole_number(text));
}

std::string print(const std::string& v) {
  return v;
}
std::string print(bool v) {
  return v ? "1" : "0";
}
std::string print(int v) {
  return std::to_string(v);
}

/// Text to a value that the list `values` has. `name`: as the user knows the setting.
template <class T>
void take(const std::string& name, const std::string& text, const char* values, T& out) {
  // Bools go by several words; the list has what they print as.
  if (!std::is_same_v<T, bool> && !accepted(values, text))
    raise(ErrorKind::value, name + "='" + text + "': expected " + accepted_words(values));
  parse(name, text, out);
}

Settings from_environment() {
  Settings s;
#define SETTING(type, name, default_value, env, values, help)       \
  {                                                                 \
    const char* text = std::getenv(env);                            \
    take(env, text&&* text ? text : default_value, values, s.name); \
  }
#include "base/settings.def"
#undef SETTING
  return s;
}

}  // namespace

Settings& settings() {
  static Settings s = from_environment();
  return s;
}

const std::vector<SettingInfo>& setting_list() {
  static const std::vector<SettingInfo> list = {
#define SETTING(type, name, default_value, env, values, help) \
  {#name, #type, default_value, env, accepted_words(values), help},
#include "base/settings.def"
#undef SETTING
  };
  return list;
}

void set_setting(const std::string& name, const std::string& value) {
#define SETTING(type, field, default_value, env, values, help) \
  if (name == #field) return take(name, value, values, settings().field);
#include "base/settings.def"
#undef SETTING
  raise(ErrorKind::value, "no setting is called '" + name + "'");
}

std::string get_setting(const std::string& name) {
  Settings& s = settings();
#define SETTING(type, field, ...) \
  if (name == #field) return print(s.field);
#include "base/settings.def"
#undef SETTING
  raise(ErrorKind::value, "no setting is called '" + name + "'");
}

std::vector<std::string> unknown_variables() {
  // The build's and the tests' own.
  constexpr std::string_view elsewhere[] = {
      "WGTENSOR_BUILD_", "WGTENSOR_WGPU_",   "WGTENSOR_LTO",    "WGTENSOR_WERROR",
      "WGTENSOR_SOAK_",  "WGTENSOR_VERSION", "WGTENSOR_INDEX_", "WGTENSOR_SANITIZE"};
  std::vector<std::string> known, out;
  for (const SettingInfo& s : setting_list()) known.emplace_back(s.env);
  for (const std::string& name : environment_names("WGTENSOR_")) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (std::any_of(std::begin(elsewhere), std::end(elsewhere),
                    [&](std::string_view p) { return name.starts_with(p); }))
      continue;
    std::string near = closest(name, known);
    out.push_back("the environment variable " + name +
                  " is no setting of wgtensor and has no effect" +
                  (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  return out;
}

}  // namespace wgt

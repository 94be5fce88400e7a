#include "base/settings.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

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

void parse(const std::string& name, const std::string& text, int& out) {
  char* end = nullptr;
  long v = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || v < 0 || v > std::numeric_limits<int>::max())
    raise(ErrorKind::value, name + "='" + text + "': expected a whole number, 0 or more");
  out = static_cast<int>(v);
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

void check(const Settings& s) {
  if (!s.limits.empty() && s.limits != "default")
    raise(ErrorKind::value, "WGTENSOR_LIMITS='" + s.limits + "': expected 'default' or nothing");
  if (!s.kernels.empty() && s.kernels != "gpu" && s.kernels != "software" &&
      !s.kernels.starts_with("matmul:"))
    raise(ErrorKind::value, "WGTENSOR_KERNELS='" + s.kernels +
                                "': expected 'gpu', 'software', 'matmul:NAME' or nothing");
  constexpr const char* levels[] = {"off", "error", "warning", "info", "debug", "trace"};
  if (std::find(std::begin(levels), std::end(levels), s.log) == std::end(levels))
    raise(ErrorKind::value,
          "WGTENSOR_LOG='" + s.log + "': expected off, error, warning, info, debug or trace");
}

Settings from_environment() {
  Settings s;
#define SETTING(type, name, default_value, env, help)        \
  {                                                          \
    const char* text = std::getenv(env);                     \
    parse(env, text&&* text ? text : default_value, s.name); \
  }
#include "base/settings.def"
#undef SETTING
  check(s);
  return s;
}

}  // namespace

Settings& settings() {
  static Settings s = from_environment();
  return s;
}

const std::vector<SettingInfo>& setting_list() {
  static const std::vector<SettingInfo> list = {
#define SETTING(type, name, default_value, env, help) {#name, #type, default_value, env, help},
#include "base/settings.def"
#undef SETTING
  };
  return list;
}

void set_setting(const std::string& name, const std::string& value) {
  Settings changed = settings();
  bool known = false;
#define SETTING(type, field, ...)      \
  if (name == #field) {                \
    parse(name, value, changed.field); \
    known = true;                      \
  }
#include "base/settings.def"
#undef SETTING
  if (known) {
    check(changed);
    settings() = changed;
    return;
  }
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

}  // namespace wgt

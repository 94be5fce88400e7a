// The process-wide settings, from settings.def. Environment variables are read once, at first use.
#pragma once
#include <string>
#include <vector>

namespace wgt {

struct Settings {
  using string = std::string;
#define SETTING(type, name, ...) type name{};
#include "base/settings.def"
#undef SETTING
};

struct SettingInfo {
  const char *name, *type, *default_value, *env;
  std::string values;  // what it accepts, in words; empty: any text
  const char* help;
};

Settings& settings();
const std::vector<SettingInfo>& setting_list();
/// Sets one by text; raises ValueError naming the setting, the text and what is accepted.
void set_setting(const std::string& name, const std::string& value);
std::string get_setting(const std::string& name);
/// For each variable WGTENSOR_* of the environment that nothing reads, a sentence that says so, and
/// what it may have been meant to be.
std::vector<std::string> unknown_variables();

}  // namespace wgt

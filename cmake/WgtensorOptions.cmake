# Language, warnings, sanitizers and the compiler cache: everything that is not about a target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(NOT MSVC)
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WGTENSOR_CCACHE ccache)
  mark_as_advanced(WGTENSOR_CCACHE)
  if(WGTENSOR_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${WGTENSOR_CCACHE}")
  endif()
endif()

if(WGTENSOR_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# For our own targets only, linked PRIVATE: a dependency's headers never see it.
add_library(wgt_options INTERFACE)
if(MSVC)
  target_compile_options(wgt_options INTERFACE /W4 /permissive- /utf-8 /EHsc /bigobj
                                               $<$<BOOL:${WGTENSOR_WERROR}>:/WX>)
  target_compile_definitions(wgt_options INTERFACE NOMINMAX _CRT_SECURE_NO_WARNINGS)
else()
  # Partly filled descriptors are WebGPU's way: the missing-initializer warning would hit each one.
  target_compile_options(
    wgt_options
    INTERFACE -Wall
              -Wextra
              $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>
              -Wconversion
              -Wno-sign-conversion
              -Wnon-virtual-dtor
              -Woverloaded-virtual
              -Wold-style-cast
              -Wcast-qual
              -Wno-missing-field-initializers
              $<$<BOOL:${WGTENSOR_WERROR}>:-Werror>)
endif()

if(WGTENSOR_SANITIZE)
  # Unoptimised: compiling is most of what a run of the sanitizers takes.
  add_compile_options(-fsanitize=${WGTENSOR_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1 -O0)
  add_link_options(-fsanitize=${WGTENSOR_SANITIZE})
endif()

# Parsing the standard library is half of what compiling takes; `ARGN` are further headers.
function(wgt_precompile target)
  target_precompile_headers(
    ${target} PRIVATE <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring>
    <deque> <functional> <map> <memory> <mutex> <optional> <set> <string> <string_view> <thread>
    <unordered_map> <utility> <variant> <vector> ${ARGN})
endfunction()

# Installed code finds wgpu-native beside itself; the build tree keeps a copy under wgtensor/.
function(wgt_set_rpath target)
  if(APPLE)
    set(origin "@loader_path")
  else()
    set(origin "$ORIGIN")
  endif()
  set_target_properties(
    ${target} PROPERTIES BUILD_RPATH "${origin};${PROJECT_BINARY_DIR}/wgtensor"
                         INSTALL_RPATH "${origin}" BUILD_WITH_INSTALL_RPATH OFF)
  if(WIN32)
    add_custom_command(
      TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E copy_if_different "${WGT_WGPU_LIBRARY}"
              "$<TARGET_FILE_DIR:${target}>")
  endif()
endfunction()

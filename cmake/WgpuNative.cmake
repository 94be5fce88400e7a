# The imported target wgpu_native, and WGT_WGPU_LIBRARY: the file to install beside the extension.
# Where from: -DWGTENSOR_WGPU_DIR, the environment variable of that name, else the `wgpu` package of
# the Python that runs the build. Library and headers are copied into the build folder, so that an
# isolated build's temporary path never enters a compile command (and the compiler cache hits).
set(wgpu_dir "${WGTENSOR_WGPU_DIR}")
if(NOT wgpu_dir AND DEFINED ENV{WGTENSOR_WGPU_DIR})
  set(wgpu_dir "$ENV{WGTENSOR_WGPU_DIR}")
endif()
set(WGT_WGPU_LICENCES)

if(NOT wgpu_dir)
  execute_process(
    COMMAND
      "${Python_EXECUTABLE}" -c
      "import importlib.util as u; s = u.find_spec('wgpu'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE wgpu_package OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT wgpu_package)
    message(FATAL_ERROR "No wgpu-native: install the build requirement (pip install wgpu==0.32.0) "
                        "or pass -DWGTENSOR_WGPU_DIR=<folder with webgpu.h, wgpu.h, the library>")
  endif()
  file(TO_CMAKE_PATH "${wgpu_package}" wgpu_package)
  set(wgpu_dir "${wgpu_package}/resources")
  file(GLOB_RECURSE WGT_WGPU_LICENCES "${wgpu_package}/../wgpu-*.dist-info/licenses/*")
endif()

# Both layouts: flat (the wgpu package) and a wgpu-native release's include/webgpu and lib.
find_path(wgpu_include webgpu.h PATHS "${wgpu_dir}" PATH_SUFFIXES . include include/webgpu
          NO_DEFAULT_PATH NO_CACHE)
find_file(
  wgpu_file
  NAMES ${CMAKE_SHARED_LIBRARY_PREFIX}wgpu_native${CMAKE_SHARED_LIBRARY_SUFFIX}
        ${CMAKE_SHARED_LIBRARY_PREFIX}wgpu_native-release${CMAKE_SHARED_LIBRARY_SUFFIX}
        wgpu_native.dll wgpu_native-release.dll
  PATHS "${wgpu_dir}" PATH_SUFFIXES . lib bin NO_DEFAULT_PATH NO_CACHE)
if(NOT wgpu_include OR NOT wgpu_file OR NOT EXISTS "${wgpu_include}/wgpu.h")
  message(FATAL_ERROR "No webgpu.h, wgpu.h and wgpu_native library under '${wgpu_dir}'")
endif()
message(STATUS "wgpu-native: ${wgpu_file}")

set(include_copy "${PROJECT_BINARY_DIR}/wgpu_include")
file(COPY "${wgpu_include}/webgpu.h" "${wgpu_include}/wgpu.h" DESTINATION "${include_copy}")
file(COPY "${wgpu_file}" DESTINATION "${PROJECT_BINARY_DIR}/wgtensor" FOLLOW_SYMLINK_CHAIN)
cmake_path(GET wgpu_file FILENAME wgpu_name)
set(WGT_WGPU_LIBRARY "${PROJECT_BINARY_DIR}/wgtensor/${wgpu_name}")

if(APPLE)
  # The dylib's own name decides what the extension asks for: make it one that RPATH resolves.
  execute_process(COMMAND install_name_tool -id "@rpath/${wgpu_name}" "${WGT_WGPU_LIBRARY}"
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND codesign --force --sign - "${WGT_WGPU_LIBRARY}")
endif()

add_library(wgpu_native SHARED IMPORTED GLOBAL)
target_include_directories(wgpu_native SYSTEM INTERFACE "${include_copy}")
set_target_properties(wgpu_native PROPERTIES IMPORTED_LOCATION "${WGT_WGPU_LIBRARY}")
if(WIN32)
  # The package holds the dll alone: write an import library from its export table.
  set(def "${PROJECT_BINARY_DIR}/wgpu_native.def")
  set(implib "${PROJECT_BINARY_DIR}/wgpu_native.lib")
  execute_process(COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/dll_to_def.py"
                          "${WGT_WGPU_LIBRARY}" "${def}" COMMAND_ERROR_IS_FATAL ANY)
  if(MSVC)
    set(machine x64)
    if(CMAKE_CXX_COMPILER_ARCHITECTURE_ID MATCHES "ARM64")
      set(machine arm64)
    elseif(CMAKE_SIZEOF_VOID_P EQUAL 4)
      set(machine x86)
    endif()
    execute_process(COMMAND "${CMAKE_AR}" /nologo "/def:${def}" "/out:${implib}"
                            "/machine:${machine}" COMMAND_ERROR_IS_FATAL ANY)
  else()
    execute_process(COMMAND "${CMAKE_DLLTOOL}" -d "${def}" -l "${implib}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set_target_properties(wgpu_native PROPERTIES IMPORTED_IMPLIB "${implib}")
elseif(NOT APPLE)
  # Without a SONAME a full path would be written into the extension.
  set_target_properties(wgpu_native PROPERTIES IMPORTED_NO_SONAME TRUE)
endif()

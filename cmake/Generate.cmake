# Sources that the build writes. Each step waits for its script, so that part of a tree configures.
set(generated_dir "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${generated_dir}")

set(wgt_shader_source)
set(embed "${PROJECT_SOURCE_DIR}/tools/embed_shaders.py")
if(EXISTS "${embed}")
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/shaders/*.wgsl")
  set(wgt_shader_source "${generated_dir}/embedded_shaders.cpp")
  add_custom_command(
    OUTPUT "${wgt_shader_source}"
    COMMAND "${Python_EXECUTABLE}" "${embed}" "${wgt_shader_source}" "${PROJECT_SOURCE_DIR}/shaders"
    DEPENDS "${embed}" ${shaders}
    COMMENT "Embedding shaders" VERBATIM)
endif()

set(wgt_generated_py)
set(wgt_core_pyi)
set(tablegen "${PROJECT_SOURCE_DIR}/tools/tablegen.cpp")
set(stub_template "${PROJECT_SOURCE_DIR}/csrc/bindings/_core.pyi.in")
if(EXISTS "${tablegen}")
  add_executable(wgt_tablegen "${tablegen}")
  target_link_libraries(wgt_tablegen PRIVATE wgtensor_base wgt_options)
  set(wgt_generated_py "${generated_dir}/_generated.py")
  add_custom_command(
    OUTPUT "${wgt_generated_py}"
    COMMAND wgt_tablegen py "${wgt_generated_py}"
    DEPENDS wgt_tablegen
    COMMENT "Writing _generated.py" VERBATIM)
  if(EXISTS "${stub_template}")
    set(wgt_core_pyi "${generated_dir}/_core.pyi")
    add_custom_command(
      OUTPUT "${wgt_core_pyi}"
      COMMAND wgt_tablegen pyi "${stub_template}" "${wgt_core_pyi}"
      DEPENDS wgt_tablegen "${stub_template}"
      COMMENT "Writing _core.pyi" VERBATIM)
  endif()
  add_custom_target(wgt_generate ALL DEPENDS ${wgt_generated_py} ${wgt_core_pyi})
endif()

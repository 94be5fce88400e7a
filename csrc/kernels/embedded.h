// The shaders of shaders/, compiled into the library by tools/embed_shaders.py.
#pragma once
#include <string_view>

namespace wgt::kernels {

struct EmbeddedShader {
  const char* name;  // relative to shaders/, "lib/index.wgsl"
  const char* text;
};

/// Null where there is no such shader.
const EmbeddedShader* embedded_shader(std::string_view name);
/// All of them; after the last comes one without a name.
const EmbeddedShader* embedded_shaders();

}  // namespace wgt::kernels

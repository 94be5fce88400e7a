// 16-bit floats in memory. Each section starts with `//@ name: sections it needs` and is expanded at vector width 1
// or 4: F I U B are the types, the functions' names end in the width.

//@ half_to_float:
// By bits: unpack2x16float may flush what is denormal in 16 bits.
fn half_to_float_{{W}}(h: {{U}}) -> {{F}} {
  // The magnitude in place, its exponent short by 112; what is denormal comes out of a difference with 2^-14.
  let t = (h & {{U}}(0x7fffu)) << {{U}}(13u);
  let small = bitcast<{{U}}>(bitcast<{{F}}>(t + {{U}}(0x38800000u)) - {{F}}(6.103515625e-5));
  let finite = select(t + {{U}}(0x38000000u), small, t < {{U}}(0x00800000u));
  let magnitude = select(finite, t + {{U}}(0x70000000u), t >= {{U}}(0x0f800000u));
  return bitcast<{{F}}>(magnitude | ((h & {{U}}(0x8000u)) << {{U}}(16u)));
}

//@ half_to_float!:
// A NaN keeps its sign and payload, which units drop.
fn half_to_float_{{W}}(h: {{U}}) -> {{F}} {
  let size = h & {{U}}(0x7fffu);
  let nan = ((h & {{U}}(0x8000u)) << {{U}}(16u)) | ((size << {{U}}(13u)) + {{U}}(0x70000000u));
  return select({{UNPACKED}}, bitcast<{{F}}>(nan), size > {{U}}(0x7c00u));
}

//@ half_to_number: half_to_float
// For what is folded or multiplied: any NaN will do.
fn half_to_number_{{W}}(h: {{U}}) -> {{F}} {
  return half_to_float_{{W}}(h);
}

//@ half_to_number!:
fn half_to_number_{{W}}(h: {{U}}) -> {{F}} {
  return {{UNPACKED}};
}

//@ float_to_half:
// To the nearest, ties to even; what is too large becomes infinite. Numbers below 2^-14 are rounded to a multiple of
// 2^-24 by a sum with 1/2, which has that spacing.
fn float_to_half_{{W}}(x: {{F}}) -> {{U}} {
  let b = bitcast<{{U}}>(x);
  let a = b & {{U}}(0x7fffffffu);
  let normal = (a - {{U}}(0x38000000u) + {{U}}(0xfffu) + ((a >> {{U}}(13u)) & {{U}}(1u))) >> {{U}}(13u);
  let small = bitcast<{{U}}>(bitcast<{{F}}>(min(a, {{U}}(0x3f000000u))) + {{F}}(0.5)) - {{U}}(0x3f000000u);
  // What is left of a NaN's payload stays, as long as that is something.
  let payload = (a >> {{U}}(13u)) & {{U}}(0x3ffu);
  let nan = {{U}}(0x7c00u) | payload | select({{U}}(0u), {{U}}(0x200u), payload == {{U}}(0u));
  let large = select({{U}}(0x7c00u), nan, a > {{U}}(0x7f800000u));
  let finite = select(normal, small, a < {{U}}(0x38800000u));
  return select(finite, large, a >= {{U}}(0x47800000u)) | ((b >> {{U}}(16u)) & {{U}}(0x8000u));
}

//@ float_to_bfloat:
fn float_to_bfloat_{{W}}(x: {{F}}) -> {{U}} {
  let b = bitcast<{{U}}>(x);
  let near = (b + {{U}}(0x7fffu) + ((b >> {{U}}(16u)) & {{U}}(1u))) >> {{U}}(16u);
  let upper = b >> {{U}}(16u);
  let nan = upper | select({{U}}(0u), {{U}}(0x40u), (upper & {{U}}(0x7fu)) == {{U}}(0u));
  return select(near, nan, (b & {{U}}(0x7fffffffu)) > {{U}}(0x7f800000u));
}

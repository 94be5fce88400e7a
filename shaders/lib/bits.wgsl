// Comparisons and choices that keep NaN. Each section starts with `//@ name: sections it needs` and is expanded at vector
// width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.

//@ isnan:
// Comparison of bits: compilers fold v != v to false.
fn isnan_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}(0x7fffffffu)) > {{U}}(0x7f800000u);
}

//@ isinf:
fn isinf_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}(0x7fffffffu)) == {{U}}(0x7f800000u);
}

//@ isfinite:
fn isfinite_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}(0x7fffffffu)) < {{U}}(0x7f800000u);
}

//@ ne_f: isnan
fn ne_f_{{W}}(a: {{F}}, b: {{F}}) -> {{B}} {
  return (a != b) | isnan_{{W}}(a) | isnan_{{W}}(b);
}

//@ max_nan: isnan
fn max_nan_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = select(b, a, a > b);
  return select(select(m, b, isnan_{{W}}(b)), a, isnan_{{W}}(a));
}

//@ min_nan: isnan
fn min_nan_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = select(b, a, a < b);
  return select(select(m, b, isnan_{{W}}(b)), a, isnan_{{W}}(a));
}

//@ relu_f: isnan
// Compilers make a plain select a maximum, and lose NaN.
fn relu_f_{{W}}(x: {{F}}) -> {{F}} {
  return select(max(x, {{F}}(0.0)), x, isnan_{{W}}(x));
}

//@ sign_f: isnan
fn sign_f_{{W}}(x: {{F}}) -> {{F}} {
  // Of bits: llvmpipe makes selects of 0 and +-1 its own sign, which gives -0 at 0.
  let one = bitcast<{{F}}>((bitcast<{{U}}>(x) & {{U}}(0x80000000u)) | {{U}}(0x3f800000u));
  return select(select(one, {{F}}(0.0), x == {{F}}(0.0)), x, isnan_{{W}}(x));
}

//@ max_key: isnan
// Unsigned integers that order as the floats do: both zeros alike, NaN above all.
fn max_key_{{W}}(x: {{F}}) -> {{U}} {
  let b = bitcast<{{U}}>(x);
  let sign = {{U}}(0x80000000u);
  let key = select(sign | b, ~b, b > sign);  // -0.0 is `sign` itself, as 0.0 becomes
  return select(key, {{U}}(0xffffffffu), isnan_{{W}}(x));
}

//@ min_key: max_key
// The other way round; NaN is still above all.
fn min_key_{{W}}(x: {{F}}) -> {{U}} {
  return max_key_{{W}}(bitcast<{{F}}>(bitcast<{{U}}>(x) ^ {{U}}(0x80000000u)));
}

// Comparisons, choices that keep NaN, bits and casts. Each section starts with `//@ name: sections it needs` and is
// expanded at vector width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract
// a * b + c. A section with a star is also one of 64-bit numbers, with that as its name's end: F I U then have 64 bits,
// and F32 I32 U32 never do; BITS is the numbers' width and LAST that less one, FRACTION and EXPONENT are the widths of
// a float's parts, BIAS is its exponent's; SIGN MAGNITUDE INF NAN ONE are bits.

//@ isnan*:
// Comparison of bits: compilers fold v != v to false.
fn isnan_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}({{MAGNITUDE}})) > {{U}}({{INF}});
}

//@ isinf*:
fn isinf_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}({{MAGNITUDE}})) == {{U}}({{INF}});
}

//@ isfinite*:
fn isfinite_{{W}}(x: {{F}}) -> {{B}} {
  return (bitcast<{{U}}>(x) & {{U}}({{MAGNITUDE}})) < {{U}}({{INF}});
}

//@ ne_f*: isnan
// By bits: comparisons of floats may take denormal numbers for zeros.
fn ne_f_{{W}}(a: {{F}}, b: {{F}}) -> {{B}} {
  let x = bitcast<{{U}}>(a);
  let y = bitcast<{{U}}>(b);
  let zeros = ((x | y) & {{U}}({{MAGNITUDE}})) == {{U}}(0);
  return ((x != y) & !zeros) | isnan_{{W}}(a);
}

//@ order_key*:
// Integers in the order of the floats, -0 below 0, denormals told apart. The same steps lead back.
fn order_key_{{W}}(b: {{I}}) -> {{I}} {
  return select(b, b ^ bitcast<{{I}}>({{U}}({{MAGNITUDE}})), b < {{I}}(0));
}

//@ max_nan*: order_key isnan
// NaN wins, and 0 over -0.
fn max_nan_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = max(order_key_{{W}}(bitcast<{{I}}>(a)), order_key_{{W}}(bitcast<{{I}}>(b)));
  let r = bitcast<{{F}}>(order_key_{{W}}(m));
  return select(select(r, b, isnan_{{W}}(b)), a, isnan_{{W}}(a));
}

//@ min_nan*: order_key isnan
fn min_nan_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = min(order_key_{{W}}(bitcast<{{I}}>(a)), order_key_{{W}}(bitcast<{{I}}>(b)));
  let r = bitcast<{{F}}>(order_key_{{W}}(m));
  return select(select(r, b, isnan_{{W}}(b)), a, isnan_{{W}}(a));
}

//@ fmax_f*: max_nan isnan
// NaN loses.
fn fmax_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  return select(select(max_nan_{{W}}(a, b), a, isnan_{{W}}(b)), b, isnan_{{W}}(a));
}

//@ fmin_f*: min_nan isnan
fn fmin_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  return select(select(min_nan_{{W}}(a, b), a, isnan_{{W}}(b)), b, isnan_{{W}}(a));
}

//@ relu_f*: isnan
// Compilers make a plain select a maximum, and lose NaN.
fn relu_f_{{W}}(x: {{F}}) -> {{F}} {
  return select(max(x, {{F}}(0.0)), x, isnan_{{W}}(x));
}

//@ sign_f*: isnan
fn sign_f_{{W}}(x: {{F}}) -> {{F}} {
  // Of bits: llvmpipe makes selects of 0 and +-1 its own sign, which gives -0 at 0.
  let one = bitcast<{{F}}>((bitcast<{{U}}>(x) & {{U}}({{SIGN}})) | {{U}}({{ONE}}));
  return select(select(one, {{F}}(0.0), x == {{F}}(0.0)), x, isnan_{{W}}(x));
}

//@ max_key*: isnan
// Unsigned integers that order as the floats do: both zeros alike, NaN above all.
fn max_key_{{W}}(x: {{F}}) -> {{U}} {
  let b = bitcast<{{U}}>(x);
  let sign = {{U}}({{SIGN}});
  let key = select(sign | b, ~b, b > sign);  // -0.0 is `sign` itself, as 0.0 becomes
  return select(key, ~{{U}}(0), isnan_{{W}}(x));
}

//@ min_key*: max_key
// The other way round; NaN is still above all.
fn min_key_{{W}}(x: {{F}}) -> {{U}} {
  return max_key_{{W}}(bitcast<{{F}}>(bitcast<{{U}}>(x) ^ {{U}}({{SIGN}})));
}

//@ signbit*:
fn signbit_{{W}}(x: {{F}}) -> {{B}} {
  return bitcast<{{U}}>(x) >= {{U}}({{SIGN}});
}

//@ copysign*:
fn copysign_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  return bitcast<{{F}}>((bitcast<{{U}}>(a) & {{U}}({{MAGNITUDE}})) | (bitcast<{{U}}>(b) & {{U}}({{SIGN}})));
}

//@ heaviside*: isnan
// By bits, so that denormals count whatever the device makes of them.
fn heaviside_{{W}}(x: {{F}}, h: {{F}}) -> {{F}} {
  let b = bitcast<{{I}}>(x);
  let step = select({{F}}(0.0), {{F}}(1.0), b > {{I}}(0));
  return select(select(step, h, (b & bitcast<{{I}}>({{U}}({{MAGNITUDE}}))) == {{I}}(0)), x, isnan_{{W}}(x));
}

//@ nextafter*: isnan
// Neighbours differ by 1 as integers once negative numbers count downwards.
fn nextafter_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let bx = bitcast<{{I}}>(x);
  let by = bitcast<{{I}}>(y);
  let low = bitcast<{{I}}>({{U}}({{SIGN}}));
  let kx = select(bx, low - bx, bx < {{I}}(0));
  let ky = select(by, low - by, by < {{I}}(0));
  let k = kx + select({{I}}(-1), {{I}}(1), ky > kx);
  let moved = select(k, low - k, k < {{I}}(0)) | select({{I}}(0), bx & low, k == {{I}}(0));
  let r = select(bitcast<{{F}}>(moved), y, kx == ky);
  return select(select(r, y, isnan_{{W}}(y)), x, isnan_{{W}}(x));
}

//@ shl_i*: shl_u
fn shl_i_{{W}}(a: {{I}}, n: {{I}}) -> {{I}} {
  return bitcast<{{I}}>(shl_u_{{W}}(bitcast<{{U}}>(a), bitcast<{{U}}>(n)));
}

//@ shl_u*:
// Counts past the width push every bit out, and so do negative ones, which are large as unsigned numbers.
fn shl_u_{{W}}(a: {{U}}, n: {{U}}) -> {{U}} {
  return select({{U}}(0), a << {{U32}}(n & {{U}}({{LAST}})), n < {{U}}({{BITS}}));
}

//@ shr_i*:
// The sign fills up.
fn shr_i_{{W}}(a: {{I}}, n: {{I}}) -> {{I}} {
  return a >> {{U32}}(min(bitcast<{{U}}>(n), {{U}}({{LAST}})));
}

//@ shr_u*:
fn shr_u_{{W}}(a: {{U}}, n: {{U}}) -> {{U}} {
  return select({{U}}(0), a >> {{U32}}(n & {{U}}({{LAST}})), n < {{U}}({{BITS}}));
}

//@ f_to_i: isnan
// What no int32 is becomes the nearest, and NaN 0; WGSL leaves it open. Fractions are cut off.
fn f_to_i_{{W}}(x: {{F}}) -> {{I}} {
  let i = {{I}}(clamp(x, {{F}}(-2147483648.0), {{F}}(2147483520.0)));
  let large = select(i, {{I}}(0x7fffffff), x >= {{F}}(2147483648.0));
  return select(large, {{I}}(0), isnan_{{W}}(x));
}

//@ f_to_u: isnan
fn f_to_u_{{W}}(x: {{F}}) -> {{U}} {
  let i = {{U}}(clamp(x, {{F}}(0.0), {{F}}(4294967040.0)));
  let large = select(i, {{U}}(0xffffffffu), x >= {{F}}(4294967296.0));
  return select(large, {{U}}(0u), isnan_{{W}}(x));
}

//@ f_to_i64: isnan
fn f_to_i_{{W}}(x: {{F32}}) -> {{I}} {
  let i = {{I}}(clamp(x, {{F32}}(-9223372036854775808.0), {{F32}}(9223371487098961920.0)));
  let large = select(i, {{I}}(0x7fffffffffffffffli), x >= {{F32}}(9223372036854775808.0));
  return select(large, {{I}}(0), isnan_{{WIDTH}}(x));
}

//@ f_to_u64: isnan
fn f_to_u_{{W}}(x: {{F32}}) -> {{U}} {
  let i = {{U}}(clamp(x, {{F32}}(0.0), {{F32}}(18446742974197923840.0)));
  let large = select(i, {{U}}(0xfffffffffffffffflu), x >= {{F32}}(18446744073709551616.0));
  return select(large, {{U}}(0), isnan_{{WIDTH}}(x));
}

//@ f64_to_odd: isnan64
// Rounding to odd (Boldo and Melquiond 2008), after which rounding to fewer bits gives what the double itself would.
fn f64_to_odd_{{W}}(x: {{F64}}) -> {{F}} {
  let near = {{F}}(x);
  let b = bitcast<{{U}}>(near);
  let back = abs({{F64}}(near));
  let lower = b - select({{U}}(0u), {{U}}(1u), back > abs(x));
  let odd = bitcast<{{F}}>(lower | {{U}}(1u));
  return select(odd, near, (back == abs(x)) | isnan_64_{{W}}(x));
}

//@ d_to_i64: isnan64
fn d_to_i_{{W}}(x: {{F}}) -> {{I}} {
  let i = {{I}}(clamp(x, {{F}}(-9223372036854775808.0), {{F}}(9223372036854774784.0)));
  let large = select(i, {{I}}(0x7fffffffffffffffli), x >= {{F}}(9223372036854775808.0));
  return select(large, {{I}}(0), isnan_{{W}}(x));
}

//@ d_to_u64: isnan64
fn d_to_u_{{W}}(x: {{F}}) -> {{U}} {
  let i = {{U}}(clamp(x, {{F}}(0.0), {{F}}(18446744073709549568.0)));
  let large = select(i, {{U}}(0xfffffffffffffffflu), x >= {{F}}(18446744073709551616.0));
  return select(large, {{U}}(0), isnan_{{W}}(x));
}

//@ d_to_i: isnan64
fn d_to_i_{{W}}(x: {{F64}}) -> {{I}} {
  let i = {{I}}(clamp(x, {{F64}}(-2147483648.0), {{F64}}(2147483647.0)));
  return select(i, {{I}}(0), isnan_64_{{W}}(x));
}

//@ d_to_u: isnan64
fn d_to_u_{{W}}(x: {{F64}}) -> {{U}} {
  let i = {{U}}(clamp(x, {{F64}}(0.0), {{F64}}(4294967295.0)));
  return select(i, {{U}}(0), isnan_64_{{W}}(x));
}

// Maths that WGSL lacks or gets wrong. Each section starts with `//@ name: sections it needs` and is
// expanded at vector width 1 or 4: F I U B are the types, the functions' names end in the width.

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

//@ div_f:
// WebGPU promises a quotient for divisors up to 2^126 only: drivers multiply by a reciprocal that is flushed
// beyond it. Larger ones are scaled down first, exactly.
fn div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let s = select({{F}}(1.0), {{F}}(5.9604644775390625e-8), abs(b) > {{F}}(8.507059e37));
  return (a * s) / (b * s);
}

//@ sign_f: isnan
fn sign_f_{{W}}(x: {{F}}) -> {{F}} {
  let s = select(select({{F}}(0.0), {{F}}(-1.0), x < {{F}}(0.0)), {{F}}(1.0), x > {{F}}(0.0));
  return select(s, x, isnan_{{W}}(x));
}

//@ floor_div_i:
// Built from / alone: % of negatives is wrong on some drivers. i32 min / -1 wraps to i32 min.
fn floor_div_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  let zero = b == {{I}}(0);
  let wraps = b == {{I}}(-1);
  let d = select(b, {{I}}(1), zero | wraps);
  let q = a / d;
  let r = a - d * q;
  let f = select(q, q - {{I}}(1), (r != {{I}}(0)) & ((r < {{I}}(0)) != (d < {{I}}(0))));
  return select(select(f, -a, wraps), {{I}}(0), zero);
}

//@ floor_mod_i: floor_div_i
fn floor_mod_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  return select(a - b * floor_div_i_{{W}}(a, b), {{I}}(0), b == {{I}}(0));
}

//@ floor_div_u:
fn floor_div_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  let zero = b == {{U}}(0u);
  return select(a / select(b, {{U}}(1u), zero), {{U}}(0u), zero);
}

//@ floor_mod_u: floor_div_u
fn floor_mod_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  return select(a - b * floor_div_u_{{W}}(a, b), {{U}}(0u), b == {{U}}(0u));
}

//@ fmod_scaled: isfinite
// Truncated remainder of |a| by |b|, exact: b is scaled up by powers of two and subtracted bit by bit,
// as in Sun's fdlibm e_fmod. Operands are finite, b is not zero.
fn fmod_scaled_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  var r = abs(a);
  let d = abs(b);
  // A denormal has no exponent to add to: 2^24 times it has.
  let small = d < {{F}}(1.17549435e-38);
  let big = select(d, d * {{F}}(16777216.0), small);
  let lift = select({{I}}(0), {{I}}(24), small);
  let er = {{I}}(bitcast<{{U}}>(r) >> {{U}}(23u));
  let ed = {{I}}(bitcast<{{U}}>(big) >> {{U}}(23u)) - lift;
  let start = max(er - ed, {{I}}(0));
  var count = {{MAXSTART}};
  loop {
    if (count < 0) { break; }
    // d * 2^k by exponent arithmetic; k stays within what keeps it below 2 * r.
    let k = min({{I}}(count), start);
    let raised = bitcast<{{F}}>(bitcast<{{U}}>(big) + ({{U}}(max(k - lift, {{I}}(0))) << {{U}}(23u)));
    let scaled = select(raised, d * {{F}}({{U}}(1u) << {{U}}(min(k, {{I}}(24)))), k < lift);
    r = select(r, r - scaled, (r >= scaled) & ({{I}}(count) <= start));
    count = count - 1;
  }
  return r;
}

//@ fmod_f: fmod_scaled isnan
// Truncated remainder with the sign of a, as C's fmod.
fn fmod_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let finite = ((bitcast<{{U}}>(a) & {{U}}(0x7fffffffu)) < {{U}}(0x7f800000u)) & (b != {{F}}(0.0));
  let b_inf = (bitcast<{{U}}>(b) & {{U}}(0x7fffffffu)) == {{U}}(0x7f800000u);
  let ok = finite & !b_inf & !isnan_{{W}}(b);
  let m = fmod_scaled_{{W}}(select({{F}}(1.0), a, ok), select({{F}}(1.0), b, ok));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(m) | (bitcast<{{U}}>(a) & {{U}}(0x80000000u)));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (bitcast<{{U}}>(a) & {{U}}(0u)));
  return select(select(nan, a, finite & b_inf), signed, ok);
}

//@ floor_mod_f: fmod_f
fn floor_mod_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = fmod_f_{{W}}(a, b);
  let differs = (m != {{F}}(0.0)) & ((m < {{F}}(0.0)) != (b < {{F}}(0.0)));
  let zero = bitcast<{{F}}>(bitcast<{{U}}>(b) & {{U}}(0x80000000u));
  return select(select(m, m + b, differs), zero, m == {{F}}(0.0));
}

//@ floor_div_f: fmod_f div_f
// As Python's float division: (a - mod) / b rounded to the nearest whole number.
fn floor_div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = fmod_f_{{W}}(a, b);
  let differs = (m != {{F}}(0.0)) & ((m < {{F}}(0.0)) != (b < {{F}}(0.0)));
  let d = div_f_{{W}}(a - m, b);
  let q = select(d, d - {{F}}(1.0), differs);
  let f = floor(q);
  let r = select(f, f + {{F}}(1.0), q - f > {{F}}(0.5));
  let z = bitcast<{{F}}>((bitcast<{{U}}>(a) ^ bitcast<{{U}}>(b)) & {{U}}(0x80000000u));
  return select(select(r, z, q == {{F}}(0.0)), a / b, b == {{F}}(0.0));
}

//@ exp: isnan
// 2^k * exp(r), r = x - k ln 2 in two parts (Cody and Waite), |r| <= ln 2 / 2, Taylor series to r^7 in
// Horner form; the scale is applied in two steps so that results near overflow and denormals are right.
fn exp_{{W}}(x: {{F}}) -> {{F}} {
  let c = clamp(x, {{F}}(-104.0), {{F}}(89.0));
  let k = floor(c * {{F}}(1.44269504) + {{F}}(0.5));
  let r = (c - k * {{F}}(0.693359375)) + k * {{F}}(2.12194440e-4);
  var q = {{F}}(1.9841270e-4) * r + {{F}}(1.3888889e-3);
  q = q * r + {{F}}(8.3333333e-3);
  q = q * r + {{F}}(4.1666667e-2);
  q = q * r + {{F}}(1.6666667e-1);
  q = q * r + {{F}}(0.5);
  let e = (q * r * r + r) + {{F}}(1.0);
  let ki = {{I}}(k);
  let k1 = ki / {{I}}(2);
  let k2 = ki - k1;
  let s1 = bitcast<{{F}}>({{U}}(k1 + {{I}}(127)) << {{U}}(23u));
  let s2 = bitcast<{{F}}>({{U}}(k2 + {{I}}(127)) << {{U}}(23u));
  return select(e * s1 * s2, x, isnan_{{W}}(x));
}

//@ log: isnan
// x = 2^k * m, m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = f / (2 + f), f = m - 1, as in fdlibm's e_logf.
fn log_{{W}}(x: {{F}}) -> {{F}} {
  let tiny = x < {{F}}(1.17549435e-38);
  let y = select(x, x * {{F}}(8388608.0), tiny);
  let bits = bitcast<{{U}}>(y) + {{U}}(0x3f800000u - 0x3f3504f3u);
  let k = {{F}}({{I}}(bits >> {{U}}(23u)) - {{I}}(127)) - select({{F}}(0.0), {{F}}(23.0), tiny);
  let m = bitcast<{{F}}>((bits & {{U}}(0x007fffffu)) + {{U}}(0x3f3504f3u));
  let f = m - {{F}}(1.0);
  let s = f / ({{F}}(2.0) + f);
  let z = s * s;
  let w = z * z;
  let t1 = w * ({{F}}(0.40000972152) + w * {{F}}(0.24279078841));
  let t2 = z * ({{F}}(0.66666662693) + w * {{F}}(0.28498786688));
  let hfsq = {{F}}(0.5) * f * f;
  let r = s * (hfsq + t1 + t2) + k * {{F}}(9.0580006145e-6) - hfsq + f + k * {{F}}(0.69313812256);
  let inf = bitcast<{{F}}>({{U}}(0x7f800000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  let special = select(select(r, x, (x == inf) | isnan_{{W}}(x)), -inf, x == {{F}}(0.0));
  return select(special, nan, x < {{F}}(0.0));
}

//@ tanh: exp isnan
// Near zero a minimax polynomial in x^2 (Cephes tanhf); else 1 - 2 / (exp(2|x|) + 1).
fn tanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let z = x * x;
  var q = {{F}}(-5.70498872745e-3) * z + {{F}}(2.06390887954e-2);
  q = q * z + {{F}}(-5.37397155531e-2);
  q = q * z + {{F}}(1.33314422036e-1);
  q = q * z + {{F}}(-3.33332819422e-1);
  let near = q * z * x + x;
  let e = exp_{{W}}(min(a, {{F}}(10.0)) * {{F}}(2.0));
  let far = {{F}}(1.0) - {{F}}(2.0) / (e + {{F}}(1.0));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(far) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  return select(select(signed, near, a < {{F}}(0.625)), x, isnan_{{W}}(x));
}

//@ sigmoid: exp
fn sigmoid_{{W}}(x: {{F}}) -> {{F}} {
  let e = exp_{{W}}(-abs(x));
  let r = {{F}}(1.0) / ({{F}}(1.0) + e);
  return select(e * r, r, !(x < {{F}}(0.0)));
}

//@ pow_f: exp log isnan
// exp(y log|x|), exact where y is a small whole number, with C's special cases. Integer y up to 2^24 decide the sign.
fn pow_f_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let a = abs(x);
  let whole = floor(y) == y;
  let odd = whole & (abs(y) < {{F}}(16777216.0)) & (({{I}}(clamp(y, {{F}}(-16777216.0), {{F}}(16777216.0))) & {{I}}(1)) == {{I}}(1));
  // Squaring for |y| <= 64 keeps whole powers exact where they fit.
  var n = {{U}}(min(abs(y), {{F}}(64.0)));
  var base = a;
  var square = {{F}}(1.0);
  for (var i = 0; i < 7; i = i + 1) {
    square = select(square, square * base, (n & {{U}}(1u)) == {{U}}(1u));
    base = base * base;
    n = n >> {{U}}(1u);
  }
  let small = whole & (abs(y) <= {{F}}(64.0));
  let power = select(square, {{F}}(1.0) / square, y < {{F}}(0.0));
  var r = select(exp_{{W}}(y * log_{{W}}(a)), power, small);
  r = select(r, sqrt(a), y == {{F}}(0.5));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  // By the sign bit: also of zero, and of denormals that comparisons take for zero.
  r = select(r, -abs(r), odd & (bitcast<{{U}}>(x) >= {{U}}(0x80000000u)));
  let inf_y = (bitcast<{{U}}>(y) & {{U}}(0x7fffffffu)) == {{U}}(0x7f800000u);
  r = select(r, nan, (x < {{F}}(0.0)) & !whole & !inf_y & (a <= {{F}}(0x1.fffffep+127)));
  r = select(r, nan, isnan_{{W}}(x) | isnan_{{W}}(y));
  return select(r, {{F}}(1.0), (y == {{F}}(0.0)) | (x == {{F}}(1.0)) | (inf_y & (a == {{F}}(1.0))));
}

//@ pow_u:
fn pow_u_{{W}}(x: {{U}}, y: {{U}}) -> {{U}} {
  var n = y;
  var base = x;
  var r = {{U}}(1u);
  for (var i = 0; i < 32; i = i + 1) {
    r = select(r, r * base, (n & {{U}}(1u)) == {{U}}(1u));
    base = base * base;
    n = n >> {{U}}(1u);
  }
  return r;
}

//@ pow_i: pow_u
fn pow_i_{{W}}(x: {{I}}, y: {{I}}) -> {{I}} {
  let up = bitcast<{{I}}>(pow_u_{{W}}(bitcast<{{U}}>(x), bitcast<{{U}}>(max(y, {{I}}(0)))));
  let one = select({{I}}(1), x, (y & {{I}}(1)) == {{I}}(1));
  let down = select({{I}}(0), one, abs(x) == {{I}}(1));
  return select(up, down, y < {{I}}(0));
}

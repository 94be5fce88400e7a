// Exponentials, logarithms, powers and what is made of them. Each section starts with `//@ name: sections it needs` and is expanded at vector
// width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.

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
  let near = q * z * a + a;
  let e = exp_{{W}}(min(a, {{F}}(10.0)) * {{F}}(2.0));
  let far = {{F}}(1.0) - {{F}}(2.0) / (e + {{F}}(1.0));
  let r = select(far, near, a < {{F}}(0.625));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  return select(signed, x, isnan_{{W}}(x));
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

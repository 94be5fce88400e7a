// Trigonometric functions and their inverses. Each section starts with `//@ name: sections it needs` and is expanded at
// vector width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.
// Polynomials are minimax fits made for this file by the Remez exchange, unless a source is named.

//@ mul_high_24:
// Upper 32 bits of the product of m < 2^24 and a word, by halves of 16 bits.
fn mul_high_24_{{W}}(m: {{U}}, w: {{U}}) -> {{U}} {
  let ml = m & {{U}}(0xffffu);
  let mh = m >> {{U}}(16u);
  let wl = w & {{U}}(0xffffu);
  let wh = w >> {{U}}(16u);
  let mid = mh * wl + ((ml * wl) >> {{U}}(16u));
  let low = ml * wh + (mid & {{U}}(0xffffu));
  return mh * wh + (mid >> {{U}}(16u)) + (low >> {{U}}(16u));
}

//@ Angle:
// An angle as quarter turns n and a rest hi + lo within an eighth of a turn, lo far below hi.
struct Angle_{{W}} {
  n: {{U}},
  hi: {{F}},
  lo: {{F}},
}

//@ angle_large: Angle mul_high_24
// Payne and Hanek, "Radian reduction for trigonometric functions" (1983), for a >= 1: the mantissa times the 96 bits of
// 2 / pi that matter for its exponent, modulo 4, in integers.
fn angle_large_{{W}}(a: {{F}}) -> Angle_{{W}} {
  let bits = bitcast<{{U}}>(a);
  let m = (bits & {{U}}(0x7fffffu)) | {{U}}(0x800000u);
  // Bits of 2 / pi that give whole turns are left out; 32 zeros stand before the first.
  let skip = ((bits >> {{U}}(23u)) & {{U}}(0xffu)) - {{U}}(120u);
  let i = skip >> {{U}}(5u);
  let b = skip & {{U}}(31u);
  var t0 = {{U}}(0x00000000u);
  t0 = select(t0, {{U}}(0xa2f9836eu), i == {{U}}(1u));
  t0 = select(t0, {{U}}(0x4e441529u), i == {{U}}(2u));
  t0 = select(t0, {{U}}(0xfc2757d1u), i == {{U}}(3u));
  t0 = select(t0, {{U}}(0xf534ddc0u), i == {{U}}(4u));
  var t1 = {{U}}(0xa2f9836eu);
  t1 = select(t1, {{U}}(0x4e441529u), i == {{U}}(1u));
  t1 = select(t1, {{U}}(0xfc2757d1u), i == {{U}}(2u));
  t1 = select(t1, {{U}}(0xf534ddc0u), i == {{U}}(3u));
  t1 = select(t1, {{U}}(0xdb629599u), i == {{U}}(4u));
  var t2 = {{U}}(0x4e441529u);
  t2 = select(t2, {{U}}(0xfc2757d1u), i == {{U}}(1u));
  t2 = select(t2, {{U}}(0xf534ddc0u), i == {{U}}(2u));
  t2 = select(t2, {{U}}(0xdb629599u), i == {{U}}(3u));
  t2 = select(t2, {{U}}(0x3c439041u), i == {{U}}(4u));
  var t3 = {{U}}(0xfc2757d1u);
  t3 = select(t3, {{U}}(0xf534ddc0u), i == {{U}}(1u));
  t3 = select(t3, {{U}}(0xdb629599u), i == {{U}}(2u));
  t3 = select(t3, {{U}}(0x3c439041u), i == {{U}}(3u));
  t3 = select(t3, {{U}}(0xfe5163abu), i == {{U}}(4u));
  let c = {{U}}(31u) - b;
  let w0 = (t0 << b) | ((t1 >> {{U}}(1u)) >> c);
  let w1 = (t1 << b) | ((t2 >> {{U}}(1u)) >> c);
  let w2 = (t2 << b) | ((t3 >> {{U}}(1u)) >> c);
  let part = m * w1;
  let low = part + mul_high_24_{{W}}(m, w2);
  let high = m * w0 + mul_high_24_{{W}}(m, w1) + {{U}}(low < part);
  // The fraction of a quarter turn, to the nearest: above a half it is negative.
  let fh = (high << {{U}}(2u)) | (low >> {{U}}(30u));
  let fl = low << {{U}}(2u);
  let over = fh >= {{U}}(0x80000000u);
  let gl = select(fl, ~fl + {{U}}(1u), over);
  let gh = select(fh, ~fh + {{U}}(fl == {{U}}(0u)), over);
  let z = min(countLeadingZeros(gh), {{U}}(31u));
  let top = (gh << z) | ((gl >> {{U}}(1u)) >> ({{U}}(31u) - z));
  let next = ((top & {{U}}(0xffu)) << {{U}}(16u)) | ((gl << z) >> {{U}}(16u));
  // Times pi / 2 = 1.5703125 + 4.838e-4, whose first part has 8 bits and the first factor 12.
  let s = bitcast<{{F}}>(({{U}}(95u) - z) << {{U}}(23u));
  let f1 = {{F}}(top & {{U}}(0xfff00000u)) * s;
  let f2 = {{F}}(top & {{U}}(0x000fff00u)) * s;
  let f3 = {{F}}(next) * {{F}}(1.52587890625e-5) * s;
  let first = f1 * {{F}}(1.5703125);
  let rest = f1 * {{F}}(4.83826792e-4) + (f2 + f3) * {{F}}(1.57079637);
  let r = first + rest;
  let l = (first - r) + rest;
  return Angle_{{W}}((high >> {{U}}(30u)) + {{U}}(over), select(r, -r, over), select(l, -l, over));
}

//@ angle: Angle angle_large isfinite
// Up to 12800 by Cody and Waite, "Software manual for the elementary functions" (1980): pi / 2 in parts of 11 bits, whose
// products with n < 2^13 are exact; so are the differences up to the third, and what the others lose is kept.
fn angle_{{W}}(x: {{F}}) -> Angle_{{W}} {
  let a = abs(x);
  let large = a > {{F}}(12800.0);
  let y = select(a, {{F}}(0.0), large | !isfinite_{{W}}(x));
  let n = floor(y * {{F}}(0.636619772) + {{F}}(0.5));
  let r2 = (y - n * {{F}}(1.5703125)) - n * {{F}}(4.83512878417968750e-4);
  let p3 = n * {{F}}(3.1385570764541626e-7);
  let r3 = r2 - p3;
  let p4 = n * {{F}}(6.0708771e-11);
  let r4 = r3 - p4;
  let lost = ((r2 - r3) - p3) + (((r3 - r4) - p4) - n * {{F}}(6.223372e-14));
  let hi = r4 + lost;
  var angle = Angle_{{W}}({{U}}(n), hi, (r4 - hi) + lost);
  if ({{ANY}}(large)) {
    let far = angle_large_{{W}}(select({{F}}(16384.0), a, large & isfinite_{{W}}(x)));
    angle.n = select(angle.n, far.n, large);
    angle.hi = select(angle.hi, far.hi, large);
    angle.lo = select(angle.lo, far.lo, large);
  }
  return angle;
}

//@ sin_cos: Angle
// sin or cos of the rest of an angle, by the parity of n, with the sign of the quadrant of n.
fn sin_cos_{{W}}(n: {{U}}, r: {{F}}, lo: {{F}}) -> {{F}} {
  let z = r * r;
  let s = (({{F}}(2.71808403e-6) * z + {{F}}(-1.98393085e-4)) * z + {{F}}(8.33332911e-3)) * z + {{F}}(-1.66666672e-1);
  let c = ({{F}}(2.44327839e-5) * z + {{F}}(-1.3887313e-3)) * z + {{F}}(4.16666456e-2);
  let sine = r + (s * z * r + lo);
  let h = {{F}}(0.5) * z;
  let w = {{F}}(1.0) - h;
  let cosine = w + ((({{F}}(1.0) - w) - h) + (c * z * z - r * lo));
  let v = select(sine, cosine, (n & {{U}}(1u)) == {{U}}(1u));
  return bitcast<{{F}}>(bitcast<{{U}}>(v) ^ ((n & {{U}}(2u)) << {{U}}(30u)));
}

//@ sin*: angle sin_cos isfinite
fn sin_{{W}}(x: {{F}}) -> {{F}} {
  let angle = angle_{{W}}(x);
  let r = sin_cos_{{W}}(angle.n, angle.hi, angle.lo);
  let b = bitcast<{{U}}>(x);
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | b);
  return select(nan, bitcast<{{F}}>(bitcast<{{U}}>(r) ^ (b & {{U}}({{SIGN}}))), isfinite_{{W}}(x));
}

//@ cos*: angle sin_cos isfinite
fn cos_{{W}}(x: {{F}}) -> {{F}} {
  let angle = angle_{{W}}(x);
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | bitcast<{{U}}>(x));
  return select(nan, sin_cos_{{W}}(angle.n + {{U}}(1), angle.hi, angle.lo), isfinite_{{W}}(x));
}

//@ tan: angle recip_f isfinite
// The tangent of the rest; in odd quadrants minus its reciprocal.
fn tan_{{W}}(x: {{F}}) -> {{F}} {
  let angle = angle_{{W}}(x);
  let r = angle.hi;
  let z = r * r;
  var q = {{F}}(4.38154489e-3) * z + {{F}}(7.91391867e-5);
  q = q * z + {{F}}(1.08437827e-2);
  q = q * z + {{F}}(2.12792046e-2);
  q = q * z + {{F}}(5.4060474e-2);
  q = q * z + {{F}}(1.3332659e-1);
  q = q * z + {{F}}(3.33333492e-1);
  let t = r + (q * z * r + angle.lo * ({{F}}(1.0) + z));
  let odd = (angle.n & {{U}}(1u)) == {{U}}(1u);
  let v = select(t, -recip_f_{{W}}(t), odd);
  let b = bitcast<{{U}}>(x);
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | b);
  return select(nan, bitcast<{{F}}>(bitcast<{{U}}>(v) ^ (b & {{U}}(0x80000000u))), isfinite_{{W}}(x));
}

//@ sin_pi:
// sin(pi f) / pi for |f| <= 1/2.
fn sin_pi_{{W}}(f: {{F}}) -> {{F}} {
  let z = f * f;
  var q = {{F}}(-2.23714719e-3) * z + {{F}}(2.61175446e-2);
  q = q * z + {{F}}(-1.90747961e-1);
  q = q * z + {{F}}(8.11742187e-1);
  q = q * z + {{F}}(-1.64493406);
  return q * z * f + f;
}

//@ sinc: sin_pi div_f isnan
// sin(pi x) / pi by x, where x less the nearest whole number is exact, so that whole numbers give 0.
fn sinc_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let whole = a >= {{F}}(8388608.0);
  let n = select(floor(a + {{F}}(0.5)), a, whole);
  let s = sin_pi_{{W}}(select(a - n, {{F}}(0.0), whole));
  let odd = {{U}}(min(n, {{F}}(16777216.0))) & {{U}}(1u);
  let r = div_f_{{W}}(bitcast<{{F}}>(bitcast<{{U}}>(s) ^ (odd << {{U}}(31u))), a);
  return select(select(r, {{F}}(1.0), a < {{F}}(1e-4)), x, isnan_{{W}}(x));
}

//@ asin_ratio:
// asin(x) / x - 1 for |x| <= 1/2, by z = x^2.
fn asin_ratio_{{W}}(z: {{F}}) -> {{F}} {
  var q = {{F}}(3.75816599e-2) * z + {{F}}(1.43943075e-2);
  q = q * z + {{F}}(3.18188295e-2);
  q = q * z + {{F}}(4.45156991e-2);
  q = q * z + {{F}}(7.50051066e-2);
  return (q * z + {{F}}(1.66666597e-1)) * z;
}

//@ asin: asin_ratio sqrt_f
// Above 1/2 pi / 2 - 2 asin(sqrt((1 - x) / 2)), as in fdlibm's e_asin.
fn asin_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let large = a > {{F}}(0.5);
  let half = ({{F}}(1.0) - a) * {{F}}(0.5);
  let s = select(a, sqrt_f_{{W}}(half), large);
  let p = s * asin_ratio_{{W}}(select(a * a, half, large));
  let far = {{F}}(1.57079637) - ({{F}}(2.0) * s + ({{F}}(2.0) * p + {{F}}(4.37113901e-8)));
  let r = select(s + p, far, large);
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | bitcast<{{U}}>(x));
  return select(nan, signed, a <= {{F}}(1.0));
}

//@ acos: asin_ratio sqrt_f
fn acos_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let large = a > {{F}}(0.5);
  let half = ({{F}}(1.0) - a) * {{F}}(0.5);
  let s = select(x, sqrt_f_{{W}}(half), large);
  let p = s * asin_ratio_{{W}}(select(x * x, half, large));
  let near = {{F}}(1.57079637) - (s + (p + {{F}}(4.37113901e-8)));
  let twice = {{F}}(2.0) * (s + p);
  let back = {{F}}(3.14159274) - ({{F}}(2.0) * s + ({{F}}(2.0) * p + {{F}}(8.74227801e-8)));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | bitcast<{{U}}>(x));
  return select(nan, select(near, select(twice, back, x < {{F}}(0.0)), large), a <= {{F}}(1.0));
}

//@ atan_ratio: div_f
// The angle of the point (x, y) in the first quadrant, neither of them NaN. Within an eighth of a turn, beyond
// tan(pi / 8), pi / 4 + atan((y - x) / (y + x)).
fn atan_ratio_{{W}}(y: {{F}}, x: {{F}}) -> {{F}} {
  let inf = {{U}}(0x7f800000u);
  let corner = (bitcast<{{U}}>(y) == inf) & (bitcast<{{U}}>(x) == inf);
  let big = max(x, y);
  let up = select({{F}}(1.0), {{F}}(16777216.0), big < {{F}}(7.888609052210118e-31));
  let scale = select(up, {{F}}(0.25), big > {{F}}(4e37));
  let l = select(min(x, y) * scale, {{F}}(1.0), corner);
  let h = select(big * scale, {{F}}(1.0), corner | (big == {{F}}(0.0)));
  let upper = l > h * {{F}}(0.414213562);
  let t = div_f_{{W}}(select(l, l - h, upper), select(h, l + h, upper));
  let z = t * t;
  var q = {{F}}(-6.07362427e-2) * z + {{F}}(1.05920829e-1);
  q = q * z + {{F}}(-1.42433122e-1);
  q = q * z + {{F}}(1.9998461e-1);
  q = q * z + {{F}}(-3.33333164e-1);
  let p = q * z * t;
  let swap = y > x;
  let far = {{F}}(0.785398185) + (t + (p - {{F}}(2.1855695e-8)));
  let r = select(t + p, far, upper);
  let other = select({{F}}(1.57079637) - (t + (p + {{F}}(4.37113901e-8))),
                     {{F}}(0.785398185) - (t + (p + {{F}}(2.1855695e-8))), upper);
  return select(r, other, swap);
}

//@ atan*: atan_ratio isnan
fn atan_{{W}}(x: {{F}}) -> {{F}} {
  let r = atan_ratio_{{W}}(abs(x), {{F}}(1.0));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}({{SIGN}})));
  return select(signed, x, isnan_{{W}}(x));
}

//@ atan2: atan_ratio isnan
// All quadrants by the signs, those of zeros too, as C's.
fn atan2_{{W}}(y: {{F}}, x: {{F}}) -> {{F}} {
  let r = atan_ratio_{{W}}(abs(y), abs(x));
  let left = bitcast<{{U}}>(x) >= {{U}}(0x80000000u);
  let turned = select(r, {{F}}(3.14159274) - (r + {{F}}(8.74227801e-8)), left);
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(turned) | (bitcast<{{U}}>(y) & {{U}}(0x80000000u)));
  return select(select(signed, x, isnan_{{W}}(x)), y, isnan_{{W}}(y));
}

// Trigonometric functions of float64 and their inverses. Each section starts with `//@ name64: sections it needs`; see
// bits.wgsl. Compilers may contract a * b + c: what must be rounded is `kept`. Polynomials are interpolated at
// Chebyshev's points, unless a source is named.

//@ Angle64:
// An angle as quarter turns n and a rest hi + lo within an eighth of a turn, lo far below hi.
struct Angle_{{W}} {
  n: {{U}},
  hi: {{F}},
  lo: {{F}},
}

//@ mul_high_5364:
// Upper 64 bits of the product of m < 2^53 and a word, by halves of 32 bits.
fn mul_high_53_{{W}}(m: {{U}}, w: {{U}}) -> {{U}} {
  let ml = m & {{U}}(0xfffffffflu);
  let mh = m >> {{U32}}(32u);
  let wl = w & {{U}}(0xfffffffflu);
  let wh = w >> {{U32}}(32u);
  let mid = mh * wl + ((ml * wl) >> {{U32}}(32u));
  let low = ml * wh + (mid & {{U}}(0xfffffffflu));
  return mh * wh + (mid >> {{U32}}(32u)) + (low >> {{U32}}(32u));
}

//@ Words64:
struct Words_{{W}} {
  a: {{U}},
  b: {{U}},
  c: {{U}},
  d: {{U}},
}
// A word of a table, where it is one of the four from `place` 0 on.
fn take_word_{{W}}(t: Words_{{W}}, place: {{U}}, word: {{U}}) -> Words_{{W}} {
  return Words_{{W}}(select(t.a, word, place == {{U}}(0)), select(t.b, word, place == {{U}}(1)),
                  select(t.c, word, place == {{U}}(2)), select(t.d, word, place == {{U}}(3)));
}

//@ angle_large64: Angle64 Words64 mul_high_5364 pair_joined64 pair_product64
// Payne and Hanek, "Radian reduction for trigonometric functions" (1983), for a >= 1: the mantissa times the 192 bits
// of 2 / pi that matter for its exponent, modulo 4, in integers.
fn angle_large_{{W}}(a: {{F}}) -> Angle_{{W}} {
  let bits = bitcast<{{U}}>(a);
  let m = (bits & {{U}}(0x000ffffffffffffflu)) | {{U}}(0x0010000000000000lu);
  // Bits of 2 / pi that give whole turns are left out; 64 zeros stand before the first.
  let skip = (bits >> {{U32}}(52u)) - {{U}}(1013);
  let i = skip >> {{U32}}(6u);
  var t = Words_{{W}}({{U}}(0), {{U}}(0), {{U}}(0), {{U}}(0));
  t = take_word_{{W}}(t, {{U}}(1) - i, {{U}}(0xa2f9836e4e441529lu));
  t = take_word_{{W}}(t, {{U}}(2) - i, {{U}}(0xfc2757d1f534ddc0lu));
  t = take_word_{{W}}(t, {{U}}(3) - i, {{U}}(0xdb6295993c439041lu));
  t = take_word_{{W}}(t, {{U}}(4) - i, {{U}}(0xfe5163abdebbc561lu));
  t = take_word_{{W}}(t, {{U}}(5) - i, {{U}}(0xb7246e3a424dd2e0lu));
  t = take_word_{{W}}(t, {{U}}(6) - i, {{U}}(0x06492eea09d1921clu));
  t = take_word_{{W}}(t, {{U}}(7) - i, {{U}}(0xfe1deb1cb129a73elu));
  t = take_word_{{W}}(t, {{U}}(8) - i, {{U}}(0xe88235f52ebb4484lu));
  t = take_word_{{W}}(t, {{U}}(9) - i, {{U}}(0xe99c7026b45f7e41lu));
  t = take_word_{{W}}(t, {{U}}(10) - i, {{U}}(0x3991d639835339f4lu));
  t = take_word_{{W}}(t, {{U}}(11) - i, {{U}}(0x9c845f8bbdf9283blu));
  t = take_word_{{W}}(t, {{U}}(12) - i, {{U}}(0x1ff897ffde05980flu));
  t = take_word_{{W}}(t, {{U}}(13) - i, {{U}}(0xef2f118b5a0a6d1flu));
  t = take_word_{{W}}(t, {{U}}(14) - i, {{U}}(0x6d367ecf27cb09b7lu));
  t = take_word_{{W}}(t, {{U}}(15) - i, {{U}}(0x4f463f669e5fea2dlu));
  t = take_word_{{W}}(t, {{U}}(16) - i, {{U}}(0x7527bac7ebe5f17blu));
  t = take_word_{{W}}(t, {{U}}(17) - i, {{U}}(0x3d0739f78a5292ealu));
  t = take_word_{{W}}(t, {{U}}(18) - i, {{U}}(0x6bfb5fb11f8d5d08lu));
  t = take_word_{{W}}(t, {{U}}(19) - i, {{U}}(0x56033046fc7b6bablu));
  let b = {{U32}}(skip & {{U}}(63));
  let c = {{U32}}(63u) - b;
  let w0 = (t.a << b) | ((t.b >> {{U32}}(1u)) >> c);
  let w1 = (t.b << b) | ((t.c >> {{U32}}(1u)) >> c);
  let w2 = (t.c << b) | ((t.d >> {{U32}}(1u)) >> c);
  let part = m * w1;
  let low = part + mul_high_53_{{W}}(m, w2);
  let high = m * w0 + mul_high_53_{{W}}(m, w1) + select({{U}}(0), {{U}}(1), low < part);
  // The fraction of a quarter turn, to the nearest: above a half it is negative.
  let fh = (high << {{U32}}(2u)) | (low >> {{U32}}(62u));
  let fl = low << {{U32}}(2u);
  let over = fh >= {{U}}({{SIGN}});
  let gl = select(fl, ~fl + {{U}}(1), over);
  let gh = select(fh, ~fh + select({{U}}(0), {{U}}(1), fl == {{U}}(0)), over);
  let f1 = {{F}}(gh >> {{U32}}(11u)) * {{F}}(1.1102230246251565e-16);
  let f2 = {{F}}(((gh & {{U}}(0x7ff)) << {{U32}}(42u)) | (gl >> {{U32}}(22u))) * {{F}}(1.232595164407831e-32);
  let half_pi = Pair_{{W}}({{F}}(1.5707963267948966), {{F}}(6.123233995736766e-17));
  let r = pair_product_{{W}}(pair_joined_{{W}}(f1, f2), half_pi);
  let n = (high >> {{U32}}(62u)) + select({{U}}(0), {{U}}(1), over);
  return Angle_{{W}}(n, select(r.high, -r.high, over), select(r.low, -r.low, over));
}

//@ angle64: Angle64 Pair64 angle_large64 pair_sum64 pair_joined64 product_error64 kept64 isfinite64
// Up to 2^48 by Cody and Waite, "Software manual for the elementary functions" (1980): pi / 2 in three parts of 53
// bits, whose products with n are taken in two parts each; what the differences lose is kept.
fn angle_{{W}}(x: {{F}}) -> Angle_{{W}} {
  let large = abs(x) > {{F}}(281474976710656.0);
  let a = select(abs(x), {{F}}(0.0), large | !isfinite_{{W}}(x));
  let n = floor(a * {{F}}(0.6366197723675814) + {{F}}(0.5));
  let p1 = kept_{{W}}(n * {{F}}(1.5707963267948966));
  let e1 = product_error_{{W}}(n, {{F}}(1.5707963267948966), p1);
  let p2 = kept_{{W}}(n * {{F}}(6.123233995736766e-17));
  let e2 = product_error_{{W}}(n, {{F}}(6.123233995736766e-17), p2);
  let d1 = pair_sum_{{W}}(a, -p1);
  let d2 = pair_sum_{{W}}(d1.high, -e1);
  let d3 = pair_sum_{{W}}(d2.high, -p2);
  let low = pair_sum_{{W}}(d3.low, d2.low + d1.low);
  let rest = (low.low - e2) + n * {{F}}(1.4973849048591698e-33);
  let r = pair_joined_{{W}}(d3.high, low.high + rest);
  var angle = Angle_{{W}}({{U}}(n), r.high, r.low);
  if ({{ANY}}(large)) {
    let far = angle_large_{{W}}(select({{F}}(1e20), abs(x), large & isfinite_{{W}}(x)));
    angle.n = select(angle.n, far.n, large);
    angle.hi = select(angle.hi, far.hi, large);
    angle.lo = select(angle.lo, far.lo, large);
  }
  return angle;
}

//@ sin_rest64:
// sin(r + lo), within an eighth of a turn (coefficients of fdlibm's k_sin).
fn sin_rest_{{W}}(r: {{F}}, lo: {{F}}) -> {{F}} {
  let z = r * r;
  var s = {{F}}(1.58969099521155010221e-10) * z + {{F}}(-2.50507602534068634195e-08);
  s = s * z + {{F}}(2.75573137070700676789e-06);
  s = s * z + {{F}}(-1.98412698298579493134e-04);
  s = s * z + {{F}}(8.33333333332248946124e-03);
  s = s * z + {{F}}(-1.66666666666666324348e-01);
  return r + (s * z * r + lo * ({{F}}(1.0) - {{F}}(0.5) * z));
}

//@ cos_rest64:
// cos(r + lo), within an eighth of a turn (coefficients of fdlibm's k_cos).
fn cos_rest_{{W}}(r: {{F}}, lo: {{F}}) -> {{F}} {
  let z = r * r;
  var c = {{F}}(-1.13596475577881948265e-11) * z + {{F}}(2.08757232129817482790e-09);
  c = c * z + {{F}}(-2.75573143513906633035e-07);
  c = c * z + {{F}}(2.48015872894767294178e-05);
  c = c * z + {{F}}(-1.38888888888741095749e-03);
  c = c * z + {{F}}(4.16666666666666019037e-02);
  let h = {{F}}(0.5) * z;
  let w = {{F}}(1.0) - h;
  return w + ((({{F}}(1.0) - w) - h) + (c * z * z - r * lo));
}

//@ sin_cos64: Angle64 sin_rest64 cos_rest64
// sin or cos of the rest of an angle, by the parity of n, with the sign of the quadrant of n.
fn sin_cos_{{W}}(n: {{U}}, r: {{F}}, lo: {{F}}) -> {{F}} {
  let v = select(sin_rest_{{W}}(r, lo), cos_rest_{{W}}(r, lo), (n & {{U}}(1)) == {{U}}(1));
  return bitcast<{{F}}>(bitcast<{{U}}>(v) ^ ((n & {{U}}(2)) << {{U32}}(62u)));
}

//@ tan64: angle64 sin_rest64 cos_rest64 isfinite64
fn tan_{{W}}(x: {{F}}) -> {{F}} {
  let angle = angle_{{W}}(x);
  let s = sin_rest_{{W}}(angle.hi, angle.lo);
  let c = cos_rest_{{W}}(angle.hi, angle.lo);
  let odd = (angle.n & {{U}}(1)) == {{U}}(1);
  let v = select(s, -c, odd) / select(c, s, odd);
  let b = bitcast<{{U}}>(x);
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | b);
  return select(nan, bitcast<{{F}}>(bitcast<{{U}}>(v) ^ (b & {{U}}({{SIGN}}))), isfinite_{{W}}(x));
}

//@ sin_pi64:
// sin(pi f) / pi for |f| <= 1/2.
fn sin_pi_{{W}}(f: {{F}}) -> {{F}} {
  let z = f * f;
  var q = {{F}}(-7.114052818769393e-09) * z + {{F}}(2.5303274566671354e-07);
  q = q * z + {{F}}(-6.975851212142347e-06);
  q = q * z + {{F}}(0.00014842878972770888);
  q = q * z + {{F}}(-0.002346081035170168);
  q = q * z + {{F}}(0.026147847817640922);
  q = q * z + {{F}}(-0.19075182412208389);
  q = q * z + {{F}}(0.8117424252833536);
  q = q * z + {{F}}(-1.6449340668482264);
  return q * z * f + f;
}

//@ sinc64: sin_pi64 isnan64
// sin(pi x) / pi by x, where x less the nearest whole number is exact, so that whole numbers give 0.
fn sinc_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let whole = a >= {{F}}(4503599627370496.0);
  let n = select(floor(a + {{F}}(0.5)), a, whole);
  let s = sin_pi_{{W}}(select(a - n, {{F}}(0.0), whole));
  let odd = {{U}}(min(n, {{F}}(9007199254740992.0))) & {{U}}(1);
  let r = bitcast<{{F}}>(bitcast<{{U}}>(s) ^ (odd << {{U32}}(63u))) / a;
  return select(select(r, {{F}}(1.0), a < {{F}}(1e-9)), x, isnan_{{W}}(x));
}

//@ asin_ratio64:
// asin(x) / x - 1 for |x| <= 1/2, by z = x^2 (the rational function of fdlibm's e_asin).
fn asin_ratio_{{W}}(z: {{F}}) -> {{F}} {
  var p = {{F}}(3.47933107596021167570e-05) * z + {{F}}(7.91534994289814532176e-04);
  p = p * z + {{F}}(-4.00555345006794114027e-02);
  p = p * z + {{F}}(2.01212532134862925881e-01);
  p = p * z + {{F}}(-3.25565818622400915405e-01);
  p = p * z + {{F}}(1.66666666666666657415e-01);
  var q = {{F}}(7.70381505559019352791e-02) * z + {{F}}(-6.88283971605453293030e-01);
  q = q * z + {{F}}(2.02094576023350569471e+00);
  q = q * z + {{F}}(-2.40339491173441421878e+00);
  return p * z / (q * z + {{F}}(1.0));
}

//@ asin64: asin_ratio64
// Above 1/2 pi / 2 - 2 asin(sqrt((1 - x) / 2)), as in fdlibm's e_asin.
fn asin_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let large = a > {{F}}(0.5);
  let half = ({{F}}(1.0) - a) * {{F}}(0.5);
  let s = select(a, sqrt(half), large);
  let p = s * asin_ratio_{{W}}(select(a * a, half, large));
  let far = {{F}}(1.5707963267948966) - ({{F}}(2.0) * s + ({{F}}(2.0) * p - {{F}}(6.123233995736766e-17)));
  let r = select(s + p, far, large);
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}({{SIGN}})));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | bitcast<{{U}}>(x));
  return select(nan, signed, a <= {{F}}(1.0));
}

//@ acos64: asin_ratio64
fn acos_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let large = a > {{F}}(0.5);
  let half = ({{F}}(1.0) - a) * {{F}}(0.5);
  let s = select(x, sqrt(half), large);
  let p = s * asin_ratio_{{W}}(select(x * x, half, large));
  let near = {{F}}(1.5707963267948966) - (s + (p - {{F}}(6.123233995736766e-17)));
  let twice = {{F}}(2.0) * (s + p);
  let back = {{F}}(3.141592653589793) - ({{F}}(2.0) * s + ({{F}}(2.0) * p - {{F}}(1.2246467991473532e-16)));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | bitcast<{{U}}>(x));
  return select(nan, select(near, select(twice, back, x < {{F}}(0.0)), large), a <= {{F}}(1.0));
}

//@ atan_ratio64:
// The angle of the point (x, y) in the first quadrant, neither of them NaN. Within an eighth of a turn, beyond
// tan(pi / 8), pi / 4 + atan((y - x) / (y + x)).
fn atan_ratio_{{W}}(y: {{F}}, x: {{F}}) -> {{F}} {
  let inf = {{U}}({{INF}});
  let corner = (bitcast<{{U}}>(y) == inf) & (bitcast<{{U}}>(x) == inf);
  let big = max(x, y);
  let up = select({{F}}(1.0), {{F}}(18014398509481984.0), big < {{F}}(1e-270));
  let scale = select(up, {{F}}(0.25), big > {{F}}(4e307));
  let l = select(min(x, y) * scale, {{F}}(1.0), corner);
  let h = select(big * scale, {{F}}(1.0), corner | (big == {{F}}(0.0)));
  let upper = l > h * {{F}}(0.41421356237309503);
  let t = select(l, l - h, upper) / select(h, l + h, upper);
  let z = t * t;
  var q = {{F}}(0.016285183029778966) * z + {{F}}(-0.03457004418600986);
  q = q * z + {{F}}(0.04551573086660509);
  q = q * z + {{F}}(-0.052304498567083385);
  q = q * z + {{F}}(0.058789283985170936);
  q = q * z + {{F}}(-0.06666424833613538);
  q = q * z + {{F}}(0.07692296372129963);
  q = q * z + {{F}}(-0.09090908753400499);
  q = q * z + {{F}}(0.11111111105153429);
  q = q * z + {{F}}(-0.14285714285659806);
  q = q * z + {{F}}(0.19999999999999804);
  q = q * z + {{F}}(-0.3333333333333333);
  let p = q * z * t;
  let swap = y > x;
  let far = {{F}}(0.7853981633974483) + (t + (p + {{F}}(3.061616997868383e-17)));
  let r = select(t + p, far, upper);
  let other = select({{F}}(1.5707963267948966) - (t + (p - {{F}}(6.123233995736766e-17))),
                     {{F}}(0.7853981633974483) - (t + (p - {{F}}(3.061616997868383e-17))), upper);
  return select(r, other, swap);
}

//@ atan264: atan_ratio64 isnan64
// All quadrants by the signs, those of zeros too, as C's.
fn atan2_{{W}}(y: {{F}}, x: {{F}}) -> {{F}} {
  let r = atan_ratio_{{W}}(abs(y), abs(x));
  let left = bitcast<{{U}}>(x) >= {{U}}({{SIGN}});
  let turned = select(r, {{F}}(3.141592653589793) - (r - {{F}}(1.2246467991473532e-16)), left);
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(turned) | (bitcast<{{U}}>(y) & {{U}}({{SIGN}})));
  return select(select(signed, x, isnan_{{W}}(x)), y, isnan_{{W}}(y));
}

// Division, roots and hyperbolic functions of float64, activations that are not those of float32 word by word. Each
// section starts with `//@ name64: sections it needs`; see bits.wgsl. Compilers may contract a * b + c: what must be
// rounded is `kept`. Polynomials are interpolated at Chebyshev's points, unless a source is named.

//@ div_f64:
// Unlike those of 32 bits, quotients and roots come rounded correctly from the drivers that docs/accuracy.md lists.
fn div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  return a / b;
}

//@ sqrt_f64: isnan64
fn sqrt_f_{{W}}(x: {{F}}) -> {{F}} {
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  return select(select(sqrt(x), x, isnan_{{W}}(x)), nan, x < {{F}}(0.0));
}

//@ hypot64: isnan64 isinf64
// Scaled by a power of two to the size of 1, so that squares neither overflow nor vanish.
fn hypot_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = max(bitcast<{{U}}>(a) & {{U}}({{INF}}), bitcast<{{U}}>(b) & {{U}}({{INF}}));
  let e = clamp(m, {{U}}(0x0010000000000000lu), {{U}}(0x7fc0000000000000lu));
  let down = bitcast<{{F}}>({{U}}(0x7fe0000000000000lu) - e);
  let x = a * down;
  let y = b * down;
  let r = sqrt(x * x + y * y) * bitcast<{{F}}>(e);
  let inf = bitcast<{{F}}>({{U}}({{INF}}) | (m & {{U}}(0)));
  let nan = select(r, abs(a) + abs(b), isnan_{{W}}(a) | isnan_{{W}}(b));
  return select(nan, inf, isinf_{{W}}(a) | isinf_{{W}}(b));
}

//@ cbrt64: isfinite64
// FreeBSD's s_cbrt: a third of the exponent, a polynomial in t^3 / x to 23 bits, then one step of Newton's from a guess
// whose square is exact.
fn cbrt_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let tiny = bitcast<{{U}}>(a) < {{U}}(0x0010000000000000lu);
  let y = select(a, a * {{F}}(18014398509481984.0), tiny);
  let third = (bitcast<{{U}}>(y) >> {{U32}}(32u)) / {{U}}(3) + select({{U}}(715094163), {{U}}(696219795), tiny);
  var t = bitcast<{{F}}>(third << {{U32}}(32u));
  // The guess is of the root of x, or of x 2^54 scaled back.
  let v = select(y, a, tiny);
  let r = t * t * (t / v);
  let w = {{F}}(0.145996192886612446982) * r + {{F}}(-0.758397934778766047437);
  let first = {{F}}(1.87595182427177009643) + r * ({{F}}(-1.88497979543377169875) + r * {{F}}(1.621429720105354466140));
  t = t * (first + r * r * r * w);
  t = bitcast<{{F}}>((bitcast<{{U}}>(t) + {{U}}(0x80000000lu)) & {{U}}(0xffffffffc0000000lu));
  let s = t * t;
  let q = v / s;
  let root = t + t * ((q - t) / (t + t + q));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(root) | (bitcast<{{U}}>(x) & {{U}}({{SIGN}})));
  let zero = bitcast<{{F}}>(bitcast<{{U}}>(x) & {{U}}({{SIGN}}));
  return select(x, select(signed, zero, y == {{F}}(0.0)), isfinite_{{W}}(x));
}

//@ exponent_plus64:
// x 2^n for finite x and n that do not overflow: by the exponent where operand and result are normal, since compilers
// move products past sums.
fn exponent_plus_{{W}}(x: {{F}}, n: {{I}}) -> {{F}} {
  let b = bitcast<{{I}}>(x);
  let e = (b >> {{U32}}(52u)) & {{I}}(0x7ff);
  let denormal = (e == {{I}}(0)) | (e + n < {{I}}(1));
  let product = x * bitcast<{{F}}>(({{I}}(1023) + n) << {{U32}}(52u));
  return select(bitcast<{{F}}>(b + (n << {{U32}}(52u))), product, denormal);
}

//@ lerp64: exponent_plus64 isfinite64 isinf64
// As lerp of float32.
fn lerp_{{W}}(start: {{F}}, end: {{F}}, w: {{F}}) -> {{F}} {
  let large = {{F}}(1e290);
  let most = max(abs(start), abs(end));
  let finite = isfinite_{{W}}(start) & isfinite_{{W}}(end);
  let tiny = finite & (most * max(abs(w), {{F}}(1.0)) < large) & (min(abs(start), abs(end)) < {{F}}(1e-290));
  let down = finite & (most > large) & ((w < {{F}}(0.0)) | (w > {{F}}(1.0)));
  let n = select(select({{I}}(0), {{I}}(53), tiny), {{I}}(-53), down);
  let scaled = n != {{I}}(0);
  let a = select(start, exponent_plus_{{W}}(start, n), scaled);
  let b = select(end, exponent_plus_{{W}}(end, n), scaled);
  let d = b - a;
  let v = {{F}}(1.0) - w;
  let back = bitcast<{{F}}>(({{I}}(1023) - n) << {{U32}}(52u));
  let r = select(b - v * d, a + w * d, w < {{F}}(0.5)) * back;
  let s = select(a, clamp(a, {{F}}(-1.0), {{F}}(1.0)), isinf_{{W}}(b) & isfinite_{{W}}(a));
  let e = select(b, clamp(b, {{F}}(-1.0), {{F}}(1.0)), isinf_{{W}}(a) & isfinite_{{W}}(b));
  return select(v * s + w * e, r, isfinite_{{W}}(d));
}

//@ sinh64: expm164 exp_scaled64 with_sign64
// By t = expm1(a): (t + t / (t + 1)) / 2, from 22 on exp(a) / 2 (fdlibm's e_sinh).
fn sinh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let t = expm1_{{W}}(min(a, {{F}}(22.0)));
  let small = select(t + t / (t + {{F}}(1.0)), {{F}}(2.0) * t - t * t / (t + {{F}}(1.0)), a < {{F}}(1.0)) * {{F}}(0.5);
  let large = exp_scaled_{{W}}(a, {{F}}(0.0), {{I}}(-1));
  let r = select(small, large, !(a < {{F}}(22.0)));
  return with_sign_{{W}}(select(r, a, a < {{F}}(1e-9)), x);
}

//@ tanh64: expm164 with_sign64 isnan64
// fdlibm's s_tanh: 1 - 2 / (expm1(2 a) + 2), below 1 by t = expm1(-2 a) as -t / (t + 2).
fn tanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let near = a < {{F}}(1.0);
  let t = expm1_{{W}}(min(a, {{F}}(22.0)) * select({{F}}(2.0), {{F}}(-2.0), near));
  let q = select({{F}}(2.0), -t, near) / (t + {{F}}(2.0));
  let r = select({{F}}(1.0) - q, q, near);
  return select(with_sign_{{W}}(select(r, a, a < {{F}}(1e-9)), x), x, isnan_{{W}}(x));
}

//@ tanhshrink64: exp64 with_sign64
// x - tanh(x): below 1 x^3 times a polynomial in x^2; else a - 1 + 2 / (exp(2 a) + 1).
fn tanhshrink_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let z = a * a;
  var q = {{F}}(-2.5155023584743302e-08) * z + {{F}}(2.6330772174955924e-07);
  q = q * z + {{F}}(-1.3791814478722436e-06);
  q = q * z + {{F}}(4.9877603132528896e-06);
  q = q * z + {{F}}(-1.4606131670768056e-05);
  q = q * z + {{F}}(3.8389607887338646e-05);
  q = q * z + {{F}}(-9.646277742904932e-05);
  q = q * z + {{F}}(0.00023895705228529538);
  q = q * z + {{F}}(-0.0005899792946292302);
  q = q * z + {{F}}(0.0014558246920962877);
  q = q * z + {{F}}(-0.0035921266793663025);
  q = q * z + {{F}}(0.008863235404578278);
  q = q * z + {{F}}(-0.02186948852912909);
  q = q * z + {{F}}(0.05396825396804637);
  q = q * z + {{F}}(-0.1333333333333309);
  q = q * z + {{F}}(0.3333333333333333);
  let far = (a - {{F}}(1.0)) + {{F}}(2.0) / (exp_{{W}}(min(a, {{F}}(40.0)) * {{F}}(2.0)) + {{F}}(1.0));
  return with_sign_{{W}}(select(far, q * z * a, a < {{F}}(1.0)), x);
}

//@ celu64: expm164
// Near zero it is x; the quotient may be a denormal and flushed.
fn celu_{{W}}(x: {{F}}, alpha: {{F}}) -> {{F}} {
  let q = x / alpha;
  let near = (abs(q) < {{F}}(1e-17)) & (abs(alpha) <= {{F}}(1.7976931348623157e308));
  return select(alpha * expm1_{{W}}(q), x, (x > {{F}}(0.0)) | near);
}

//@ softsign64: with_sign64
fn softsign_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  return with_sign_{{W}}(select(a / ({{F}}(1.0) + a), {{F}}(1.0), a > {{F}}(36028797018963968.0)), x);
}

//@ gelu_tanh64: Pair64 pair_sum64 pair_product64 exp_scaled64 gate64
// x sigmoid(v), v = x (c0 + c1 x^2), c0 = sqrt(8 / pi), c1 = 0.044715 c0 (Hendrycks and Gimpel 2016), v in two parts.
fn gelu_tanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = Pair_{{W}}(min(abs(x), {{F}}(24.0)), {{F}}(0.0));
  let c1 = Pair_{{W}}({{F}}(0.07135481627260025), {{F}}(-6.175149918155315e-19));
  let p = pair_product_{{W}}(pair_product_{{W}}(a, a), c1);
  let s = pair_sum_{{W}}(p.high, {{F}}(1.5957691216057308));
  let v = pair_product_{{W}}(a, Pair_{{W}}(s.high, s.low + (p.low + {{F}}(-9.96930880911092e-17))));
  return gate_{{W}}(x, exp_scaled_{{W}}(-v.high, -v.low, {{I}}(32)));
}

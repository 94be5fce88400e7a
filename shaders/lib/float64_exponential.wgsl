// Sums in two parts, exponentials and logarithms of float64, which WGSL has no functions for. Each section starts with
// `//@ name64: sections it needs`; see bits.wgsl. Compilers may contract a * b + c: what must be rounded is `kept`.
// Polynomials are interpolated at Chebyshev's points, unless a source is named.

//@ head64:
// The upper 26 bits: products of two heads are exact.
fn head_{{W}}(x: {{F}}) -> {{F}} {
  return bitcast<{{F}}>(bitcast<{{U}}>(x) & {{U}}(0xfffffffff8000000lu));
}

//@ kept64:
// x, by an operation that compilers do not look through: neither a sum nor a product goes across it.
fn kept_{{W}}(x: {{F}}) -> {{F}} {
  return min(x, {{F}}(1.7976931348623157e308));
}

//@ product_error64: head64 kept64
// a * b - p exactly where p, a * b rounded, is finite and not tiny (Dekker 1971, halves by masks); else 0. It is kept, as
// NVIDIA's compiler cancels the p in it against one in a sum around it, and then rounds a * b.
fn product_error_{{W}}(a: {{F}}, b: {{F}}, p: {{F}}) -> {{F}} {
  let ah = head_{{W}}(a);
  let bh = head_{{W}}(b);
  let al = a - ah;
  let bl = b - bh;
  let e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  return kept_{{W}}(select({{F}}(0.0), e, abs(p) < {{F}}(1e300)));
}

//@ Pair64:
// The sum of two numbers, `low` less than a unit of `high`.
struct Pair_{{W}} {
  high: {{F}},
  low: {{F}},
}

//@ pair_sum64: Pair64 kept64
// a + b exactly (Knuth's two-sum).
fn pair_sum_{{W}}(a: {{F}}, b: {{F}}) -> Pair_{{W}} {
  let x = kept_{{W}}(a);
  let y = kept_{{W}}(b);
  let s = kept_{{W}}(x + y);
  let t = kept_{{W}}(s - x);
  return Pair_{{W}}(s, (x - kept_{{W}}(s - t)) + (y - t));
}

//@ pair_joined64: Pair64 kept64
// a + b exactly where a is zero or the larger (Dekker's fast two-sum).
fn pair_joined_{{W}}(a: {{F}}, b: {{F}}) -> Pair_{{W}} {
  let x = kept_{{W}}(a);
  let y = kept_{{W}}(b);
  let s = kept_{{W}}(x + y);
  return Pair_{{W}}(s, y - kept_{{W}}(s - x));
}

//@ pair_product64: Pair64 product_error64 pair_joined64 kept64
fn pair_product_{{W}}(a: Pair_{{W}}, b: Pair_{{W}}) -> Pair_{{W}} {
  let p = kept_{{W}}(a.high * b.high);
  let e = product_error_{{W}}(a.high, b.high, p) + (a.high * b.low + a.low * b.high);
  return pair_joined_{{W}}(p, e);
}

//@ pair_quotient64: Pair64 product_error64 pair_joined64 kept64
fn pair_quotient_{{W}}(a: Pair_{{W}}, b: Pair_{{W}}) -> Pair_{{W}} {
  let q = kept_{{W}}(a.high / b.high);
  let p = kept_{{W}}(q * b.high);
  let rest = (kept_{{W}}(a.high - p) - product_error_{{W}}(q, b.high, p)) + (a.low - q * b.low);
  return pair_joined_{{W}}(q, rest / b.high);
}

//@ scale264:
// x * 2^k for |k| <= 2000 in two steps, of which the second alone may round, overflow or flush.
fn scale2_{{W}}(x: {{F}}, k: {{I}}) -> {{F}} {
  let k1 = k >> {{U32}}(1u);
  let s1 = bitcast<{{F}}>({{U}}(k1 + {{I}}(1023)) << {{U32}}(52u));
  let s2 = bitcast<{{F}}>({{U}}(k - k1 + {{I}}(1023)) << {{U32}}(52u));
  return x * s1 * s2;
}

//@ exp_ratio64:
// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, relative error 2^-56.
fn exp_ratio_{{W}}(r: {{F}}) -> {{F}} {
  var q = {{F}}(1.6086712316751336e-10) * r + {{F}}(2.0918160892080623e-09);
  q = q * r + {{F}}(2.505207084543216e-08);
  q = q * r + {{F}}(2.7557263216483324e-07);
  q = q * r + {{F}}(2.7557319247481816e-06);
  q = q * r + {{F}}(2.4801587336500753e-05);
  q = q * r + {{F}}(0.0001984126984126318);
  q = q * r + {{F}}(0.0013888888888879051);
  q = q * r + {{F}}(0.008333333333333333);
  q = q * r + {{F}}(0.04166666666666668);
  q = q * r + {{F}}(0.16666666666666666);
  q = q * r + {{F}}(0.5);
  return q;
}

//@ exp_rest64: exp_ratio64 scale264
// exp(r + l) 2^k: 1 and the upper bits of r, whose sum is exact, and then all else, so that the last sum alone rounds
// at full size and results that are whole are exact.
fn exp_rest_{{W}}(r: {{F}}, l: {{F}}, k: {{I}}) -> {{F}} {
  let h = floor(r * {{F}}(67108864.0) + {{F}}(0.5)) * {{F}}(1.4901161193847656e-8);
  let v = r + l;
  let rest = (r - h) + (l + exp_ratio_{{W}}(v) * v * v);
  return scale2_{{W}}(({{F}}(1.0) + h) + rest, k);
}

//@ exp_scaled64: exp_rest64 isnan64
// exp(h + l) * 2^j for a small l, which counts where h is in the range: r = h - k ln 2 in two parts, of which the first
// has 33 bits (Cody and Waite 1980; the parts are those of fdlibm's e_exp).
fn exp_scaled_{{W}}(h: {{F}}, l: {{F}}, j: {{I}}) -> {{F}} {
  let c = clamp(h, {{F}}(-800.0), {{F}}(800.0));
  let k = floor(c * {{F}}(1.4426950408889634) + {{F}}(0.5));
  let m = select({{F}}(0.0), l, c == h);
  let r = c - k * {{F}}(6.93147180369123816490e-01);
  let low = m - k * {{F}}(1.90821492927058770002e-10);
  return select(exp_rest_{{W}}(r, low, {{I}}(k) + j), h, isnan_{{W}}(h));
}

//@ exp264: exp_rest64 product_error64 kept64 isnan64
// The fraction times ln 2 in two parts.
fn exp2_{{W}}(x: {{F}}) -> {{F}} {
  let c = clamp(x, {{F}}(-1200.0), {{F}}(1200.0));
  let k = floor(c + {{F}}(0.5));
  let d = c - k;
  let p = kept_{{W}}(d * {{F}}(0.6931471805599453));
  let low = product_error_{{W}}(d, {{F}}(0.6931471805599453), p) + d * {{F}}(2.3190468138462996e-17);
  return select(exp_rest_{{W}}(p, low, {{I}}(k)), x, isnan_{{W}}(x));
}

//@ expm164: exp_ratio64 scale264 isnan64
// 2^k (expm1(r) + (1 - 2^-k)).
fn expm1_{{W}}(x: {{F}}) -> {{F}} {
  let c = clamp(x, {{F}}(-50.0), {{F}}(800.0));
  let k = floor(c * {{F}}(1.4426950408889634) + {{F}}(0.5));
  let h = c - k * {{F}}(6.93147180369123816490e-01);
  let low = k * {{F}}(-1.90821492927058770002e-10);
  let v = h + low;
  let p = exp_ratio_{{W}}(v) * v * v;
  let back = bitcast<{{F}}>({{U}}({{I}}(1023) - {{I}}(min(k, {{F}}(1000.0)))) << {{U32}}(52u));
  let one = {{F}}(1.0) - back;
  // Twice the power of two at once, as the last one may overflow.
  let e = scale2_{{W}}((h + one) + (((one - (h + one)) + h) + (low + p)), {{I}}(k));
  let r = select(e, h + p, k == {{F}}(0.0));
  return select(r, x, (abs(x) < {{F}}(1e-17)) | isnan_{{W}}(x));
}

//@ log_normal64:
fn log_normal_{{W}}(x: {{F}}) -> {{F}} {
  return select(x, x * {{F}}(4503599627370496.0), x < {{F}}(2.2250738585072014e-308));
}

//@ log_exponent64: log_normal64
// k of x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
fn log_exponent_{{W}}(x: {{F}}) -> {{F}} {
  let bits = bitcast<{{U}}>(log_normal_{{W}}(x)) + {{U}}(0x3ff0000000000000lu - 0x3fe6a09e667f3bcdlu);
  let lift = select({{I}}(1023), {{I}}(1075), x < {{F}}(2.2250738585072014e-308));
  return {{F}}({{I}}(bits >> {{U32}}(52u)) - lift);
}

//@ log_fraction64: log_normal64
fn log_fraction_{{W}}(x: {{F}}) -> {{F}} {
  let bits = bitcast<{{U}}>(log_normal_{{W}}(x)) + {{U}}(0x3ff0000000000000lu - 0x3fe6a09e667f3bcdlu);
  return bitcast<{{F}}>((bits & {{U}}(0x000ffffffffffffflu)) + {{U}}(0x3fe6a09e667f3bcdlu)) - {{F}}(1.0);
}

//@ log_sum64:
// k ln 2 + log(1 + f) + c for a small c: s = f / (2 + f), and log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R), the terms
// and coefficients of fdlibm's e_log.
fn log_sum_{{W}}(k: {{F}}, f: {{F}}, c: {{F}}) -> {{F}} {
  let s = f / ({{F}}(2.0) + f);
  let z = s * s;
  var q = {{F}}(1.479819860511658591e-01) * z + {{F}}(1.531383769920937332e-01);
  q = q * z + {{F}}(1.818357216161805012e-01);
  q = q * z + {{F}}(2.222219843214978396e-01);
  q = q * z + {{F}}(2.857142874366239149e-01);
  q = q * z + {{F}}(3.999999999940941908e-01);
  q = q * z + {{F}}(6.666666666666735130e-01);
  let half = {{F}}(0.5) * f * f;
  let low = s * (half + q * z) + (k * {{F}}(1.90821492927058770002e-10) + c);
  return k * {{F}}(6.93147180369123816490e-01) - ((half - low) - f);
}

//@ log1p_scaled64: log1p_parts64 log_sum64 log_special64
// log(1 + x) + j ln 2.
fn log1p_scaled_{{W}}(x: {{F}}, j: {{F}}) -> {{F}} {
  let p = log1p_parts_{{W}}(x);
  let r = log_sum_{{W}}(p.k + j, p.f, p.c);
  return log_special_{{W}}({{F}}(1.0) + x, select(r, x, (abs(x) < {{F}}(1e-17)) & (j == {{F}}(0.0))));
}

//@ log_pair64: Pair64 pair_sum64 pair_quotient64 pair_product64 pair_joined64
// log(1 + f), relative error 2^-64: 2 atanh(s) = 2 s + 2 s (z / 3 + z^2 q(z)), s = f / (2 + f), z = s^2; all but
// the last term in two parts.
fn log_pair_{{W}}(f: {{F}}) -> Pair_{{W}} {
  let s = pair_quotient_{{W}}(Pair_{{W}}(f, {{F}}(0.0)), pair_sum_{{W}}({{F}}(2.0), f));
  let square = pair_product_{{W}}(s, s);
  let z = square.high;
  var q = {{F}}(0.05381433734104993) * z + {{F}}(0.05228139185101187);
  q = q * z + {{F}}(0.05883407651846657);
  q = q * z + {{F}}(0.0666664824198272);
  q = q * z + {{F}}(0.07692307880906366);
  q = q * z + {{F}}(0.09090909089826257);
  q = q * z + {{F}}(0.11111111111114222);
  q = q * z + {{F}}(0.14285714285714282);
  q = q * z + {{F}}(0.2);
  let third = pair_product_{{W}}(square, Pair_{{W}}({{F}}(0.3333333333333333), {{F}}(1.850371707708594e-17)));
  let tail = pair_joined_{{W}}(third.high, third.low + q * z * z);
  let twice = Pair_{{W}}(s.high + s.high, s.low + s.low);
  let more = pair_product_{{W}}(twice, tail);
  let sum = pair_joined_{{W}}(twice.high, more.high);
  return pair_joined_{{W}}(sum.high, sum.low + (more.low + twice.low));
}

//@ log264: log_pair64 log_exponent64 log_fraction64 log_special64 pair_sum64
fn log2_{{W}}(x: {{F}}) -> {{F}} {
  let inverse = Pair_{{W}}({{F}}(1.4426950408889634), {{F}}(2.0355273740931033e-17));
  let g = pair_product_{{W}}(log_pair_{{W}}(log_fraction_{{W}}(x)), inverse);
  let s = pair_sum_{{W}}(log_exponent_{{W}}(x), g.high);
  return log_special_{{W}}(x, s.high + (s.low + g.low));
}

//@ log1064: log_pair64 log_exponent64 log_fraction64 log_special64 pair_sum64
fn log10_{{W}}(x: {{F}}) -> {{F}} {
  let inverse = Pair_{{W}}({{F}}(0.4342944819032518), {{F}}(1.098319650216765e-17));
  let two = Pair_{{W}}({{F}}(0.3010299956639812), {{F}}(-2.8037281277851704e-18));
  let g = pair_product_{{W}}(log_pair_{{W}}(log_fraction_{{W}}(x)), inverse);
  let k = pair_product_{{W}}(Pair_{{W}}(log_exponent_{{W}}(x), {{F}}(0.0)), two);
  let s = pair_sum_{{W}}(k.high, g.high);
  return log_special_{{W}}(x, s.high + (s.low + (k.low + g.low)));
}

//@ logaddexp264: gap64 exp2_sum64 log1p64 max_nan64
fn logaddexp2_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let d = gap_{{W}}(x, y);
  return max_nan_{{W}}(x, y) + log1p_{{W}}(exp2_sum_{{W}}(-d.high, -d.low)) * {{F}}(1.4426950408889634);
}

//@ exp2_sum64: exp264
// 2^(h + l) for a small l.
fn exp2_sum_{{W}}(h: {{F}}, l: {{F}}) -> {{F}} {
  let e = exp2_{{W}}(h);
  return e + e * l * {{F}}(0.6931471805599453);
}

//@ logit64: log64 log1p64 log_special64
// log(x / (1 - x)); around 1/2 by the quotient less 1, (2 x - 1) / (1 - x), whose numerator is exact.
fn logit_{{W}}(x: {{F}}) -> {{F}} {
  let d = {{F}}(1.0) - x;
  let near = (x > {{F}}(0.25)) & (x < {{F}}(0.75));
  let r = select(log_{{W}}(x / d), log1p_{{W}}((({{F}}(2.0) * x) - {{F}}(1.0)) / d), near);
  let outside = (x < {{F}}(0.0)) | (x > {{F}}(1.0));
  return select(r, log_special_{{W}}({{F}}(-1.0), r), outside);
}

//@ pow_f64: log_pair64 log_exponent64 log_fraction64 pair_sum64 exp_scaled64 isnan64
// exp(y log|x|), the logarithm and the product in two parts, with C's special cases. Whole y up to 2^53 decide the
// sign.
fn pow_f_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let a = abs(x);
  let ln2 = Pair_{{W}}({{F}}(0.6931471805599453), {{F}}(2.3190468138462996e-17));
  let k = pair_product_{{W}}(Pair_{{W}}(log_exponent_{{W}}(a), {{F}}(0.0)), ln2);
  let g = log_pair_{{W}}(log_fraction_{{W}}(a));
  let s = pair_sum_{{W}}(k.high, g.high);
  let l = pair_joined_{{W}}(s.high, s.low + (k.low + g.low));
  // Beyond 2^64 each exponent gives 0 or infinity, or 1 for 1.
  let c = clamp(y, {{F}}(-18446744073709551616.0), {{F}}(18446744073709551616.0));
  let p = pair_product_{{W}}(l, Pair_{{W}}(c, {{F}}(0.0)));
  var r = exp_scaled_{{W}}(p.high, p.low, {{I}}(0));
  let inf = bitcast<{{F}}>({{U}}({{INF}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let nan = bitcast<{{F}}>({{U}}(0x7ff8000000000000lu) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let zero = a == {{F}}(0.0);
  r = select(r, select({{F}}(0.0), inf, zero == (y < {{F}}(0.0))), zero | (a == inf));
  let whole = floor(y) == y;
  let small = clamp(y, {{F}}(-9007199254740992.0), {{F}}(9007199254740992.0));
  let odd = whole & (small == y) & (({{I}}(small) & {{I}}(1)) == {{I}}(1));
  r = select(r, -abs(r), odd & (bitcast<{{U}}>(x) >= {{U}}({{SIGN}})));
  r = select(r, nan, (x < {{F}}(0.0)) & !whole & (a < inf));
  r = select(r, nan, isnan_{{W}}(x) | isnan_{{W}}(y));
  return select(r, {{F}}(1.0), (y == {{F}}(0.0)) | (x == {{F}}(1.0)) | ((abs(y) == inf) & (a == {{F}}(1.0))));
}

// Exponentials, logarithms and powers. Each section starts with `//@ name: sections it needs` and is expanded at
// vector width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.

//@ head:
// The upper 12 bits of the fraction: products of two heads are exact.
fn head_{{W}}(x: {{F}}) -> {{F}} {
  return bitcast<{{F}}>(bitcast<{{U}}>(x) & {{U}}(0xfffff000u));
}

//@ kept:
// x, by an operation that compilers do not look through: else Mesa takes (1 + x) - 1 for x. Not for NaN and infinity.
fn kept_{{W}}(x: {{F}}) -> {{F}} {
  return min(x, {{F}}(0x1.fffffep+127));
}

//@ product_error: head
// a * b - p exactly where p = a * b is finite and no denormal (Dekker 1971, halves by masks); else 0.
fn product_error_{{W}}(a: {{F}}, b: {{F}}, p: {{F}}) -> {{F}} {
  let ah = head_{{W}}(a);
  let bh = head_{{W}}(b);
  let al = a - ah;
  let bl = b - bh;
  let e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  return select({{F}}(0.0), e, abs(p) < {{F}}(1e38));
}

//@ scale2:
// x * 2^k for |k| <= 252 in two steps, of which the second alone may round, overflow or flush.
fn scale2_{{W}}(x: {{F}}, k: {{I}}) -> {{F}} {
  let k1 = k / {{I}}(2);
  let s1 = bitcast<{{F}}>({{U}}(k1 + {{I}}(127)) << {{U}}(23u));
  let s2 = bitcast<{{F}}>({{U}}(k - k1 + {{I}}(127)) << {{U}}(23u));
  return x * s1 * s2;
}

//@ exp_scaled: scale2 isnan
// exp(h + l) * 2^j for a small l, which counts where h is in the range: 2^k * exp(r), r = h - k ln 2 in two parts
// (Cody and Waite 1980), |r| <= ln 2 / 2, Taylor series to r^7.
fn exp_scaled_{{W}}(h: {{F}}, l: {{F}}, j: {{I}}) -> {{F}} {
  let c = clamp(h, {{F}}(-150.0), {{F}}(90.0));
  let k = floor(c * {{F}}(1.44269504) + {{F}}(0.5));
  let m = select({{F}}(0.0), l, c == h);
  let r = (c - k * {{F}}(0.693359375)) + (k * {{F}}(2.12194440e-4) + m);
  var q = {{F}}(1.9841270e-4) * r + {{F}}(1.3888889e-3);
  q = q * r + {{F}}(8.3333333e-3);
  q = q * r + {{F}}(4.1666667e-2);
  q = q * r + {{F}}(1.6666667e-1);
  q = q * r + {{F}}(0.5);
  let e = (q * r * r + r) + {{F}}(1.0);
  return select(scale2_{{W}}(e, {{I}}(k) + j), h, isnan_{{W}}(h));
}

//@ exp*: exp_scaled
fn exp_{{W}}(x: {{F}}) -> {{F}} {
  return exp_scaled_{{W}}(x, {{F}}(0.0), {{I}}(0));
}

//@ exp2_sum: head scale2 isnan
// 2^(h + l) for a small l, which counts where h is in the range: 1 + r ln 2 is summed from exact parts, so that
// powers that are float32 numbers are exact. Taylor series to r^8, |r| <= 1/2.
fn exp2_sum_{{W}}(h: {{F}}, l: {{F}}) -> {{F}} {
  let c = clamp(h, {{F}}(-180.0), {{F}}(180.0));
  let k = floor(c + {{F}}(0.5));
  let d = c - k;
  let m = select({{F}}(0.0), l, c == h);
  let r = d + m;
  var q = {{F}}(1.3215487e-6) * r + {{F}}(1.5252734e-5);
  q = q * r + {{F}}(1.5403530e-4);
  q = q * r + {{F}}(1.3333558e-3);
  q = q * r + {{F}}(9.6181291e-3);
  q = q * r + {{F}}(5.5504109e-2);
  q = q * r + {{F}}(2.4022651e-1);
  let rh = head_{{W}}(d);
  let rl = (d - rh) + m;
  let t = rh * {{F}}(0.693359375);
  let th = floor(t * {{F}}(4096.0) + {{F}}(0.5)) * {{F}}(2.44140625e-4);
  let rest = (t - th) + (rl * {{F}}(0.693359375) + (q * r * r - r * {{F}}(2.12194440e-4)));
  return select(scale2_{{W}}(({{F}}(1.0) + th) + rest, {{I}}(k)), h, isnan_{{W}}(h));
}

//@ exp2: exp2_sum
fn exp2_{{W}}(x: {{F}}) -> {{F}} {
  return exp2_sum_{{W}}(x, {{F}}(0.0));
}

//@ expm1: isnan
// 2^k (expm1(r) + 1) - 1, r as in exp, Taylor series to r^8; both factors of 2^k near each other.
fn expm1_{{W}}(x: {{F}}) -> {{F}} {
  let c = clamp(x, {{F}}(-30.0), {{F}}(90.0));
  let k = floor(c * {{F}}(1.44269504) + {{F}}(0.5));
  let r = (c - k * {{F}}(0.693359375)) + k * {{F}}(2.12194440e-4);
  var q = {{F}}(2.4801587e-5) * r + {{F}}(1.9841270e-4);
  q = q * r + {{F}}(1.3888889e-3);
  q = q * r + {{F}}(8.3333333e-3);
  q = q * r + {{F}}(4.1666667e-2);
  q = q * r + {{F}}(1.6666667e-1);
  q = q * r + {{F}}(0.5);
  let p = q * r * r + r;
  let k1 = {{I}}(k) / {{I}}(2);
  let k2 = {{I}}(k) - k1;
  let s1 = bitcast<{{F}}>({{U}}(k1 + {{I}}(127)) << {{U}}(23u));
  let s2 = bitcast<{{F}}>({{U}}(k2 + {{I}}(127)) << {{U}}(23u));
  let inverse = bitcast<{{F}}>({{U}}({{I}}(127) - k2) << {{U}}(23u));
  let e = (s1 * p + (s1 - inverse)) * s2;
  return select(e, x, (abs(x) < {{F}}(2.98023224e-8)) | isnan_{{W}}(x));
}

//@ log_normal:
fn log_normal_{{W}}(x: {{F}}) -> {{F}} {
  return select(x, x * {{F}}(8388608.0), x < {{F}}(1.17549435e-38));
}

//@ log_exponent: log_normal
// k of x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
fn log_exponent_{{W}}(x: {{F}}) -> {{F}} {
  let bits = bitcast<{{U}}>(log_normal_{{W}}(x)) + {{U}}(0x3f800000u - 0x3f3504f3u);
  let lift = select({{I}}(127), {{I}}(150), x < {{F}}(1.17549435e-38));
  return {{F}}({{I}}(bits >> {{U}}(23u)) - lift);
}

//@ log_fraction: log_normal
fn log_fraction_{{W}}(x: {{F}}) -> {{F}} {
  let bits = bitcast<{{U}}>(log_normal_{{W}}(x)) + {{U}}(0x3f800000u - 0x3f3504f3u);
  return bitcast<{{F}}>((bits & {{U}}(0x007fffffu)) + {{U}}(0x3f3504f3u)) - {{F}}(1.0);
}

//@ log_tail:
// log(1 + f) - f + f^2 / 2 for 1 + f in [sqrt(1/2), sqrt(2)): 2 atanh(s), s = f / (2 + f), as in fdlibm's e_logf.
fn log_tail_{{W}}(f: {{F}}) -> {{F}} {
  let s = f / ({{F}}(2.0) + f);
  let z = s * s;
  let w = z * z;
  let t1 = w * ({{F}}(0.40000972152) + w * {{F}}(0.24279078841));
  let t2 = z * ({{F}}(0.66666662693) + w * {{F}}(0.28498786688));
  return s * ({{F}}(0.5) * f * f + t1 + t2);
}

//@ log_sum: log_tail
// k ln 2 + log(1 + f) + c for a small c.
fn log_sum_{{W}}(k: {{F}}, f: {{F}}, c: {{F}}) -> {{F}} {
  let low = k * {{F}}(9.0580006145e-6) + c;
  return log_tail_{{W}}(f) + low - {{F}}(0.5) * f * f + f + k * {{F}}(0.69313812256);
}

//@ log_special*: isnan
// r, but for x where logarithms are infinite or NaN.
fn log_special_{{W}}(x: {{F}}, r: {{F}}) -> {{F}} {
  let inf = bitcast<{{F}}>({{U}}({{INF}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let special = select(select(r, x, (x == inf) | isnan_{{W}}(x)), -inf, x == {{F}}(0.0));
  return select(special, nan, x < {{F}}(0.0));
}

//@ log*: log_exponent log_fraction log_sum log_special
fn log_{{W}}(x: {{F}}) -> {{F}} {
  let r = log_sum_{{W}}(log_exponent_{{W}}(x), log_fraction_{{W}}(x), {{F}}(0.0));
  return log_special_{{W}}(x, r);
}

//@ log1p_parts*: log_exponent log_fraction kept
// log(1 + x) = k ln 2 + log(1 + f) + c. Near 0 the fraction is x itself; else 1 + x rounds, and c is what it lost
// (fdlibm's s_log1pf).
struct Log1pParts_{{W}} {
  k: {{F}},
  f: {{F}},
  c: {{F}},
}
fn log1p_parts_{{W}}(x: {{F}}) -> Log1pParts_{{W}} {
  let u = {{F}}(1.0) + x;
  let near = (x > {{F}}(-0.29289)) & (x < {{F}}(0.41421));
  let c = select((x - (kept_{{W}}(u) - {{F}}(1.0))) / u, {{F}}(0.0), near | (x > {{F}}(1e10)));
  let k = select(log_exponent_{{W}}(u), {{F}}(0.0), near);
  return Log1pParts_{{W}}(k, select(log_fraction_{{W}}(u), x, near), c);
}

//@ log1p_scaled: log1p_parts log_sum log_special
// log(1 + x) + j ln 2.
fn log1p_scaled_{{W}}(x: {{F}}, j: {{F}}) -> {{F}} {
  let p = log1p_parts_{{W}}(x);
  let r = log_sum_{{W}}(p.k + j, p.f, p.c);
  return log_special_{{W}}({{F}}(1.0) + x, select(r, x, (abs(x) < {{F}}(2.98023224e-8)) & (j == {{F}}(0.0))));
}

//@ log1p*: log1p_scaled
fn log1p_{{W}}(x: {{F}}) -> {{F}} {
  return log1p_scaled_{{W}}(x, {{F}}(0.0));
}

//@ log2_sum: log_tail head
// k + log2(1 + f) + c / ln 2: the logarithm in two parts times 1 / ln 2 in two parts, as in FreeBSD's e_log2f.
fn log2_sum_{{W}}(k: {{F}}, f: {{F}}, c: {{F}}) -> {{F}} {
  let half = {{F}}(0.5) * f * f;
  let hi = head_{{W}}(f - half);
  let lo = ((f - hi) - half) + (log_tail_{{W}}(f) + c);
  let small = (lo + hi) * {{F}}(-1.7605285393e-4) + lo * {{F}}(1.4428710938);
  return small + hi * {{F}}(1.4428710938) + k;
}

//@ log2: log_exponent log_fraction log2_sum log_special
fn log2_{{W}}(x: {{F}}) -> {{F}} {
  let r = log2_sum_{{W}}(log_exponent_{{W}}(x), log_fraction_{{W}}(x), {{F}}(0.0));
  return log_special_{{W}}(x, r);
}

//@ log10: log_exponent log_fraction log_tail log_special head
// As log2, with log10(2) in two parts (FreeBSD's e_log10f).
fn log10_{{W}}(x: {{F}}) -> {{F}} {
  let f = log_fraction_{{W}}(x);
  let k = log_exponent_{{W}}(x);
  let half = {{F}}(0.5) * f * f;
  let hi = head_{{W}}(f - half);
  let lo = ((f - hi) - half) + log_tail_{{W}}(f);
  let small = (lo + hi) * {{F}}(-3.1689971365e-5) + lo * {{F}}(4.3432617188e-1);
  let r = k * {{F}}(7.9034151668e-7) + small + hi * {{F}}(4.3432617188e-1);
  return log_special_{{W}}(x, r + k * {{F}}(3.0102920532e-1));
}

//@ gap*: kept
// |x - y| in two parts (Knuth's two-sum), 0 for equal infinities.
struct Gap_{{W}} {
  high: {{F}},
  low: {{F}},
}
fn gap_{{W}}(x: {{F}}, y: {{F}}) -> Gap_{{W}} {
  let a = max(x, y);
  let b = min(x, y);
  let d = select(a - b, {{F}}(0.0), a == b);
  let k = kept_{{W}}(d);
  let part = kept_{{W}}(k - a);
  let low = (a - (k - part)) - (b + part);
  return Gap_{{W}}(d, select({{F}}(0.0), low, (k < {{F}}(1e6)) & (abs(a) < {{F}}(1e30))));
}

//@ logaddexp*: gap exp_scaled log1p max_nan
// The larger one and log1p of the ratio of the smaller to it.
fn logaddexp_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let d = gap_{{W}}(x, y);
  return max_nan_{{W}}(x, y) + log1p_{{W}}(exp_scaled_{{W}}(-d.high, -d.low, {{I}}(0)));
}

//@ logaddexp2: gap exp2_sum log1p_parts log2_sum max_nan
fn logaddexp2_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let d = gap_{{W}}(x, y);
  let p = log1p_parts_{{W}}(exp2_sum_{{W}}(-d.high, -d.low));
  return max_nan_{{W}}(x, y) + log2_sum_{{W}}(p.k, p.f, p.c);
}

//@ xlogy*: log isnan
fn xlogy_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  return select(x * log_{{W}}(y), {{F}}(0.0), (x == {{F}}(0.0)) & !isnan_{{W}}(y));
}

//@ xlog1py*: log1p isnan
fn xlog1py_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  return select(x * log1p_{{W}}(y), {{F}}(0.0), (x == {{F}}(0.0)) & !isnan_{{W}}(y));
}

//@ logit: log_exponent log_fraction log_sum log_special product_error kept
// log(u), u = x / (1 - x), and c for what u lost in rounding; near u = 1 by the fraction u - 1 = (2 x - 1) / (1 - x),
// whose numerator is exact.
fn logit_{{W}}(x: {{F}}) -> {{F}} {
  let d = {{F}}(1.0) - x;
  let near = (x > {{F}}(0.4143)) & (x < {{F}}(0.5857));
  let v = select(x, kept_{{W}}(x + x) - {{F}}(1.0), near) / d;
  let p = v * d;
  let lost = (x - p) - (product_error_{{W}}(v, d, p) + v * (({{F}}(1.0) - kept_{{W}}(d)) - x));
  let c = select(lost / x, {{F}}(0.0), near | (x < {{F}}(0.01)) | (x > {{F}}(0.99)));
  let k = select(log_exponent_{{W}}(v), {{F}}(0.0), near);
  let r = log_sum_{{W}}(k, select(log_fraction_{{W}}(v), v, near), c);
  let outside = (x < {{F}}(0.0)) | (x > {{F}}(1.0));
  return log_special_{{W}}(select(select(v, {{F}}(1.0), near), {{F}}(-1.0), outside), r);
}

//@ log2_fraction: head
// log2 of m in [sqrt(1/2), sqrt(2)) in two parts, to 2^-35 (fdlibm's e_powf: log m = 2 atanh(s),
// s = (m - 1) / (m + 1) in two parts, and products of heads are exact).
struct Log2Fraction_{{W}} {
  high: {{F}},
  low: {{F}},
}
fn log2_fraction_{{W}}(m: {{F}}) -> Log2Fraction_{{W}} {
  let u = m - {{F}}(1.0);
  let d = m + {{F}}(1.0);
  let s = u / d;
  let sh = head_{{W}}(s);
  let dh = head_{{W}}(d);
  let dl = m - (dh - {{F}}(1.0));
  let sl = ((u - sh * dh) - sh * dl) / d;
  let z = s * s;
  // 3 / 2 log m = s (3 + s^2 + r)
  var q = {{F}}(0.23076923) * z + {{F}}(0.27272727);
  q = q * z + {{F}}(0.33333333);
  q = q * z + {{F}}(0.42857143);
  q = q * z + {{F}}(0.6);
  let r = q * z * z + sl * (sh + s);
  let zh = sh * sh;
  let th = head_{{W}}({{F}}(3.0) + zh + r);
  let tl = r - ((th - {{F}}(3.0)) - zh);
  let a = sh * th;
  let b = sl * th + tl * s;
  let ph = head_{{W}}(a + b);
  let pl = b - (ph - a);
  // times 2 / (3 ln 2)
  return Log2Fraction_{{W}}(ph * {{F}}(0.9619140625), ph * {{F}}(-1.1736857402e-4) + pl * {{F}}(0.96179670095));
}

//@ pow_f: log2_fraction log_exponent log_fraction exp2_sum head isnan
// 2^(y log2|x|), the logarithm and the product in two parts (fdlibm's e_powf), with C's special cases.
// Integer y up to 2^24 decide the sign.
fn pow_f_{{W}}(x: {{F}}, y: {{F}}) -> {{F}} {
  let a = abs(x);
  let k = log_exponent_{{W}}(a);
  let g = log2_fraction_{{W}}({{F}}(1.0) + log_fraction_{{W}}(a));
  // Beyond 2^32 each exponent gives 0 or infinity, or 1 for 1.
  let c = clamp(y, {{F}}(-4294967296.0), {{F}}(4294967296.0));
  let t1 = head_{{W}}((g.high + g.low) + k);
  let t2 = g.low - ((t1 - k) - g.high);
  let ch = head_{{W}}(c);
  let p = ch * t1;
  var r = exp2_sum_{{W}}(p, (c - ch) * t1 + c * t2);
  let inf = bitcast<{{F}}>({{U}}(0x7f800000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  let zero = a == {{F}}(0.0);
  r = select(r, select({{F}}(0.0), inf, zero == (y < {{F}}(0.0))), zero | (a == inf));
  let whole = floor(y) == y;
  let small = clamp(y, {{F}}(-16777216.0), {{F}}(16777216.0));
  let odd = whole & (small == y) & (({{I}}(small) & {{I}}(1)) == {{I}}(1));
  // By the sign bit: also of zero, and of denormals that comparisons take for zero.
  r = select(r, -abs(r), odd & (bitcast<{{U}}>(x) >= {{U}}(0x80000000u)));
  r = select(r, nan, (x < {{F}}(0.0)) & !whole & (a < inf));
  r = select(r, nan, isnan_{{W}}(x) | isnan_{{W}}(y));
  return select(r, {{F}}(1.0), (y == {{F}}(0.0)) | (x == {{F}}(1.0)) | ((abs(y) == inf) & (a == {{F}}(1.0))));
}

// The error function, the gamma function. Each section starts with `//@ name: sections it needs` and is expanded at
// vector width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.
// Polynomials are minimax fits made for this file by the Remez exchange, unless a source is named.

//@ erf_ratio:
// erf(a) / a - 1 for 0 <= a < 0.93, in powers of a^2, as fdlibm's s_erf does.
fn erf_ratio_{{W}}(a: {{F}}) -> {{F}} {
  let z = a * a;
  var q = {{F}}(7.99889676e-5) * z + {{F}}(-8.0501585e-4);
  q = q * z + {{F}}(5.1924265e-3);
  q = q * z + {{F}}(-2.68557351e-2);
  q = q * z + {{F}}(1.12836257e-1);
  q = q * z + {{F}}(-3.76126289e-1);
  return q * z + {{F}}(1.28379166e-1);
}

//@ erf: erf_ratio exp isnan
// Beyond 0.92, 1 - exp(-P(a)) with P = -log erfc: errors of the exponential shrink with erfc.
fn erf_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(4.0));
  var p = {{F}}(2.10972648e-5) * a + {{F}}(-4.34489222e-4);
  p = p * a + {{F}}(4.17118147e-3);
  p = p * a + {{F}}(-2.51197014e-2);
  p = p * a + {{F}}(1.08280458e-1);
  p = p * a + {{F}}(6.33346617e-1);
  p = p * a + {{F}}(1.12951505);
  p = p * a + {{F}}(-1.74704954e-4);
  let far = {{F}}(1.0) - exp_{{W}}(-p);
  let s = a * {{F}}(16777216.0);  // a term of the sum may else be denormal
  let near = (erf_ratio_{{W}}(a) * s + s) * {{F}}(5.9604644775390625e-8);
  let r = select(far, near, a < {{F}}(0.92));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  return select(signed, x, isnan_{{W}}(x));
}

//@ erfc: erf_ratio isnan
// From 0.5 on exp(-a^2) H(t) / (a + 2), t = (a - 2) / (a + 2): the substitution of Shepherd and Laframboise,
// "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981). As in fdlibm, a^2 is z^2 + (a - z)(a + z) with z the
// upper 12 bits of a, whose square is exact. The factors u (1 + r) of 1 / (a + 2), g + gl of H, 1 + f + fl + p of exp
// begin with 12 bits, and so does the product v1 + vl of the last two: only the last sum rounds at full size. Below 0.5,
// 1 - erf, ordered so that nothing cancels.
fn erfc_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(11.0));
  let d = a + {{F}}(2.0);
  let v = {{F}}(1.0) / d;
  let u = bitcast<{{F}}>(bitcast<{{U}}>(v) & {{U}}(0xfffff000u));
  let dh = bitcast<{{F}}>(bitcast<{{U}}>(d) & {{U}}(0xfffff000u));
  let lack = (({{F}}(1.0) - u * dh) - u * (d - dh)) - (a - (d - {{F}}(2.0))) * u;
  let r = lack * lack + lack;
  let t = ({{F}}(1.0) - {{F}}(4.0) * u) - {{F}}(4.0) * u * r;
  var h = {{F}}(1.21464276e-4) * t + {{F}}(5.98950428e-5);
  h = h * t + {{F}}(-6.54085714e-4);
  h = h * t + {{F}}(-8.45726638e-4);
  h = h * t + {{F}}(3.08901514e-3);
  h = h * t + {{F}}(6.48047356e-3);
  h = h * t + {{F}}(-2.15105359e-2);
  h = h * t + {{F}}(-3.64423133e-2);
  h = h * t + {{F}}(2.79472083e-1);
  h = h * t + {{F}}(-6.87160671e-1);
  h = h * t + {{F}}(2.15827059e-2);
  // exp(-z^2 - (a - z)(a + z)) = 2^-k exp(y), with k ln 2 - z^2 exact but for the low part of ln 2.
  let z = bitcast<{{F}}>(bitcast<{{U}}>(a) & {{U}}(0xfffff000u));
  let k = floor(z * z * {{F}}(1.44269504) + {{F}}(0.5));
  let y0 = k * {{F}}(0.693359375) - z * z;
  let low = k * {{F}}(2.12194440e-4);
  let y1 = y0 - low;
  let b = (a - z) * (a + z);
  let y = y1 - b;
  var p = {{F}}(0.001336316) * y + {{F}}(0.00837519486);
  p = p * y + {{F}}(0.0416760705);
  p = p * y + {{F}}(0.166664526);
  p = p * y + {{F}}(0.499999672);
  p = p * y * y;
  let ki = {{U}}(k);
  let s1 = bitcast<{{F}}>(({{U}}(127u) - (ki >> {{U}}(1u))) << {{U}}(23u));
  let s2 = bitcast<{{F}}>(({{U}}(127u) - (ki - (ki >> {{U}}(1u)))) << {{U}}(23u));
  let g = bitcast<{{F}}>(bitcast<{{U}}>(h + {{F}}(1.0)) & {{U}}(0xfffff000u));
  let gl = h - (g - {{F}}(1.0));
  let f = bitcast<{{F}}>(bitcast<{{U}}>(y) & {{U}}(0xfffff000u));
  let fl = (y - f) + (((y0 - y1) - low) + ((y1 - y) - b));
  let v1 = bitcast<{{F}}>(bitcast<{{U}}>(g + g * f) & {{U}}(0xfffff000u));
  let vl = ((g - v1) + g * f) + (g * fl + gl * ({{F}}(1.0) + y)) + (g + gl) * (p + (r + r * (y + p)));
  let tail = (u * v1 + u * vl) * s1 * s2;
  let far = select({{F}}(2.0) - tail, tail, x > {{F}}(0.0));
  let n = min(a, {{F}}(0.5));
  let w = erf_ratio_{{W}}(n) * n;
  let less = select({{F}}(0.5) - (w + (n - {{F}}(0.5))), {{F}}(1.0) - (w + n), n < {{F}}(0.25));
  let near = select({{F}}(1.0) + (w + n), less, x > {{F}}(0.0));
  return select(select(near, far, a >= {{F}}(0.5)), x, isnan_{{W}}(x));
}

//@ erfinv: log sqrt_f isnan
// x (1 + P(w)) for w = -log(1 - x^2) up to 5, and x (2 + Q(sqrt w)) beyond: the variables of Giles, "Approximating the
// erfinv function" (2010).
fn erfinv_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let w = -log_{{W}}(({{F}}(1.0) - a) * ({{F}}(1.0) + a));
  let c = min(w, {{F}}(5.0)) - {{F}}(2.5);
  var p = {{F}}(-8.79152839e-09) * c + {{F}}(2.32323423e-08);
  p = p * c + {{F}}(4.66176743e-07);
  p = p * c + {{F}}(-3.46270076e-06);
  p = p * c + {{F}}(-4.96337134e-06);
  p = p * c + {{F}}(0.00021834443);
  p = p * c + {{F}}(-0.0012527419);
  p = p * c + {{F}}(-0.00417738687);
  p = p * c + {{F}}(0.24664028);
  p = p * c + {{F}}(0.501409352);
  let s = sqrt_f_{{W}}(clamp(w, {{F}}(5.0), {{F}}(17.0))) - {{F}}(3.2);
  var q = {{F}}(-2.99453823e-05) * s + {{F}}(0.000100997044);
  q = q * s + {{F}}(-4.10428438e-05);
  q = q * s + {{F}}(-0.000360353617);
  q = q * s + {{F}}(0.00109402125);
  q = q * s + {{F}}(-0.00199253461);
  q = q * s + {{F}}(0.00294706342);
  q = q * s + {{F}}(-0.00429422921);
  q = q * s + {{F}}(0.00597349927);
  q = q * s + {{F}}(1.00469244);
  q = q * s + {{F}}(1.03363657);
  let u = a * {{F}}(16777216.0);  // a term of the sum may else be denormal
  let r = select(q * a + {{F}}(2.0) * a, (p * u + u) * {{F}}(5.9604644775390625e-8), w < {{F}}(5.0));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  let b = bitcast<{{U}}>(x);
  let inf = bitcast<{{F}}>((b & {{U}}(0x80000000u)) | {{U}}(0x7f800000u));
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | b);
  return select(select(select(nan, inf, a == {{F}}(1.0)), signed, a < {{F}}(1.0)), x, isnan_{{W}}(x));
}

//@ lgamma_small:
// lgamma(1 + y) / y for |y| <= 1/2.
fn lgamma_small_{{W}}(y: {{F}}) -> {{F}} {
  var q = {{F}}(0.156968534) * y + {{F}}(-0.177901372);
  q = q * y + {{F}}(0.0529148355);
  q = q * y + {{F}}(-0.0503937155);
  q = q * y + {{F}}(0.104677588);
  q = q * y + {{F}}(-0.118788466);
  q = q * y + {{F}}(0.125238106);
  q = q * y + {{F}}(-0.143368974);
  q = q * y + {{F}}(0.169557333);
  q = q * y + {{F}}(-0.207414672);
  q = q * y + {{F}}(0.270581245);
  q = q * y + {{F}}(-0.400685161);
  q = q * y + {{F}}(0.822467029);
  q = q * y + {{F}}(-0.577215672);
  return q;
}

//@ lgamma_large: log
// lgamma(x) for x >= 1.5: the root at 2 divided out up to 3 and up to 8, then Stirling's series.
fn lgamma_large_{{W}}(x: {{F}}) -> {{F}} {
  let y = min(x, {{F}}(3.0)) - {{F}}(2.0);
  var r = {{F}}(4.95985369e-05) * y + {{F}}(-0.000220894595);
  r = r * y + {{F}}(0.000541313726);
  r = r * y + {{F}}(-0.00120451686);
  r = r * y + {{F}}(0.002884252);
  r = r * y + {{F}}(-0.00738275796);
  r = r * y + {{F}}(0.0205813199);
  r = r * y + {{F}}(-0.0673524886);
  r = r * y + {{F}}(0.322467029);
  r = r * y + {{F}}(0.422784328);
  let t = min(x, {{F}}(8.0)) - {{F}}(5.5);
  var s = {{F}}(-3.63637009e-09) * t + {{F}}(1.86339317e-08);
  s = s * t + {{F}}(-5.41371179e-08);
  s = s * t + {{F}}(4.10113785e-07);
  s = s * t + {{F}}(-3.10877067e-06);
  s = s * t + {{F}}(2.09294521e-05);
  s = s * t + {{F}}(-0.000150073087);
  s = s * t + {{F}}(0.00117935427);
  s = s * t + {{F}}(-0.0107298894);
  s = s * t + {{F}}(0.137225524);
  s = s * t + {{F}}(1.13080394);
  let u = {{F}}(1.0) / max(x, {{F}}(8.0));
  let w = ({{F}}(-0.00276551838) * u * u + {{F}}(0.083333306)) * u;
  let big = (x - {{F}}(0.5)) * (log_{{W}}(x) - {{F}}(1.0)) + ({{F}}(0.418938533) + w);
  return select(select(big, s * (x - {{F}}(2.0)), x < {{F}}(8.0)), r * y, x < {{F}}(3.0));
}

//@ lgamma: lgamma_small lgamma_large sin_pi log isnan
// log |gamma(x)|. Near zero by lgamma(1 + x) - log |x|; below -1/2 by the reflection pi / (|x sin(pi x)| gamma(|x|)),
// x less the nearest whole number being exact. The roots 1 and 2 are divided out of the polynomials: the error is
// relative at all positive operands. At the roots of negative ones the two terms of the reflection cancel: there it is
// relative to them, or to 1.
fn lgamma_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let near = a < {{F}}(0.5);
  let y = select(min(a, {{F}}(1.5)) - {{F}}(1.0), x, near);
  let small = lgamma_small_{{W}}(y) * y;
  let positive = select(lgamma_large_{{W}}(max(a, {{F}}(1.5))), small, a < {{F}}(1.5));
  let whole = a >= {{F}}(8388608.0);
  let f = select(a - floor(a + {{F}}(0.5)), {{F}}(0.0), whole);
  let sine = abs(sin_pi_{{W}}(f));
  let reflected = -log_{{W}}(select(a * sine, a, near)) - select(positive, -small, near);
  let r = select(positive, reflected, near | (x < {{F}}(0.0)));
  let inf = bitcast<{{F}}>({{U}}(0x7f800000u) | (bitcast<{{U}}>(x) & {{U}}(0u)));
  let pole = (bitcast<{{U}}>(a) == {{U}}(0x7f800000u)) | ((x < {{F}}(0.0)) & (f == {{F}}(0.0))) | (a == {{F}}(0.0));
  return select(select(select(r, {{F}}(0.0), x == {{F}}(1.0)), inf, pole), x, isnan_{{W}}(x));
}

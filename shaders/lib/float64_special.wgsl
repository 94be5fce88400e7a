// The error function, the gamma function of float64. Each section starts with `//@ name64: sections it needs`; see
// bits.wgsl. Compilers may contract a * b + c: what must be rounded is `kept`. Polynomials are interpolated at
// Chebyshev's points.

//@ erf_ratio64:
// erf(a) / a - 1 for 0 <= a <= 1, in powers of a^2, as fdlibm's s_erf does.
fn erf_ratio_{{W}}(a: {{F}}) -> {{F}} {
  let z = a * a;
  var q = {{F}}(2.806712819559797e-13) * z + {{F}}(-6.196736428786736e-12);
  q = q * z + {{F}}(9.323723518152713e-11);
  q = q * z + {{F}}(-1.2277734486795464e-09);
  q = q * z + {{F}}(1.4806027146128743e-08);
  q = q * z + {{F}}(-1.636576864883207e-07);
  q = q * z + {{F}}(1.6462110782018636e-06);
  q = q * z + {{F}}(-1.4925650236967501e-05);
  q = q * z + {{F}}(0.00012055332978879483);
  q = q * z + {{F}}(-0.0008548327023403001);
  q = q * z + {{F}}(0.005223977625441674);
  q = q * z + {{F}}(-0.026866170645131218);
  q = q * z + {{F}}(0.11283791670955126);
  q = q * z + {{F}}(-0.37612638903183754);
  q = q * z + {{F}}(0.1283791670955126);
  return q;
}

//@ erfcx64: Pair64 pair_sum64
// exp(a^2) erfc(a) at a + low for a >= 0.45: (1 + 2 a) times it is a polynomial in t = (a - 2.5) / (a + 2.5) (Shepherd
// and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981), relative error 2^-54.
fn erfcx_{{W}}(a: {{F}}, low: {{F}}) -> {{F}} {
  let t = (a - {{F}}(2.5)) / (a + {{F}}(2.5));
  var q = {{F}}(-9.722749858412102e-09) * t + {{F}}(4.545428053469273e-08);
  q = q * t + {{F}}(-9.146656711637183e-09);
  q = q * t + {{F}}(-1.9764295592322196e-07);
  q = q * t + {{F}}(2.4992652283159652e-08);
  q = q * t + {{F}}(6.141082313251114e-07);
  q = q * t + {{F}}(5.09295148346019e-07);
  q = q * t + {{F}}(-1.6352817346204146e-06);
  q = q * t + {{F}}(-4.198400375020217e-06);
  q = q * t + {{F}}(2.627963894555254e-06);
  q = q * t + {{F}}(2.2690207287207108e-05);
  q = q * t + {{F}}(6.261398651749807e-06);
  q = q * t + {{F}}(-0.00011351974413274703);
  q = q * t + {{F}}(-8.847851596849203e-05);
  q = q * t + {{F}}(0.0006321239016447855);
  q = q * t + {{F}}(0.0004918657416817806);
  q = q * t + {{F}}(-0.004382078296679118);
  q = q * t + {{F}}(0.0009318928215742899);
  q = q * t + {{F}}(0.03276089326629373);
  q = q * t + {{F}}(-0.10296705603870948);
  q = q * t + {{F}}(0.1576299190232771);
  q = q * t + {{F}}(-0.09902453957359991);
  q = q * t + {{F}}(-0.12235676308240473);
  q = q * t + {{F}}(1.2648381843668615);
  let d = pair_sum_{{W}}({{F}}(1.0), a + a);
  let r = q / d.high;
  return r - r * ((d.low + low + low) / d.high);
}

//@ exp_square64: exp_scaled64 product_error64 kept64
// exp(-f a^2) 2^j, f a power of two, the square in two parts.
fn exp_square_{{W}}(a: {{F}}, f: {{F}}, j: {{I}}) -> {{F}} {
  let p = kept_{{W}}(a * a);
  return exp_scaled_{{W}}(-f * p, -f * product_error_{{W}}(a, a, p), j);
}

//@ erf64: erf_ratio64 erfcx64 exp_square64 with_sign64 isnan64
// From 1 on 1 - erfc, whose errors shrink with it.
fn erf_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(7.0));
  let far = {{F}}(1.0) - exp_square_{{W}}(a, {{F}}(1.0), {{I}}(0)) * erfcx_{{W}}(max(a, {{F}}(1.0)), {{F}}(0.0));
  let n = min(a, {{F}}(1.0));
  let near = n + n * erf_ratio_{{W}}(n);
  return select(with_sign_{{W}}(select(far, near, a < {{F}}(1.0)), x), x, isnan_{{W}}(x));
}

//@ erfc64: erf_ratio64 erfcx64 exp_square64 isnan64
// From 0.5 on exp(-a^2) erfcx(a); below 1 - erf, ordered so that nothing cancels.
fn erfc_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(30.0));
  let tail = exp_square_{{W}}(a, {{F}}(1.0), {{I}}(0)) * erfcx_{{W}}(max(a, {{F}}(0.5)), {{F}}(0.0));
  let far = select({{F}}(2.0) - tail, tail, x > {{F}}(0.0));
  let n = min(a, {{F}}(0.5));
  let w = erf_ratio_{{W}}(n) * n;
  let less = select({{F}}(0.5) - (w + (n - {{F}}(0.5))), {{F}}(1.0) - (w + n), n < {{F}}(0.25));
  let near = select({{F}}(1.0) + (w + n), less, x > {{F}}(0.0));
  return select(select(near, far, a >= {{F}}(0.5)), x, isnan_{{W}}(x));
}

//@ gelu64: product_error64 kept64 erf_ratio64 erfcx64 exp_square64 with_sign64 isnan64
// x times the standard normal's distribution function: by erf(x / sqrt(2)) below 0.7, else by the tail
// exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2, in which x^2 is exact.
fn gelu_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(40.0));
  let u = kept_{{W}}(a * {{F}}(0.7071067811865476));
  let ul = product_error_{{W}}(a, {{F}}(0.7071067811865476), u) + a * {{F}}(-4.833646656726457e-17);
  // 2^65 times as large, as the exponential alone may be a denormal.
  let large = a * (exp_square_{{W}}(a, {{F}}(0.5), {{I}}(64)) * erfcx_{{W}}(max(u, {{F}}(0.45)), ul));
  let tail = large * {{F}}(2.710505431213761e-20);
  let far = select(tail, abs(x) - tail, x > {{F}}(0.0));
  let n = min(u, {{F}}(1.0));
  let e = (n + n * erf_ratio_{{W}}(n)) * {{F}}(0.5);
  let near = a * ({{F}}(0.5) + select(e, -e, x < {{F}}(0.0)));
  return select(with_sign_{{W}}(select(far, near, a < {{F}}(0.7)), x), x, isnan_{{W}}(x));
}

//@ erfinv64: log64 erf_ratio64 erfcx64 exp_square64 with_sign64 isnan64
// A guess of 27 bits by w = -log(1 - x^2), in the variables of Giles, "Approximating the erfinv function" (2010); then
// one step of Halley's, on erf below 1/2 and on erfc, for 1 - x is exact, above.
fn erfinv_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let w = -log_{{W}}(({{F}}(1.0) - a) * ({{F}}(1.0) + a));
  let c = min(w, {{F}}(5.0)) - {{F}}(2.5);
  var p = {{F}}(1.2334507816051368e-10) * c + {{F}}(4.342056824826795e-10);
  p = p * c + {{F}}(-1.085985898385601e-08);
  p = p * c + {{F}}(1.6501624464952274e-08);
  p = p * c + {{F}}(4.786788947003616e-07);
  p = p * c + {{F}}(-3.4262563387470754e-06);
  p = p * c + {{F}}(-4.995973482429441e-06);
  p = p * c + {{F}}(0.00021826410579837535);
  p = p * c + {{F}}(-0.0012527079837898047);
  p = p * c + {{F}}(-0.004177325067328994);
  p = p * c + {{F}}(0.24664027675581693);
  p = p * c + {{F}}(1.50140935174679);
  let s = sqrt(clamp(w, {{F}}(4.84), {{F}}(38.0))) - {{F}}(4.2);
  var q = {{F}}(4.2968890211635216e-08) * s + {{F}}(-1.7419382436482442e-07);
  q = q * s + {{F}}(-7.696764491068715e-09);
  q = q * s + {{F}}(1.0861035386720692e-06);
  q = q * s + {{F}}(-3.688945040301682e-06);
  q = q * s + {{F}}(1.4917864195004692e-05);
  q = q * s + {{F}}(-6.211641200244429e-05);
  q = q * s + {{F}}(0.00022312021402264462);
  q = q * s + {{F}}(-0.0006484545720328504);
  q = q * s + {{F}}(0.0008055941787464114);
  q = q * s + {{F}}(1.0099026981396537);
  q = q * s + {{F}}(4.041726335037073);
  let y = select(q, p * a, w < {{F}}(5.0));
  let n = min(y, {{F}}(1.0));
  let square = exp_square_{{W}}(y, {{F}}(1.0), {{I}}(0));
  let rest = ({{F}}(1.0) - a) - square * erfcx_{{W}}(max(y, {{F}}(0.45)), {{F}}(0.0));
  let e = select(rest, n * erf_ratio_{{W}}(n) + (n - a), a < {{F}}(0.5));
  let d = e / (square * {{F}}(1.1283791670955126));
  let r = with_sign_{{W}}(y - d / ({{F}}(1.0) + y * d), x);
  let b = bitcast<{{U}}>(x);
  let inf = bitcast<{{F}}>((b & {{U}}({{SIGN}})) | {{U}}({{INF}}));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | b);
  let zero = select(r, x, a == {{F}}(0.0));
  return select(select(select(nan, inf, a == {{F}}(1.0)), zero, a < {{F}}(1.0)), x, isnan_{{W}}(x));
}

//@ lgamma_middle64:
// lgamma(x) for 0.65 <= x <= 3, both roots divided out.
fn lgamma_middle_{{W}}(x: {{F}}) -> {{F}} {
  let u = min(x, {{F}}(1.5)) - {{F}}(1.0);
  var p = {{F}}(0.009682279872523661) * u + {{F}}(-0.027634710561239312);
  p = p * u + {{F}}(0.032995346388837964);
  p = p * u + {{F}}(-0.024442629382142863);
  p = p * u + {{F}}(0.019790523034572155);
  p = p * u + {{F}}(-0.022815355901304984);
  p = p * u + {{F}}(0.02606790534551385);
  p = p * u + {{F}}(-0.027364002459490753);
  p = p * u + {{F}}(0.02853143524783881);
  p = p * u + {{F}}(-0.030230693808823688);
  p = p * u + {{F}}(0.03222293303208082);
  p = p * u + {{F}}(-0.034446886032231436);
  p = p * u + {{F}}(0.03698993333289723);
  p = p * u + {{F}}(-0.03994278243462605);
  p = p * u + {{F}}(0.04341086052667044);
  p = p * u + {{F}}(-0.04754313840789425);
  p = p * u + {{F}}(0.052556325397635786);
  p = p * u + {{F}}(-0.05877794118341511);
  p = p * u + {{F}}(0.06673172822086285);
  p = p * u + {{F}}(-0.07731816853369576);
  p = p * u + {{F}}(0.09223900846498465);
  p = p * u + {{F}}(-0.11514654256382777);
  p = p * u + {{F}}(0.15543426586395057);
  p = p * u + {{F}}(-0.24525136852258037);
  p = p * u + {{F}}(0.5772156649015329);
  let v = max(x, {{F}}(1.5)) - {{F}}(2.0);
  var q = {{F}}(6.554808064687048e-10) * v + {{F}}(-5.138163726332972e-09);
  q = q * v + {{F}}(1.898231678800831e-08);
  q = q * v + {{F}}(-4.671277438684123e-08);
  q = q * v + {{F}}(9.569479177487119e-08);
  q = q * v + {{F}}(-1.9262777878916634e-07);
  q = q * v + {{F}}(4.018336850960933e-07);
  q = q * v + {{F}}(-8.517039271114264e-07);
  q = q * v + {{F}}(1.8083248475354548e-06);
  q = q * v + {{F}}(-3.847746671362721e-06);
  q = q * v + {{F}}(8.222235453518717e-06);
  q = q * v + {{F}}(-1.7661605004103855e-05);
  q = q * v + {{F}}(3.816887169125324e-05);
  q = q * v + {{F}}(-8.309513292323326e-05);
  q = q * v + {{F}}(0.00018255264138834407);
  q = q * v + {{F}}(-0.0004057073971785049);
  q = q * v + {{F}}(0.0009153769221028377);
  q = q * v + {{F}}(-0.002108130833963742);
  q = q * v + {{F}}(0.0049986411647018735);
  q = q * v + {{F}}(-0.012384192193371203);
  q = q * v + {{F}}(0.032965000621155774);
  q = q * v + {{F}}(-0.10031730167435392);
  q = q * v + {{F}}(0.42278433509846713);
  return select(q, p, x < {{F}}(1.5)) * (x - {{F}}(1.0)) * (x - {{F}}(2.0));
}

//@ lgamma_large64: log64
// lgamma(x) for x >= 3: the root at 2 divided out up to 8, then Stirling's series.
fn lgamma_large_{{W}}(x: {{F}}) -> {{F}} {
  let t = min(x, {{F}}(8.0)) - {{F}}(5.5);
  var s = {{F}}(-1.4043036807909399e-22) * t + {{F}}(7.966476206462359e-22);
  s = s * t + {{F}}(1.8394860367249493e-21);
  s = s * t + {{F}}(-1.0376395827458123e-20);
  s = s * t + {{F}}(-7.070843120100699e-20);
  s = s * t + {{F}}(4.0261456195978965e-19);
  s = s * t + {{F}}(-7.41998553202447e-19);
  s = s * t + {{F}}(4.2986447777036684e-18);
  s = s * t + {{F}}(-3.7263806025744754e-17);
  s = s * t + {{F}}(2.1531203609919974e-16);
  s = s * t + {{F}}(-1.1806872849366773e-15);
  s = s * t + {{F}}(6.8762387056112395e-15);
  s = s * t + {{F}}(-4.047025547301509e-14);
  s = s * t + {{F}}(2.377136468479191e-13);
  s = s * t + {{F}}(-1.4031161043006204e-12);
  s = s * t + {{F}}(8.338782029466222e-12);
  s = s * t + {{F}}(-4.9928923297835635e-11);
  s = s * t + {{F}}(3.0160402704153863e-10);
  s = s * t + {{F}}(-1.8414801136145272e-09);
  s = s * t + {{F}}(1.1391716883510726e-08);
  s = s * t + {{F}}(-7.16327292069688e-08);
  s = s * t + {{F}}(4.599280423334874e-07);
  s = s * t + {{F}}(-3.0349497367028446e-06);
  s = s * t + {{F}}(2.0787575105592756e-05);
  s = s * t + {{F}}(-0.0001502115632149057);
  s = s * t + {{F}}(0.001179515166080624);
  s = s * t + {{F}}(-0.010729794334832494);
  s = s * t + {{F}}(0.13722547366672755);
  s = s * t + {{F}}(1.1308039907482046);
  let u = {{F}}(1.0) / max(x, {{F}}(8.0));
  let z = u * u;
  var w = {{F}}(0.17964437236883057) * z + {{F}}(-0.029550653594771242);
  w = w * z + {{F}}(0.00641025641025641);
  w = w * z + {{F}}(-0.0019175269175269176);
  w = w * z + {{F}}(0.0008417508417508417);
  w = w * z + {{F}}(-0.0005952380952380953);
  w = w * z + {{F}}(0.0007936507936507937);
  w = w * z + {{F}}(-0.002777777777777778);
  w = w * z + {{F}}(0.08333333333333333);
  let big = (x - {{F}}(0.5)) * (log_{{W}}(x) - {{F}}(1.0)) + (w * u + {{F}}(0.4189385332046727));
  return select(big, s * (x - {{F}}(2.0)), x < {{F}}(8.0));
}

//@ lgamma64: lgamma_middle64 lgamma_large64 sin_pi64 log64 isnan64
// log |gamma(x)|. Around zero by lgamma(1 + x) - log |x|; below -0.35 by the reflection
// pi / (|x sin(pi x)| gamma(|x|)), x less the nearest whole number being exact. At the roots of negative operands the
// terms cancel: there the error is relative to them.
fn lgamma_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let low = a < {{F}}(0.65);
  let near = low & (x > {{F}}(-0.35));
  let m = select(a, {{F}}(1.0) + select(a, x, near), low);
  let middle = lgamma_middle_{{W}}(clamp(m, {{F}}(0.65), {{F}}(3.0)));
  let positive = select(lgamma_large_{{W}}(max(m, {{F}}(3.0))), middle, m < {{F}}(3.0));
  let shifted = positive - select({{F}}(0.0), log_{{W}}(a), low);
  let whole = a >= {{F}}(4503599627370496.0);
  let f = select(a - floor(a + {{F}}(0.5)), {{F}}(0.0), whole);
  let reflected = -log_{{W}}(a * abs(sin_pi_{{W}}(f))) - shifted;
  let r = select(shifted, reflected, (x < {{F}}(0.0)) & !near);
  let inf = bitcast<{{F}}>({{U}}({{INF}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let pole = (bitcast<{{U}}>(a) == {{U}}({{INF}})) | ((x < {{F}}(0.0)) & (f == {{F}}(0.0))) | (a == {{F}}(0.0));
  return select(select(select(r, {{F}}(0.0), x == {{F}}(1.0)), inf, pole), x, isnan_{{W}}(x));
}

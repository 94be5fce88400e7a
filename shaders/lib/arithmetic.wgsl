// Division, remainders, whole powers. Each section starts with `//@ name: sections it needs` and is expanded at vector
// width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.

//@ div_f:
// Rounded correctly whatever the driver's / does (WebGPU grants it 2.5 ulp): the candidate's residual is exact in
// integers modulo 2^32, since it is small, and tells how many units the candidate is off. A quotient of 24 bits never
// lies halfway between two others. Operands or results that are no normal numbers are left to the driver, whose
// divisor is scaled down where a reciprocal would be flushed.
fn div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let ba = bitcast<{{U}}>(a);
  let bb = bitcast<{{U}}>(b);
  let sign = (ba ^ bb) & {{U}}(0x80000000u);
  let ea = {{I}}((ba >> {{U}}(23u)) & {{U}}(0xffu));
  let eb = {{I}}((bb >> {{U}}(23u)) & {{U}}(0xffu));
  let ma = (ba & {{U}}(0x7fffffu)) | {{U}}(0x800000u);
  let mb = (bb & {{U}}(0x7fffffu)) | {{U}}(0x800000u);
  let less = ma < mb;
  let n = select(ma, ma << {{U}}(1u), less);
  let r = {{F}}(8388608.0) / {{F}}(mb);
  var q = {{U}}({{F}}(n) * r);
  var rest = bitcast<{{I}}>((n << {{U}}(23u)) - q * mb);
  let off = {{I}}(floor({{F}}(rest) * r * {{F}}(1.1920929e-7) + {{F}}(0.5)));
  q = q + bitcast<{{U}}>(off);
  rest = rest - off * bitcast<{{I}}>(mb);
  let half = bitcast<{{I}}>(mb >> {{U}}(1u));
  let up = {{U}}(rest > half) - {{U}}(rest < -half);
  let e = ea - eb + select({{I}}(126), {{I}}(125), less);
  let bits = ({{U}}(max(e, {{I}}(0))) << {{U}}(23u)) + (q + up);
  let large = bits >= {{U}}(0x7f800000u);
  let exact = bitcast<{{F}}>(sign | select(bits, {{U}}(0x7f800000u), large));
  let normal = (ea - {{I}}(1) < {{I}}(254)) & (eb - {{I}}(1) < {{I}}(254)) & (ea > {{I}}(0)) & (eb > {{I}}(0));
  let s = select({{F}}(1.0), {{F}}(5.9604644775390625e-8), abs(b) > {{F}}(8.507059e37));
  return select((a * s) / (b * s), exact, normal & (e >= {{I}}(0)));
}

//@ div_f!:
// Markstein's, for mantissas from 1 to 2: two corrections of a quotient by its residual, which an fma gives exactly.
fn div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let ba = bitcast<{{U}}>(a);
  let bb = bitcast<{{U}}>(b);
  let ea = {{I}}((ba >> {{U}}(23u)) & {{U}}(0xffu));
  let eb = {{I}}((bb >> {{U}}(23u)) & {{U}}(0xffu));
  let n = bitcast<{{F}}>((ba & {{U}}(0x7fffffu)) | {{U}}(0x3f800000u));
  let d = bitcast<{{F}}>((bb & {{U}}(0x7fffffu)) | {{U}}(0x3f800000u));
  let near = {{F}}(1.0) / d;
  let r = fma(near, fma(-d, near, {{F}}(1.0)), near);
  let q0 = n * r;
  let q1 = fma(fma(-d, q0, n), r, q0);
  let q = bitcast<{{U}}>(fma(fma(-d, q1, n), r, q1));
  let e = {{I}}(q >> {{U}}(23u)) + ea - eb;
  let sign = (ba ^ bb) & {{U}}(0x80000000u);
  let exact = bitcast<{{F}}>(sign | ((q & {{U}}(0x7fffffu)) | ({{U}}(e) << {{U}}(23u))));
  let fits = (ea - {{I}}(1) < {{I}}(254)) & (eb - {{I}}(1) < {{I}}(254)) & (ea > {{I}}(0)) & (eb > {{I}}(0)) &
             (e > {{I}}(0)) & (e < {{I}}(255));
  if ({{ALL}}(fits)) { return exact; }
  let s = select({{F}}(1.0), {{F}}(5.9604644775390625e-8), abs(b) > {{F}}(8.507059e37));
  return select((a * s) / (b * s), exact, fits);
}

//@ recip_f*: div_f
fn recip_f_{{W}}(x: {{F}}) -> {{F}} {
  return div_f_{{W}}({{F}}(1.0), x);
}

//@ sqrt_f: isnan
// Rounded correctly, by the same means as div_f: the root of m 2^23 or m 2^24 for the mantissa m, its residual exact
// modulo 2^32. A denormal operand is scaled up, or flushed to a zero of its sign.
fn sqrt_f_{{W}}(x: {{F}}) -> {{F}} {
  let tiny = (bitcast<{{U}}>(x) & {{U}}(0x7fffffffu)) < {{U}}(0x00800000u);
  let y = select(x, x * {{F}}(16777216.0), tiny);
  let b = bitcast<{{U}}>(y);
  let odd = b & {{U}}(0x00800000u);
  let m = ((b & {{U}}(0x7fffffu)) | {{U}}(0x800000u)) << ({{U}}(1u) - (odd >> {{U}}(23u)));
  let near = sqrt({{F}}(m) * {{F}}(1.1920929e-7));
  var q = {{U}}(near * {{F}}(8388608.0));
  var rest = bitcast<{{I}}>((m << {{U}}(23u)) - q * q);
  let off = {{I}}(floor({{F}}(rest) * {{F}}(5.9604645e-8) / near + {{F}}(0.5)));
  rest = rest - off * (bitcast<{{I}}>(q + q) + off);
  q = q + bitcast<{{U}}>(off);
  let i = bitcast<{{I}}>(q);
  q = q + {{U}}(rest > i) - {{U}}(rest <= -i);
  // Half the exponent, biased: q has the implicit bit, and scaling by 2^24 comes off as 2^12.
  let e = ((b >> {{U}}(23u)) + {{U}}(127u)) >> {{U}}(1u);
  let bits = ((e - {{U}}(1u)) << {{U}}(23u)) + q;
  let root = bitcast<{{F}}>(bits) * select({{F}}(1.0), {{F}}(0.000244140625), tiny);
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (b & {{U}}(0u)));
  let r = select(root, y, (y == {{F}}(0.0)) | (b == {{U}}(0x7f800000u)) | isnan_{{W}}(x));
  return select(r, nan, y < {{F}}(0.0));
}

//@ sqrt_f!: isnan
// Markstein's: the residual of a root comes exactly from an fma. What is small is scaled, so that its residual is no
// denormal number; denormal operands are scaled, too, or flushed to a zero of their sign.
fn sqrt_f_{{W}}(x: {{F}}) -> {{F}} {
  let b = bitcast<{{U}}>(x);
  let tiny = (b & {{U}}(0x7fffffffu)) < {{U}}(0x0d000000u);
  let y = select(x, x * {{F}}(16777216.0), tiny);
  let r = inverseSqrt(y);
  let s = min(y * r, {{F}}(1.9e19));  // a bound, so that compilers cannot take y out of the residual
  let near = fma(fma(-s, s, y), {{F}}(0.5) * r, s);
  let root = near * select({{F}}(1.0), {{F}}(0.000244140625), tiny);
  let nan = bitcast<{{F}}>({{U}}(0x7fc00000u) | (b & {{U}}(0u)));
  let same = (y == {{F}}(0.0)) | (b == {{U}}(0x7f800000u)) | isnan_{{W}}(x);
  return select(select(root, y, same), nan, y < {{F}}(0.0));
}

//@ rsqrt_f*: sqrt_f recip_f
fn rsqrt_f_{{W}}(x: {{F}}) -> {{F}} {
  return recip_f_{{W}}(sqrt_f_{{W}}(x));
}

//@ floor_div_i*:
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

//@ floor_mod_i*: floor_div_i
fn floor_mod_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  return select(a - b * floor_div_i_{{W}}(a, b), {{I}}(0), b == {{I}}(0));
}

//@ floor_div_u*:
fn floor_div_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  let zero = b == {{U}}(0);
  return select(a / select(b, {{U}}(1), zero), {{U}}(0), zero);
}

//@ floor_mod_u*: floor_div_u
fn floor_mod_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  return select(a - b * floor_div_u_{{W}}(a, b), {{U}}(0), b == {{U}}(0));
}

//@ fmod_lifted*:
// The remainder of |a| by |b|, finite and b not zero, times 2^lift: exact, by long division of the mantissas in
// integers, as many bits a step as exponents have (the shifts of Sun's e_fmod). Denormals are told apart, whatever the
// device makes of them.
fn fmod_lifted_{{W}}(a: {{F}}, b: {{F}}, lift: {{I}}) -> {{F}} {
  let one = {{I}}(1);
  let ba = bitcast<{{I}}>(a) & bitcast<{{I}}>({{U}}({{MAGNITUDE}}));
  let bb = bitcast<{{I}}>(b) & bitcast<{{I}}>({{U}}({{MAGNITUDE}}));
  let ea = max(ba >> {{U32}}({{FRACTION}}u), one);
  let eb = max(bb >> {{U32}}({{FRACTION}}u), one);
  let d = {{U}}(bb - ((eb - one) << {{U32}}({{FRACTION}}u)));
  var r = {{U}}(ba - ((ea - one) << {{U32}}({{FRACTION}}u)));
  let start = ea - eb;
  var left = max(start, {{I}}(0));
  var count = {{MAXSTART}};
  r = select(r, r - r / d * d, start >= {{I}}(0));
  loop {
    if (count <= 0) { break; }
    let step = min(left, {{I}}({{EXPONENT}}));
    let shifted = r << {{U32}}(step);
    r = select(r, shifted - shifted / d * d, step > {{I}}(0));
    left = left - step;
    count = count - {{EXPONENT}};
  }
  let e = min(ea, eb) + lift;
  let top = {{I}}(bitcast<{{U}}>({{F}}(r)) >> {{U32}}({{FRACTION}}u));
  let z = min({{I}}({{BIAS}} + {{FRACTION}}) - top, e - one);
  let bits = ({{U}}(e - one - z) << {{U32}}({{FRACTION}}u)) + (r << {{U32}}(z));
  return bitcast<{{F}}>(select(bits, {{U}}(0), r == {{U}}(0)));
}

//@ fmod_signed*: fmod_lifted isnan
// With the sign of a, as C's fmod, times 2^lift where b is finite.
fn fmod_signed_{{W}}(a: {{F}}, b: {{F}}, lift: {{I}}) -> {{F}} {
  let ba = bitcast<{{U}}>(a) & {{U}}({{MAGNITUDE}});
  let bb = bitcast<{{U}}>(b) & {{U}}({{MAGNITUDE}});
  let finite = (ba < {{U}}({{INF}})) & (bb != {{U}}(0));
  let ok = finite & (bb < {{U}}({{INF}}));
  let m = fmod_lifted_{{W}}(select({{F}}(1.0), a, ok), select({{F}}(1.0), b, ok), select({{I}}(0), lift, ok));
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(m) | (bitcast<{{U}}>(a) & {{U}}({{SIGN}})));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | ba);
  return select(select(nan, a, finite & (bb == {{U}}({{INF}}))), signed, ok);
}

//@ fmod_f*: fmod_signed
fn fmod_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  return fmod_signed_{{W}}(a, b, {{I}}(0));
}

//@ floor_mod_f*: fmod_signed
// Where the divisor is small, at 2^64 times the size: the remainder may be denormal, its sum with the divisor is not.
fn floor_mod_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let small = abs(b) < {{F}}(5.421010862427522e-20);
  let m = fmod_signed_{{W}}(a, b, select({{I}}(0), {{I}}(64), small));
  let sum = m + b * select({{F}}(1.0), {{F}}(18446744073709551616.0), small);
  let zero = (bitcast<{{U}}>(m) & {{U}}({{MAGNITUDE}})) == {{U}}(0);
  let differs = !zero & ((bitcast<{{I}}>(m) ^ bitcast<{{I}}>(b)) < {{I}}(0));
  let r = select(m, sum, differs) * select({{F}}(1.0), {{F}}(5.421010862427522e-20), small);
  return select(r, bitcast<{{F}}>(bitcast<{{U}}>(b) & {{U}}({{SIGN}})), zero);
}

//@ floor_div_f*: fmod_f div_f
// As Python's float division: (a - mod) / b rounded to the nearest whole number. Small operands are scaled up, so that
// neither difference nor remainder is denormal where it counts.
fn floor_div_f_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let small = (abs(a) < {{F}}(1.0)) & (abs(b) < {{F}}(1.0));
  let scale = select({{F}}(1.0), {{F}}(18446744073709551616.0), small);
  let x = a * scale;
  let y = b * scale;
  let m = fmod_f_{{W}}(x, y);
  let differs = (m != {{F}}(0.0)) & ((m < {{F}}(0.0)) != (b < {{F}}(0.0)));
  let d = div_f_{{W}}(x - m, y);
  let q = select(d, d - {{F}}(1.0), differs);
  let f = floor(q);
  let r = select(f, f + {{F}}(1.0), q - f > {{F}}(0.5));
  let z = bitcast<{{F}}>((bitcast<{{U}}>(a) ^ bitcast<{{U}}>(b)) & {{U}}({{SIGN}}));
  return select(select(r, z, q == {{F}}(0.0)), x / y, y == {{F}}(0.0));
}

//@ pow_u*:
fn pow_u_{{W}}(x: {{U}}, y: {{U}}) -> {{U}} {
  var n = y;
  var base = x;
  var r = {{U}}(1);
  for (var i = 0; i < {{BITS}}; i = i + 1) {
    r = select(r, r * base, (n & {{U}}(1)) == {{U}}(1));
    base = base * base;
    n = n >> {{U32}}(1u);
  }
  return r;
}

//@ pow_i*: pow_u
fn pow_i_{{W}}(x: {{I}}, y: {{I}}) -> {{I}} {
  let up = bitcast<{{I}}>(pow_u_{{W}}(bitcast<{{U}}>(x), bitcast<{{U}}>(max(y, {{I}}(0)))));
  let one = select({{I}}(1), x, (y & {{I}}(1)) == {{I}}(1));
  let down = select({{I}}(0), one, abs(x) == {{I}}(1));
  return select(up, down, y < {{I}}(0));
}

//@ fmod_i*:
// Remainder with the sign of a, as C's %.
fn fmod_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  let wild = (b == {{I}}(0)) | (b == {{I}}(-1));
  let d = select(b, {{I}}(1), wild);
  return select(a - d * (a / d), {{I}}(0), wild);
}

//@ gcd_u*:
// Euclid's algorithm: at most 47 steps for 32 bits, 93 for 64.
fn gcd_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  var x = a;
  var y = b;
  for (var i = 0; i < 96; i = i + 1) {
    if ({{ALL}}(y == {{U}}(0))) { break; }
    let d = select(y, {{U}}(1), y == {{U}}(0));
    let r = x - d * (x / d);
    x = select(y, x, y == {{U}}(0));
    y = select(r, {{U}}(0), y == {{U}}(0));
  }
  return x;
}

//@ gcd_i*: gcd_u
fn gcd_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  return bitcast<{{I}}>(gcd_u_{{W}}(bitcast<{{U}}>(abs(a)), bitcast<{{U}}>(abs(b))));
}

//@ lcm_u*: gcd_u
fn lcm_u_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  return a / max(gcd_u_{{W}}(a, b), {{U}}(1)) * b;
}

//@ lcm_i*: lcm_u
fn lcm_i_{{W}}(a: {{I}}, b: {{I}}) -> {{I}} {
  return bitcast<{{I}}>(lcm_u_{{W}}(bitcast<{{U}}>(abs(a)), bitcast<{{U}}>(abs(b))));
}

//@ hypot: sqrt_f isnan isinf
// Scaled by a power of two to the size of 1, so that squares neither overflow nor vanish.
fn hypot_{{W}}(a: {{F}}, b: {{F}}) -> {{F}} {
  let m = max(bitcast<{{U}}>(a) & {{U}}(0x7f800000u), bitcast<{{U}}>(b) & {{U}}(0x7f800000u));
  let e = clamp(m, {{U}}(0x00800000u), {{U}}(0x7e000000u));
  let down = bitcast<{{F}}>({{U}}(0x7f000000u) - e);
  let x = a * down;
  let y = b * down;
  let r = sqrt_f_{{W}}(x * x + y * y) * bitcast<{{F}}>(e);
  let inf = bitcast<{{F}}>({{U}}(0x7f800000u) | (m & {{U}}(0u)));
  let nan = select(r, abs(a) + abs(b), isnan_{{W}}(a) | isnan_{{W}}(b));
  return select(nan, inf, isinf_{{W}}(a) | isinf_{{W}}(b));
}

//@ cbrt: isfinite
// As Sun's s_cbrt: a third of the exponent as the first guess, here one step of Newton's, and a guess of 8 bits, whose
// cube is exact; then the series of the cube root of 1 + u for what the cube lacks.
fn cbrt_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let tiny = bitcast<{{U}}>(a) < {{U}}(0x00800000u);
  let y = bitcast<{{U}}>(select(a, a * {{F}}(16777216.0), tiny));
  // x = m 2^(3 k), 1 <= m < 8, with k above zero by 43.
  let e = (y >> {{U}}(23u)) + {{U}}(2u);
  let k = e / {{U}}(3u);
  let m = bitcast<{{F}}>((y & {{U}}(0x007fffffu)) + ((e - k * {{U}}(3u) + {{U}}(127u)) << {{U}}(23u)));
  let g = bitcast<{{F}}>(bitcast<{{U}}>(m) / {{U}}(3u) + {{U}}(0x2a5119f2u));
  let n = g - (g * g * g - m) / ({{F}}(3.0) * g * g);
  let c = bitcast<{{F}}>((bitcast<{{U}}>(n) + {{U}}(0x8000u)) & {{U}}(0xffff0000u));
  let cube = c * c * c;
  let u = (m - cube) / cube;
  let s = ((({{F}}(-4.11522634e-2) * u + {{F}}(6.17283951e-2)) * u - {{F}}(1.11111111e-1)) * u + {{F}}(3.33333333e-1)) * u;
  let scale = bitcast<{{F}}>((k + select({{U}}(84u), {{U}}(76u), tiny)) << {{U}}(23u));
  let r = (s * c + c) * scale;
  let signed = bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}(0x80000000u)));
  let zero = bitcast<{{F}}>(bitcast<{{U}}>(x) & {{U}}(0x80000000u));
  return select(x, select(signed, zero, bitcast<{{F}}>(y) == {{F}}(0.0)), isfinite_{{W}}(x));
}

//@ exponent_plus:
// x 2^n for finite x and n that do not overflow: by the exponent where operand and result are normal, since compilers
// move products past sums.
fn exponent_plus_{{W}}(x: {{F}}, n: {{I}}) -> {{F}} {
  let b = bitcast<{{I}}>(x);
  let e = (b >> {{U}}(23u)) & {{I}}(0xff);
  let denormal = (e == {{I}}(0)) | (e + n < {{I}}(1));
  let product = x * bitcast<{{F}}>(({{I}}(127) + n) << {{U}}(23u));
  return select(bitcast<{{F}}>(b + (n << {{U}}(23u))), product, denormal);
}

//@ lerp: exponent_plus isfinite isinf
// From the nearer end, so that both ends are exact and equal ends stay; where the distance is not finite, as a weighted
// sum, in which a finite end beside an infinite one is made small, lest its product overflow. Where an end is tiny, all
// is scaled up, as a term may be denormal; beyond the ends, large ones are scaled down, as a term may overflow alone.
fn lerp_{{W}}(start: {{F}}, end: {{F}}, w: {{F}}) -> {{F}} {
  let large = {{F}}(1.2676506002282294e30);
  let most = max(abs(start), abs(end));
  let finite = isfinite_{{W}}(start) & isfinite_{{W}}(end);
  let tiny = finite & (most * max(abs(w), {{F}}(1.0)) < large) & (min(abs(start), abs(end)) < {{F}}(7.888609052210118e-31));
  let down = finite & (most > large) & ((w < {{F}}(0.0)) | (w > {{F}}(1.0)));
  let n = select(select({{I}}(0), {{I}}(24), tiny), {{I}}(-24), down);
  let scaled = n != {{I}}(0);
  let a = select(start, exponent_plus_{{W}}(start, n), scaled);
  let b = select(end, exponent_plus_{{W}}(end, n), scaled);
  let d = b - a;
  let v = {{F}}(1.0) - w;
  let back = bitcast<{{F}}>(({{I}}(127) - n) << {{U}}(23u));
  let r = select(b - v * d, a + w * d, w < {{F}}(0.5)) * back;
  let s = select(a, clamp(a, {{F}}(-1.0), {{F}}(1.0)), isinf_{{W}}(b) & isfinite_{{W}}(a));
  let e = select(b, clamp(b, {{F}}(-1.0), {{F}}(1.0)), isinf_{{W}}(a) & isfinite_{{W}}(b));
  return select(v * s + w * e, r, isfinite_{{W}}(d));
}

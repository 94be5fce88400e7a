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

//@ recip_f: div_f
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

//@ rsqrt_f: sqrt_f recip_f
fn rsqrt_f_{{W}}(x: {{F}}) -> {{F}} {
  return recip_f_{{W}}(sqrt_f_{{W}}(x));
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

// Random words, and numbers made of them. Each section starts with `//@ name: sections it needs` and is expanded at
// vector width 1 or 4; see bits.wgsl. Compilers may contract a * b + c: integers and uniforms are right either way.

//@ philox:
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): the block at the
// counter (counter + i, stream, 0). At width 1 only: a block is four words anyway.
fn philox_high(m: vec2<u32>, x: vec2<u32>) -> vec2<u32> {
  let s = vec2<u32>(16u);
  let ml = m & vec2<u32>(0xffffu);
  let mh = m >> s;
  let xl = x & vec2<u32>(0xffffu);
  let xh = x >> s;
  let mid = mh * xl + ((ml * xl) >> s);
  let low = ml * xh + (mid & vec2<u32>(0xffffu));
  return mh * xh + (mid >> s) + (low >> s);
}
fn philox_round(c: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  let m = vec2<u32>(0xd2511f53u, 0xcd9e8d57u);
  let high = philox_high(m, c.xz);
  let low = m * c.xz;
  return vec4<u32>(high.y ^ c.y ^ key.x, low.y, high.x ^ c.w ^ key.y, low.x);
}
fn philox_{{W}}(i: u32, counter: vec2<u32>, stream: u32, key: vec2<u32>) -> vec4<u32> {
  let w = vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  let first = counter.x + i;
  let c0 = vec4<u32>(first, counter.y + select(0u, 1u, first < i), stream, 0u);
  let c1 = philox_round(c0, key);
  let c2 = philox_round(c1, key + w);
  let c3 = philox_round(c2, key + w * 2u);
  let c4 = philox_round(c3, key + w * 3u);
  let c5 = philox_round(c4, key + w * 4u);
  let c6 = philox_round(c5, key + w * 5u);
  let c7 = philox_round(c6, key + w * 6u);
  let c8 = philox_round(c7, key + w * 7u);
  let c9 = philox_round(c8, key + w * 8u);
  return philox_round(c9, key + w * 9u);
}

//@ unit:
// Exact: at most 24 bits, times a power of two.
fn unit_{{W}}(w: {{U}}, shift: {{U}}) -> {{F}} {
  return {{F}}(w >> shift) * bitcast<{{F}}>((shift + {{U}}(95u)) << {{U}}(23u));
}

//@ unit64:
// (hi 2^21 + lo / 2^11) / 2^53, exactly.
fn unit_{{W}}(hi: {{U32}}, lo: {{U32}}) -> {{F64}} {
  return ({{F64}}(hi) * {{F64}}(2097152.0) + {{F64}}(lo >> {{U32}}(11u))) * {{F64}}(1.1102230246251565e-16);
}

//@ minus_log: log
// Of u = w / 2^32 by its upper 24 bits; below 2^-8 by all, and 2^-32 for 0. Never 0, and at most 22.2.
fn minus_log_{{W}}(w: {{U}}) -> {{F}} {
  let small = w < {{U}}(0x1000000u);
  let m = select(w >> {{U}}(8u), max(w, {{U}}(1u)), small);
  let scale = select({{F}}(5.9604644775390625e-8), {{F}}(2.3283064365386963e-10), small);
  return -log_{{W}}({{F}}(m) * scale);
}

//@ minus_log64: log64
// Of u = (the upper 52 bits + 1/2) / 2^52.
fn minus_log_{{W}}(hi: {{U32}}, lo: {{U32}}) -> {{F64}} {
  let low = ({{F64}}(lo >> {{U32}}(12u)) + {{F64}}(0.5)) * {{F64}}(2.220446049250313e-16);
  return -log_{{W}}({{F64}}(hi) * {{F64}}(2.3283064365386963e-10) + low);
}

//@ cos_turn: sin_cos
// cos(2 pi w / 2^32): whole quarter turns n, and a rest within an eighth of a turn, which is multiplied by
// pi / 2 = 1.5703125 + 4.838e-4. The first part has 8 bits and the first factor 12.
fn cos_turn_{{W}}(w: {{U}}) -> {{F}} {
  let turned = w + {{U}}(0x20000000u);
  let part = turned & {{U}}(0x3fffffffu);
  let below = part < {{U}}(0x20000000u);
  let rest = select(part - {{U}}(0x20000000u), {{U}}(0x20000000u) - part, below);
  let s = {{F}}(9.313225746154785e-10);
  let f1 = {{F}}(rest & {{U}}(0xfffc0000u)) * s;
  let f2 = {{F}}(rest & {{U}}(0x0003ffffu)) * s;
  let first = f1 * {{F}}(1.5703125);
  let second = f1 * {{F}}(4.83826792e-4) + f2 * {{F}}(1.57079637);
  let r = first + second;
  let l = (first - r) + second;
  return sin_cos_{{W}}((turned >> {{U}}(30u)) + {{U}}(1u), select(r, -r, below), select(l, -l, below));
}

//@ cos_turn64: sin_cos64
// cos(2 pi w / 2^64): as in 32 bits, by the upper 53 of the rest.
fn cos_turn_{{W}}(hi: {{U32}}, lo: {{U32}}) -> {{F64}} {
  let turned = hi + {{U32}}(0x20000000u);
  let part = turned & {{U32}}(0x3fffffffu);
  let below = part < {{U32}}(0x20000000u);
  // The complement in two words: less the lower one and, where that is not zero, one more of the upper.
  let borrow = select({{U32}}(0u), {{U32}}(1u), lo != {{U32}}(0u));
  let upper = select(part - {{U32}}(0x20000000u), {{U32}}(0x20000000u) - part - borrow, below);
  let lower = select(lo, ~lo + {{U32}}(1u), below);
  let f = {{F64}}(upper) * {{F64}}(9.313225746154785e-10) + {{F64}}(lower) * {{F64}}(2.168404344971009e-19);
  let r = f * {{F64}}(1.5707963267948966);
  let l = f * {{F64}}(6.123233995736766e-17);
  let n = {{U}}(turned >> {{U32}}(30u)) + {{U}}(1);
  return sin_cos_{{W}}(n, select(r, -r, below), select(l, -l, below));
}

//@ mul_high:
// Upper 32 bits of a product of words, by halves of 16 bits.
fn mul_high_{{W}}(a: {{U}}, b: {{U}}) -> {{U}} {
  let al = a & {{U}}(0xffffu);
  let ah = a >> {{U}}(16u);
  let bl = b & {{U}}(0xffffu);
  let bh = b >> {{U}}(16u);
  let mid = ah * bl + ((al * bl) >> {{U}}(16u));
  let low = al * bh + (mid & {{U}}(0xffffu));
  return ah * bh + (mid >> {{U}}(16u)) + (low >> {{U}}(16u));
}

//@ below: mul_high
// floor((hi 2^32 + lo) span / 2^64) (Lemire, "Fast random integer generation in an interval", 2019, no rejection).
fn below_{{W}}(hi: {{U}}, lo: {{U}}, span: {{U}}) -> {{U}} {
  let carried = mul_high_{{W}}(lo, span);
  let sum = hi * span + carried;
  return mul_high_{{W}}(hi, span) + select({{U}}(0u), {{U}}(1u), sum < carried);
}

//@ below64:
fn below_{{W}}(hi: {{U32}}, lo: {{U32}}, span: {{U}}) -> {{U}} {
  let half = {{U32}}(32u);
  let mask = {{U}}(0xfffffffflu);
  let h = {{U}}(hi);
  let l = {{U}}(lo);
  let sl = span & mask;
  let sh = span >> half;
  let first = l * sh;
  let second = h * sl;
  let mid = ((l * sl) >> half) + (first & mask) + (second & mask);
  return h * sh + (first >> half) + (second >> half) + (mid >> half);
}

//@ affine: kept
fn affine_{{W}}(x: {{F}}, scale: {{F}}, shift: {{F}}) -> {{F}} {
  return kept_{{W}}(x * scale) + shift;
}

//@ affine64: kept64
fn affine_{{W}}(x: {{F}}, scale: {{F}}, shift: {{F}}) -> {{F}} {
  return kept_{{W}}(x * scale) + shift;
}

// Items are sorted as the bits that they have in memory, the low word first, by unsigned keys in their order: KIND 0
// unsigned and bool, 1 signed, 2 floats, of BITS bits. Both zeros of floats are alike, and NaN is above all, also where
// DESCENDING turns the order round.
fn key_of(w: vec2<u32>) -> vec2<u32> {
//% if BITS == 64
//% if KIND == 2
  let v = vec2<u32>(w.x, w.y{{FLIP}});
  let low = v.y == 0x80000000u && v.x == 0u;
  let negative = v.y >= 0x80000000u && !low;
  let key = select(vec2<u32>(v.x, v.y | 0x80000000u), ~v, negative);
  let high = v.y & 0x7fffffffu;
  let nan = high > {{INF}} || (high == {{INF}} && v.x > 0u);
  return select(key, vec2<u32>(0xffffffffu), nan);
//% elif KIND == 1
  return vec2<u32>(w.x, w.y ^ 0x80000000u){{TURN}};
//% else
  return w{{TURN}};
//% end
//% elif KIND == 2
  let v = w.x{{FLIP}};
  let key = select(v | {{SIGN}}, ~v & {{MASK}}, v > {{SIGN}});
  return vec2<u32>(select(key, {{MASK}}, (v & ({{MASK}} ^ {{SIGN}})) > {{INF}}), 0u);
//% elif KIND == 1
  return vec2<u32>((w.x ^ {{SIGN}}){{TURN}}, 0u);
//% else
  return vec2<u32>(w.x{{TURN}}, 0u);
//% end
}

fn digit_of(w: vec2<u32>, shift: u32, mask: u32) -> u32 {
  let k = key_of(w);
//% if BITS == 64
  return (select(k.x, k.y, shift >= 32u) >> (shift & 31u)) & mask;
//% else
  return (k.x >> shift) & mask;
//% end
}

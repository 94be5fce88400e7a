// Exact sums of float32 in places that are data, by atomics on integers: the same bits in any order (Kulisch's
// accumulator on a GPU: Defour and Collange 2015). A number is an integer times 2^-149. A place has 8 limbs of 64 bits,
// limb i of weight 2^(36 i), in two's complement; a number enters two of them at most. As it has less than 2^36 there,
// 2^27 numbers fit. Limb i lies at (i + 6) % 8, so that a sector of 32 bytes holds limbs 2 to 5: what is between 2^-77
// and 2^67. Each place has COPIES such accumulators, which share its numbers, for many lanes would wait for one.
// FLAGS have 4 bits for each place: NaN, inf, -inf, and 0 on top of a base of -0.
//
// STAGE 0 clears them, 1 enters numbers, 2 adds up groups of copies; exact_round.wgsl makes floats of them.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if STAGE == 0
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let group = wid.z * nwg.x + wid.x;
//% for j in 0..4
  let i{{j}} = group * 1024u + {{256 * j}}u + lid.x;
  if (i{{j}} < {{QUARTERS}}) { {{LIMBS}}[i{{j}}] = vec4<u32>(0u); }
//% end
  if (i0 - group * 768u < {{FLAG_WORDS}}) { {{FLAGS}}[i0 - group * 768u] = 0u; }
}
//% elif STAGE == 1
fn flag(place: u32, bit: u32) {
  let mine = bit << ((place & 7u) * 4u);
  if ((atomicLoad(&{{FLAGS}}[place >> 3u]) & mine) == 0u) { atomicOr(&{{FLAGS}}[place >> 3u], mine); }
}

fn add_limb(at: u32, limb: vec2<u32>) {
//% if WIDE
  atomicAdd(&{{LIMBS}}[at], (u64(limb.y) << 32u) | u64(limb.x));
//% else
  let before = atomicAdd(&{{LIMBS}}[2u * at], limb.x);
  let high = limb.y + select(0u, 1u, before > 0xffffffffu - limb.x);
  if (high != 0u) { atomicAdd(&{{LIMBS}}[2u * at + 1u], high); }
//% end
}

fn signed_limb(limb: vec2<u32>, negative: bool) -> vec2<u32> {
  let turned = vec2<u32>(0u - limb.x, ~limb.y + select(0u, 1u, limb.x == 0u));
  return select(limb, turned, negative);
}

// One of `parts` lanes that enter a number: each takes a limb, or one takes both.
fn enter(element: u32, place: u32, bits: u32, part: u32) {
  let at = (element & {{COPIES - 1}}u) * {{PLACES}} + place;
  let size = bits & 0x7fffffffu;
  let negative = bits != size;
  if (size >= 0x7f800000u) {
    flag(place, select(select(2u, 4u, negative), 1u, size > 0x7f800000u));
  } else if (size == 0u) {
    if (!negative && base_bits(place) == 0x80000000u) { flag(place, 8u); }
  } else {
    let exponent = max(size >> 23u, 1u) - 1u;
    let mantissa = (size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u);
    let limb = exponent / 36u;
    let shift = exponent - limb * 36u;
    let far = shift >= 32u;
    let up = shift & 31u;
    let over = (mantissa >> 1u) >> (31u - up);
    let low = select(mantissa << up, 0u, far);
    let high = select(over, mantissa << up, far);
//% if PARTS == 2
    let mine = select(vec2<u32>(low, high & 15u), vec2<u32>(high >> 4u, 0u), part == 1u);
    if ((mine.x | mine.y) != 0u) {
      add_limb(at * 8u + ((limb + 6u + part) & 7u), signed_limb(mine, negative));
    }
//% else
    add_limb(at * 8u + ((limb + 6u) & 7u), signed_limb(vec2<u32>(low, high & 15u), negative));
    if (high > 15u) {
      add_limb(at * 8u + ((limb + 7u) & 7u), signed_limb(vec2<u32>(high >> 4u, 0u), negative));
    }
//% end
  }
}

//% let STEP = 256 / PARTS
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let first = (wid.z * nwg.x + wid.x) * {{STEP * TURNS}}u + lid.x / {{PARTS}}u;
  let part = lid.x % {{PARTS}}u;
  // All reads are on their way before the first atomic.
//% for j in 0..TURNS
  let t{{j}} = first + {{j * STEP}}u;
  var place{{j}} = 0u;
  var bits{{j}} = 0x80000000u;
  if (t{{j}} < {{COUNT}}) {
    let r = t{{j}} / {{ELEMENTS}};
    let o = t{{j}} - r * {{ELEMENTS}};
    let row = segment_of(r, o);
    if (row < {{ROWS}}) {
      place{{j}} = row * {{ELEMENTS}} + o;
      bits{{j}} = bitcast<u32>(load(r, o));
    }
  }
//% end
//% for j in 0..TURNS
  enter(t{{j}}, place{{j}}, bits{{j}}, part);
//% end
}
//% else
// The first of each group of GROUP copies, which lie SPACING places apart, becomes their sum.
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let i = (wid.z * nwg.x + wid.x) * 64u + lid.x;
  let words = {{PLACES}} * 8u;
  let group = i / words;
  if (group >= {{COPIES / GROUP}}u) { return; }
  let first = (group * {{GROUP}}u * {{SPACING}} * 8u + i - group * words) * 2u;
  var low = 0u;
  var high = 0u;
  for (var c = 0u; c < {{GROUP}}u; c += 1u) {
    let at = first + c * {{SPACING}} * 16u;
    let limb = {{LIMBS}}[at];
    low += limb;
    high += {{LIMBS}}[at + 1u] + select(0u, 1u, low < limb);
  }
  {{LIMBS}}[first] = low;
  {{LIMBS}}[first + 1u] = high;
}
//% end

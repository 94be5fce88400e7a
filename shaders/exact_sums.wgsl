// Exact sums of float32 in places that are data, by atomics on integers: the same bits in any order (Kulisch's
// accumulator on a GPU: Defour and Collange 2015). A number is an integer of 24 bits times 2^(position - 149). Places
// have limbs of 64 bits, in two's complement. Where all positions lie close enough together, a place has as few limbs
// as that takes, BITS apart from the first position on, and a number enters one of them. Else it has 8 limbs, 36 bits
// apart from position 0 on, and a number enters two. Each place has COPIES such accumulators, which share its numbers,
// for many lanes would wait for one. FLAGS have 4 bits for each place: NaN, inf, -inf, and 0 on top of a base of -0.
// RANGE: the first position, the limbs or 0 for all 8, and then the least and the greatest position that each group
// of numbers has.
//
// STAGE 0 finds positions, 1 what takes them all; 2 clears accumulators, 3 enters numbers, 4 adds up groups of copies;
// exact_round.wgsl makes floats of them.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if STAGE == 0 || STAGE == 1
//% if LANES > 1
var<workgroup> es_ends: array<vec2<u32>, {{LANES}}>;

fn ends_of_all(lane: u32, mine: vec2<u32>) -> vec2<u32> {
  es_ends[lane] = mine;
  workgroupBarrier();
  for (var half = {{LANES / 2}}u; half > 0u; half = half >> 1u) {
    if (lane < half) {
      let a = es_ends[lane];
      let b = es_ends[lane + half];
      es_ends[lane] = vec2<u32>(min(a.x, b.x), max(a.y, b.y));
    }
    workgroupBarrier();
  }
  return es_ends[0];
}
//% else
fn ends_of_all(lane: u32, mine: vec2<u32>) -> vec2<u32> {
  return mine;
}
//% end
//% end
//% if STAGE == 0
fn ends_with(ends: vec2<u32>, bits: u32) -> vec2<u32> {
  let size = bits & 0x7fffffffu;
  let position = max(size >> 23u, 1u) - 1u;
  let counts = size != 0u && size < 0x7f800000u;
  return select(ends, vec2<u32>(min(ends.x, position), max(ends.y, position)), counts);
}

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  var ends = vec2<u32>(255u, 0u);
  for (var i = wid.x * {{4 * LANES}}u + lid.x; i < {{COUNT}}; i += nwg.x * {{4 * LANES}}u) {
//% for j in 0..4
    let t{{j}} = min(i + {{j * LANES}}u, {{COUNT}} - 1u);
    let r{{j}} = t{{j}} / {{ELEMENTS}};
    let v{{j}} = bitcast<u32>(load(r{{j}}, t{{j}} - r{{j}} * {{ELEMENTS}}));
//% end
//% for j in 0..4
    ends = ends_with(ends, v{{j}});
//% end
  }
  for (var i = wid.x * {{LANES}}u + lid.x; i < {{BASES}}; i += nwg.x * {{LANES}}u) {
    ends = ends_with(ends, base_bits(i));
  }
  let all = ends_of_all(lid.x, ends);
  if (lid.x == 0u) {
    {{RANGE}}[2u * ({{GROUP}} + wid.x) + 2u] = all.x;
    {{RANGE}}[2u * ({{GROUP}} + wid.x) + 3u] = all.y;
  }
}
//% elif STAGE == 1
@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(local_invocation_id) lid: vec3<u32>) {
  var ends = vec2<u32>(255u, 0u);
  for (var i = lid.x + 1u; i <= {{GROUPS}}; i += {{LANES}}u) {
    ends = vec2<u32>(min(ends.x, {{RANGE}}[2u * i]), max(ends.y, {{RANGE}}[2u * i + 1u]));
  }
  let all = ends_of_all(lid.x, ends);
  if (lid.x == 0u) {
    let first = min(all.x, all.y);
    let limbs = (all.y - first) / {{BITS}}u + 1u;
    {{RANGE}}[0] = select(0u, first, limbs <= 8u);
    {{RANGE}}[1] = select(0u, limbs, limbs <= 8u);
  }
}
//% else
fn limb_count() -> u32 {
  return select({{RANGE}}[1], 8u, {{RANGE}}[1] == 0u);
}
//% end
//% if STAGE == 2
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let group = wid.z * nwg.x + wid.x;
  let quarters = ({{ACCUMULATORS}} * limb_count() + 1u) >> 1u;
//% for j in 0..4
  let i{{j}} = group * 1024u + {{256 * j}}u + lid.x;
  if (i{{j}} < quarters) { {{LIMBS}}[i{{j}}] = vec4<u32>(0u); }
//% end
  if (i0 - group * 768u < {{FLAG_WORDS}}) { {{FLAGS}}[i0 - group * 768u] = 0u; }
}
//% elif STAGE == 3
fn flag(place: u32, bit: u32) {
  let mine = bit << ((place & 7u) * 4u);
  if ((atomicLoad(&{{FLAGS}}[place >> 3u]) & mine) == 0u) { atomicOr(&{{FLAGS}}[place >> 3u], mine); }
}

fn add_limb(at: u32, low: u32, high: u32, negative: bool) {
  let l = select(low, 0u - low, negative);
  let h = select(high, ~high + select(0u, 1u, low == 0u), negative);
//% if WIDE
  atomicAdd(&{{LIMBS}}[at], (u64(h) << 32u) | u64(l));
//% else
  let before = atomicAdd(&{{LIMBS}}[2u * at], l);
  let upper = h + select(0u, 1u, before > 0xffffffffu - l);
  if (upper != 0u) { atomicAdd(&{{LIMBS}}[2u * at + 1u], upper); }
//% end
}

fn enter(element: u32, place: u32, bits: u32) {
  let at = ((element & {{COPIES - 1}}u) * {{PLACES}} + place) * limb_count();
  let size = bits & 0x7fffffffu;
  let negative = bits != size;
  if (size >= 0x7f800000u) {
    flag(place, select(select(2u, 4u, negative), 1u, size > 0x7f800000u));
  } else if (size == 0u) {
    if (!negative && base_bits(place) == 0x80000000u) { flag(place, 8u); }
  } else {
    let position = max(size >> 23u, 1u) - 1u;
    let mantissa = (size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u);
    if ({{RANGE}}[1] != 0u) {
      let limb = (position - {{RANGE}}[0]) / {{BITS}}u;
      let up = (position - {{RANGE}}[0]) % {{BITS}}u;
      add_limb(at + limb, mantissa << up, (mantissa >> 1u) >> (31u - up), negative);
    } else {
      let limb = position / 36u;
      let shift = position - limb * 36u;
      let up = shift & 31u;
      let low = select(mantissa << up, 0u, shift >= 32u);
      let high = select((mantissa >> 1u) >> (31u - up), mantissa << up, shift >= 32u);
      add_limb(at + limb, low, high & 15u, negative);
      if (high > 15u) { add_limb(at + limb + 1u, high >> 4u, 0u, negative); }
    }
  }
}

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let first = (wid.z * nwg.x + wid.x) * {{256 * TURNS}}u + lid.x;
  // All reads are on their way before the first atomic.
//% for j in 0..TURNS
  let t{{j}} = first + {{j * 256}}u;
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
  enter(t{{j}}, place{{j}}, bits{{j}});
//% end
}
//% elif STAGE == 4
// The first of each group of GROUP copies, which lie SPACING places apart, becomes their sum.
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let i = (wid.z * nwg.x + wid.x) * 64u + lid.x;
  let limbs = {{PLACES}} * limb_count();
  let group = i / limbs;
  if (group >= {{COPIES / GROUP}}u) { return; }
  let step = 2u * {{SPACING}} * limb_count();
  let first = group * {{GROUP}}u * step + 2u * (i - group * limbs);
  var low = 0u;
  var high = 0u;
  for (var c = 0u; c < {{GROUP}}u; c += 1u) {
    let limb = {{LIMBS}}[first + c * step];
    low += limb;
    high += {{LIMBS}}[first + c * step + 1u] + select(0u, 1u, low < limb);
  }
  {{LIMBS}}[first] = low;
  {{LIMBS}}[first + 1u] = high;
}
//% end

// Exact sums of float32 in places that are data, by atomics on integers: the same bits in any order (Kulisch's
// accumulator on a GPU: Defour and Collange 2015). A number is an integer of 24 bits times 2^(position - 149). Places
// have limbs of 64 bits, in two's complement. Where all positions lie close enough together, a place has as few limbs
// as that takes, BITS apart from the first position on, and a number enters one of them. Else it has 8 limbs, 36 bits
// apart from position 0 on, and a number enters two. Each place has COPIES such accumulators, which share its numbers,
// for many lanes would wait for one. FLAGS have 4 bits for each place: NaN, inf, -inf, and 0 on top of a base of -0.
// RANGE has the least and the greatest position of each group of numbers, CHOICE the first of all, and the limbs or 0
// for all 8.
//
// STAGE 0 finds positions, 1 chooses limbs and clears them, 2 enters numbers, 3 adds up groups of copies;
// exact_round.wgsl makes floats of them.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if STAGE == 0 || STAGE == 1
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
//% end
//% if STAGE == 0 || STAGE == 2
// The row, and the element in it.
fn row_of(t: u32) -> vec2<u32> {
//% if ALONE
  return vec2<u32>(t, 0u);
//% else
  let r = t / {{ELEMENTS}};
  return vec2<u32>(r, t - r * {{ELEMENTS}});
//% end
}

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
//% let TURN = READS * LANES
  for (var i = wid.x * {{TURN}}u + lid.x; i < {{COUNT}}; i += nwg.x * {{TURN}}u) {
//% for j in 0..READS
    let t{{j}} = min(i + {{j * LANES}}u, {{COUNT}} - 1u);
    let r{{j}} = row_of(t{{j}});
    let v{{j}} = bitcast<u32>(load(r{{j}}.x, r{{j}}.y));
//% end
//% for j in 0..READS
    ends = ends_with(ends, v{{j}});
//% end
  }
  for (var i = wid.x * {{TURN}}u + lid.x; i < {{BASES}}; i += nwg.x * {{TURN}}u) {
//% for j in 0..READS
    let b{{j}} = base_bits(min(i + {{j * LANES}}u, {{BASES}} - 1u));
//% end
//% for j in 0..READS
    ends = ends_with(ends, b{{j}});
//% end
  }
  let all = ends_of_all(lid.x, ends);
  if (lid.x == 0u) {
    {{RANGE}}[2u * ({{GROUP}} + wid.x)] = all.x;
    {{RANGE}}[2u * ({{GROUP}} + wid.x) + 1u] = all.y;
  }
}
//% elif STAGE == 1
// Each workgroup finds out how many limbs it takes, and the first one keeps that.
@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  var ends = vec2<u32>(255u, 0u);
  for (var i = lid.x; i < {{GROUPS}}; i += {{LANES}}u) {
    ends = vec2<u32>(min(ends.x, {{RANGE}}[2u * i]), max(ends.y, {{RANGE}}[2u * i + 1u]));
  }
  let all = ends_of_all(lid.x, ends);
  let first = min(all.x, all.y);
  let wanted = (all.y - first) / {{BITS}}u + 1u;
  let close = wanted <= 8u;
  if (wid.x == 0u && lid.x == 0u) {
    {{CHOICE}}[0] = select(0u, first, close);
    {{CHOICE}}[1] = select(0u, wanted, close);
  }
  let quarters = ({{ACCUMULATORS}} * select(8u, wanted, close) + 1u) >> 1u;
  for (var i = wid.x * {{LANES}}u + lid.x; i < quarters; i += nwg.x * {{LANES}}u) {
    {{LIMBS}}[i] = vec4<u32>(0u);
  }
  for (var i = wid.x * {{LANES}}u + lid.x; i < {{FLAG_WORDS}}; i += nwg.x * {{LANES}}u) {
    {{FLAGS}}[i] = 0u;
  }
}
//% elif STAGE == 2
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

// `choice` is the first position, and the limbs.
fn enter(element: u32, place: u32, bits: u32, choice: vec2<u32>) {
  let limbs = select(choice.y, 8u, choice.y == 0u);
  let at = ((element & {{COPIES - 1}}u) * {{PLACES}} + place) * limbs;
  let size = bits & 0x7fffffffu;
  let negative = bits != size;
  if (size >= 0x7f800000u) {
    flag(place, select(select(2u, 4u, negative), 1u, size > 0x7f800000u));
  } else if (size == 0u) {
    if (!negative && base_bits(place) == 0x80000000u) { flag(place, 8u); }
  } else {
    let position = max(size >> 23u, 1u) - 1u;
    let mantissa = (size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u);
    if (choice.y != 0u) {
      let limb = (position - choice.x) / {{BITS}}u;
      let up = (position - choice.x) % {{BITS}}u;
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
  let choice = vec2<u32>({{CHOICE}}[0], {{CHOICE}}[1]);
  // All reads are on their way before the first atomic.
//% for j in 0..TURNS
  let t{{j}} = first + {{j * 256}}u;
  var place{{j}} = 0u;
  var bits{{j}} = 0x80000000u;
  if (t{{j}} < {{COUNT}}) {
    let r = row_of(t{{j}});
    let row = segment_of(r.x, r.y);
    if (row < {{ROWS}}) {
      place{{j}} = row * {{ELEMENTS}} + r.y;
      bits{{j}} = bitcast<u32>(load(r.x, r.y));
    }
  }
//% end
//% for j in 0..TURNS
  enter(t{{j}}, place{{j}}, bits{{j}}, choice);
//% end
}
//% elif STAGE == 3
// The first of each group of GROUP copies, which lie SPACING places apart, becomes their sum.
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let i = (wid.z * nwg.x + wid.x) * 64u + lid.x;
  let count = select({{CHOICE}}[1], 8u, {{CHOICE}}[1] == 0u);
  let limbs = {{PLACES}} * count;
  let group = i / limbs;
  if (group >= {{COPIES / GROUP}}u) { return; }
  let step = 2u * {{SPACING}} * count;
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

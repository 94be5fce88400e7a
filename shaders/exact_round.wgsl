// The accumulators of exact_sums.wgsl, and the base, as floats: each sum is rounded once, to the nearest, ties to even.
// A lane takes a place: it adds up COPIES of its limbs, SPACING places apart, makes digits without carries of them,
// turns them round if they are negative, and rounds what follows the first bit. Few limbs have code of their own. All of it is arithmetic of integers, so
// that numbers which the processor's floats flush are kept.
{{DECLARATIONS}}
{{FUNCTIONS}}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let place = (wid.z * nwg.x + wid.x) * 256u + lid.x;
  if (place >= {{PLACES}}) { return; }
  let start = {{CHOICE}}[0];
  let far = {{CHOICE}}[1] == 0u;
  let limbs = select({{CHOICE}}[1], 8u, far);

  // The base in limbs.
  let base = base_bits(place);
  let size = base & 0x7fffffffu;
  let finite = size < 0x7f800000u;
  let counts = finite && size != 0u;
  let position = select(0u, max(size >> 23u, 1u) - 1u - start, counts);
  let mantissa = select(0u, (size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u), counts);
  let limb = select(position / {{BITS}}u, position / 36u, far);
  let shift = select(position % {{BITS}}u, position % 36u, far);
  let up = shift & 31u;
  let base_low = select(mantissa << up, 0u, shift >= 32u);
  let base_high = select((mantissa >> 1u) >> (31u - up), mantissa << up, shift >= 32u);
  let own = vec2<u32>(base_low, select(base_high, base_high & 15u, far));
  let next = vec2<u32>(select(0u, base_high >> 4u, far), 0u);
  let turn = select(0u, 0xffffffffu, base != size);
  // Of the sum's size: 64 bits that begin with the first that is set or up to 31 before it, whether anything follows
  // them, and the position of the first.
  var upper = 0u;
  var lower = 0u;
  var rest = 0u;
  var top = 0u;
  var negative = false;
  var below = 0u;
  if (far) {
//% let N = 8
//% include exact_limbs.wgsl
    // Digits of 36 bits.
    var carry = 0;
//% for i in 0..8
    let t{{i}} = low{{i}} + bitcast<u32>(carry);
    let u{{i}} = high{{i}} + bitcast<u32>(carry >> 31u) + select(0u, 1u, t{{i}} < low{{i}});
    carry = bitcast<i32>(u{{i}}) >> 4u;
//% end
    negative = carry < 0;
    let ones = select(0u, 0xffffffffu, negative);
    var one = ones & 1u;
//% for i in 0..8
    let x{{i}} = (t{{i}} ^ ones) + one;
    let y{{i}} = ((u{{i}} ^ ones) & 15u) + select(0u, one, x{{i}} == 0u);
    one = y{{i}} >> 4u;
    let d{{i}} = vec2<u32>(x{{i}}, y{{i}} & 15u);
    if ((d{{i}}.x | d{{i}}.y) != 0u) {
      upper = (d{{i}}.y << 28u) | (d{{i}}.x >> 4u);
      lower = d{{i}}.x << 28u;
//% if i > 0
      lower |= (d{{i - 1}}.y << 24u) | (d{{i - 1}}.x >> 8u);
      rest = below | (d{{i - 1}}.x & 255u);
//% end
      top = {{36 * i + 35}}u;
    }
//% if i > 0
    below |= d{{i - 1}}.x | d{{i - 1}}.y;
//% end
//% end
    // Beyond all floats.
    if ((bitcast<u32>(carry) ^ ones) + one != 0u) {
      upper = 0x80000000u;
      top = 400u;
    }
//% if BITS == 16
  } else if (limbs <= 2u) {
//% let N = 2
//% include exact_words.wgsl
//% end
  } else if (limbs <= 4u) {
//% let N = 4
//% include exact_words.wgsl
  } else {
//% let N = 8
//% include exact_words.wgsl
  }

  let zeros = select(countLeadingZeros(lower) + 32u, countLeadingZeros(upper), upper != 0u);
  let by = zeros & 31u;
  let left = (lower >> 1u) >> (31u - by);
  let begins = select((upper << by) | left, lower << by, zeros >= 32u);
  let follows = select(lower << by, 0u, zeros >= 32u) | rest;
  let exponent = top - zeros;
  let half = begins & 255u;
  let above = half > 128u || (half == 128u && (follows | ((begins >> 8u) & 1u)) != 0u);
  let number = ((exponent - 23u) << 23u) + (begins >> 8u) + select(0u, 1u, above);
  // Below 2^24 the integer is its own pattern of bits.
  let small = begins >> (31u - min(exponent, 31u));
  let large = exponent > 276u || number > 0x7f800000u;
  var bits = select(select(number, 0x7f800000u, large), small, exponent < 24u);
  bits = select(0u, bits | select(0u, 0x80000000u, negative), (upper | lower) != 0u);
  var flags = select(select(select(2u, 4u, base != size), 1u, size > 0x7f800000u), 0u, finite);
  flags |= ({{FLAGS}}[place >> 3u] >> ((place & 7u) * 4u)) & 15u;
  if (bits == 0u && base == 0x80000000u && (flags & 8u) == 0u) { bits = base; }
  bits = select(bits, 0x7f800000u, (flags & 2u) != 0u);
  bits = select(bits, 0xff800000u, (flags & 4u) != 0u);
  bits = select(bits, 0x7fc00000u, (flags & 1u) != 0u || (flags & 6u) == 6u);
  {{RESULT}}[place] = bits;
}

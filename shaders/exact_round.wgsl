// The accumulators of exact_sums.wgsl, and the base, as floats: each sum is rounded once, to the nearest, ties to even.
// A lane takes a place: it adds up its COPIES of the limbs, SPACING places apart, makes digits of 36 bits of them,
// turns them round if they are negative, and rounds what follows the first that is not zero. All of it is arithmetic of
// integers, so that numbers which the processor's floats flush are kept.
{{DECLARATIONS}}
{{FUNCTIONS}}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let place = (wid.z * nwg.x + wid.x) * 256u + lid.x;
  if (place >= {{PLACES}}) { return; }
  let base = base_bits(place);
  let size = base & 0x7fffffffu;

  // The base in limbs.
  let finite = size < 0x7f800000u;
  let exponent = select(0u, max(size >> 23u, 1u) - 1u, finite);
  let mantissa = select(0u, (size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u), finite);
  let limb = exponent / 36u;
  let shift = exponent - limb * 36u;
  let up = shift & 31u;
  let over = (mantissa >> 1u) >> (31u - up);
  let base_low = select(mantissa << up, 0u, shift >= 32u);
  let base_high = select(over, mantissa << up, shift >= 32u);
  let turn = select(0u, 0xffffffffu, base != size);
  // 0 - x is ~x + 1: what carries into the upper half is that x is 0.
//% for i in 0..8
  let b{{i}} = select(vec2<u32>(0u), vec2<u32>(base_low, base_high & 15u), limb == {{i}}u) +
               select(vec2<u32>(0u), vec2<u32>(base_high >> 4u, 0u), limb + 1u == {{i}}u);
  var low{{i}} = (b{{i}}.x ^ turn) - turn;
  var high{{i}} = (b{{i}}.y ^ turn) + select(0u, turn & 1u, b{{i}}.x == 0u);
//% end

  var flags = select(select(select(2u, 4u, base != size), 1u, size > 0x7f800000u), 0u, finite);
  for (var c = 0u; c < {{COPIES}}u; c += 1u) {
    let at = c * {{SPACING}} + place;
//% for q in 0..4
    let q{{q}} = {{LIMBS}}[at * 4u + {{q}}u];
//% end
//% for j in 0..8
//% let i = (j + 2) % 8
//% if j % 2 == 0
    low{{i}} += q{{j / 2}}.x;
    high{{i}} += q{{j / 2}}.y + select(0u, 1u, low{{i}} < q{{j / 2}}.x);
//% else
    low{{i}} += q{{j / 2}}.z;
    high{{i}} += q{{j / 2}}.w + select(0u, 1u, low{{i}} < q{{j / 2}}.z);
//% end
//% end
  }
  flags |= ({{FLAGS}}[place >> 3u] >> ((place & 7u) * 4u)) & 15u;

  // Digits of 36 bits, in two's complement.
  var carry = 0;
//% for i in 0..8
  let t{{i}} = low{{i}} + bitcast<u32>(carry);
  let u{{i}} = high{{i}} + bitcast<u32>(carry >> 31u) + select(0u, 1u, t{{i}} < low{{i}});
  carry = bitcast<i32>(u{{i}}) >> 4u;
//% end
  let negative = carry < 0;
  let ones = select(0u, 0xffffffffu, negative);
  var one = ones & 1u;
//% for i in 0..8
  let x{{i}} = (t{{i}} ^ ones) + one;
  let y{{i}} = ((u{{i}} ^ ones) & 15u) + select(0u, one, x{{i}} == 0u);
  one = y{{i}} >> 4u;
  let d{{i}} = vec2<u32>(x{{i}}, y{{i}} & 15u);
//% end
  let beyond = (bitcast<u32>(carry) ^ ones) + one;

  // The first digit that is not zero, the one behind it, and whether anything follows those.
  var first = d0;
  var second = vec2<u32>(0u);
  var rest = 0u;
  var weight = 0u;
  var below = 0u;
//% for i in 1..8
  if ((d{{i}}.x | d{{i}}.y) != 0u) {
    first = d{{i}};
    second = d{{i - 1}};
    rest = below;
    weight = {{36 * i}}u;
  }
  below |= d{{i - 1}}.x | d{{i - 1}}.y;
//% end
  // 64 bits of them, the first one set.
  let upper = (first.y << 28u) | (first.x >> 4u);
  let lower = (first.x << 28u) | (second.y << 24u) | (second.x >> 8u);
  let zeros = select(countLeadingZeros(lower) + 32u, countLeadingZeros(upper), upper != 0u);
  let by = zeros & 31u;
  let left = (lower >> 1u) >> (31u - by);
  let top = select((upper << by) | left, lower << by, zeros >= 32u);
  let tail = select(lower << by, 0u, zeros >= 32u) | (second.x & 255u) | rest;
  let odd = (top >> 8u) & 1u;
  let half = top & 255u;
  let above = half > 128u || (half == 128u && (tail | odd) != 0u);
  let number = ((weight + 12u - zeros) << 23u) + (top >> 8u) + select(0u, 1u, above);
  // Below 2^24 the integer is its own pattern of bits.
  let small = weight == 0u && first.y == 0u && first.x < 0x1000000u;
  let large = beyond != 0u || number > 0x7f800000u;
  var bits = select(select(number, 0x7f800000u, large), first.x, small && beyond == 0u);
  bits |= select(0u, 0x80000000u, negative);
  if (bits == 0u && base == 0x80000000u && (flags & 8u) == 0u) { bits = base; }
  bits = select(bits, 0x7f800000u, (flags & 2u) != 0u);
  bits = select(bits, 0xff800000u, (flags & 4u) != 0u);
  bits = select(bits, 0x7fc00000u, (flags & 1u) != 0u || (flags & 6u) == 6u);
  {{RESULT}}[place] = bits;
}

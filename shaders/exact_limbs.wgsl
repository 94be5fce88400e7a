// N limbs: the base's, and what COPIES of them hold. 0 - x is ~x + 1: what carries into the upper half is that x
// is 0.
//% for i in 0..N
let b{{i}} = select(vec2<u32>(0u), own, limb == {{i}}u) + select(vec2<u32>(0u), next, limb + 1u == {{i}}u);
var low{{i}} = (b{{i}}.x ^ turn) - turn;
var high{{i}} = (b{{i}}.y ^ turn) + select(0u, turn & 1u, b{{i}}.x == 0u);
//% end
for (var c = 0u; c < {{COPIES}}u; c += 1u) {
  let at = (c * {{SPACING}} + place) * limbs * 2u;
//% for i in 0..N
  if ({{i}}u < limbs) {
    let l = {{LIMBS}}[at + {{2 * i}}u];
    low{{i}} += l;
    high{{i}} += {{LIMBS}}[at + {{2 * i + 1}}u] + select(0u, 1u, low{{i}} < l);
  }
//% end
}

// The sum of N limbs that are BITS apart, from `start` on: its size in 32-bit words.
//% include exact_limbs.wgsl
//% let FULL = N * BITS / 32
// Digits of BITS bits, as words.
var carry = vec2<u32>(0u);
//% for i in 0..N
let t{{i}} = low{{i}} + carry.x;
let u{{i}} = high{{i}} + carry.y + select(0u, 1u, t{{i}} < low{{i}});
carry = vec2<u32>((t{{i}} >> {{BITS}}u) | (u{{i}} << {{32 - BITS}}u),
                  bitcast<u32>(bitcast<i32>(u{{i}}) >> {{BITS}}u));
//% end
negative = carry.y >= 0x80000000u;
let ones = select(0u, 0xffffffffu, negative);
var one = ones & 1u;
//% for k in 0..FULL + 2
//% if k < FULL
//% if BITS == 16
let w{{k}} = (t{{2 * k}} & 0xffffu) | (t{{2 * k + 1}} << 16u);
//% else
let w{{k}} = (t{{4 * k}} & 255u) | ((t{{4 * k + 1}} & 255u) << 8u) |
             ((t{{4 * k + 2}} & 255u) << 16u) | (t{{4 * k + 3}} << 24u);
//% end
//% elif k == FULL
let w{{k}} = carry.x;
//% else
let w{{k}} = carry.y;
//% end
let d{{k}} = (w{{k}} ^ ones) + one;
one = select(0u, one, d{{k}} == 0u);
if (d{{k}} != 0u) {
  upper = d{{k}};
//% if k > 0
  lower = d{{k - 1}};
  rest = below;
//% end
  top = start + {{32 * k + 31}}u;
}
//% if k > 0
below |= d{{k - 1}};
//% end
//% end

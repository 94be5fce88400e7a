// Sorts tiles of 256 * K elements, one to a workgroup, by the bits of their keys from FIRST to LAST, four at a time.
// With SCATTER tiles are parts of rows, and their elements go to their places among all of the row by these bits;
// without, a tile is a row.
//
// A lane holds K elements in a row, so that ranks are stable. It counts its digits in a column of its own, two 16-bit
// counts to a word: digit d in word d % 8, upper half from 8 on. The sums of all counts before, digit by digit and in
// them lane by lane, are where elements go (Merrill and Grimshaw 2011). Elements move through workgroup memory, where
// each 32 words are followed by a free one: lanes that read K words apart meet different banks.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
//% let TILE = 256 * K
//% let ITEMS = TILE > 2048 ? TILE : 2048
var<workgroup> so_items: array<u32, {{ITEMS + ITEMS / 32}}>;
var<workgroup> so_sums: array<u32, 512>;
//% if SCATTER
var<workgroup> so_first: array<u32, 256>;
var<workgroup> so_place: array<u32, 256>;
var<workgroup> so_alike: u32;
//% end

fn padded(i: u32) -> u32 {
  return i + (i >> 5u);
}

//% let WIDTH = 256
//% include sort_sums.wgsl

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(num_workgroups) nwg: vec3<u32>) {
  let lane = lid.x;
//% include sort_part.wgsl

  // Neighbours read neighbours; then each lane takes K in a row.
//% for j in 0..K
  var w{{j}} = vec2<u32>(0u);
//% if PLACES
  var p{{j}} = 0u;
//% end
  if ({{j * 256}}u + lane < mine) {
    w{{j}} = read_words(o, start + {{j * 256}}u + lane);
//% if PLACES
    p{{j}} = read_place(o, start + {{j * 256}}u + lane);
//% end
  }
//% end
//% if SCATTER
  // Bits that all of a row share move nothing.
  if (lane == 0u) {
    let share = live && digit_total(o, digit_of(w0, {{FIRST}}, 255u)) == {{COUNT}};
    so_alike = select(0u, 1u, share);
  }
  if (workgroupUniformLoad(&so_alike) != 0u) {
//% for j in 0..K
    if ({{j * 256}}u + lane < mine) {
//% if PLACES
      write(o, start + {{j * 256}}u + lane, w{{j}}, p{{j}});
//% else
      write(o, start + {{j * 256}}u + lane, w{{j}}, 0u);
//% end
    }
//% end
  } else {
//% end
  {
//% for j in 0..K
    let to{{j}} = padded({{j * 256}}u + lane);
    let from{{j}} = padded(lane * {{K}}u + {{j}}u);
//% end
//% include sort_move.wgsl
  }

  for (var shift = {{FIRST}}; shift < {{LAST}}; shift += 4u) {
//% for i in 0..8
    so_items[padded({{i * 256}}u + lane)] = 0u;
//% end
    // What is beyond the end stays there: it is last, and has the greatest digit.
//% for j in 0..K
    let d{{j}} = select(15u, digit_of(w{{j}}, shift, 15u), lane * {{K}}u + {{j}}u < mine);
    let at{{j}} = padded((d{{j}} & 7u) * 256u + lane);
    let half{{j}} = (d{{j}} >> 3u) * 16u;
    let count{{j}} = so_items[at{{j}}];
    so_items[at{{j}}] = count{{j}} + (1u << half{{j}});
//% end
    workgroupBarrier();
    var sum = 0u;
//% for i in 0..8
    let c{{i}} = so_items[padded(lane * 8u + {{i}}u)];
    sum += c{{i}};
//% end
    let sums = sum_before(lane, sum);
    var run = sums.x + (sums.y << 16u);
//% for i in 0..8
    so_items[padded(lane * 8u + {{i}}u)] = run;
    run += c{{i}};
//% end
    workgroupBarrier();
//% for j in 0..K
    let to{{j}} = padded(((so_items[at{{j}}] + count{{j}}) >> half{{j}}) & 0xffffu);
//% end
    workgroupBarrier();
    // The last time neighbours take neighbours.
    let last = shift + 4u >= {{LAST}};
//% for j in 0..K
    let from{{j}} = padded(select(lane * {{K}}u + {{j}}u, {{j * 256}}u + lane, last));
//% end
//% include sort_move.wgsl
  }

//% if SCATTER
  // Where each digit begins: in the tile, and in the row.
//% for j in 0..K
  let e{{j}} = digit_of(w{{j}}, {{FIRST}}, 255u);
  so_items[padded({{j * 256}}u + lane)] = e{{j}};
//% end
  var total = 0u;
  var above = 0u;
  if (live) {
    total = digit_total(o, lane);
    above = places_before(o, lane, tile);
  }
  so_place[lane] = sum_before(lane, total).x + above;
//% for j in 0..K
  let i{{j}} = {{j * 256}}u + lane;
  let left{{j}} = so_items[padded(max(i{{j}}, 1u) - 1u)];
  if (i{{j}} < mine && (i{{j}} == 0u || left{{j}} != e{{j}})) { so_first[e{{j}}] = i{{j}}; }
//% end
  workgroupBarrier();
//% end
//% for j in 0..K
  if ({{j * 256}}u + lane < mine) {
//% if SCATTER
    let place = so_place[e{{j}}] + i{{j}} - so_first[e{{j}}];
//% else
    let place = {{j * 256}}u + lane;
//% end
//% if PLACES
    write(o, place, w{{j}}, p{{j}});
//% else
    write(o, place, w{{j}}, 0u);
//% end
  }
//% end
//% if SCATTER
  }
//% end
}

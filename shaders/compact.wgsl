// Blocks of 4096 bools, four to a read. COMPACT: each true element goes to the place of its rank; else blocks are
// counted. A block has a workgroup or, if SERIAL, a lane.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% if SERIAL
@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>) {
  let block = id.z * nwg.x * {{LANES}}u + id.x;
  if (block < {{BLOCKS}}) {
    let start = block * 4096u;
    let end = min(start + 4096u, {{COUNT}});
//% if COMPACT
    var place = rank_of(block);
//% else
    var sum = 0u;
//% end
    for (var r = start; r < end; r += 16u) {
      var t = truth(r) | (truth(r + 4u) << 4u) | (truth(r + 8u) << 8u) | (truth(r + 12u) << 12u);
//% if COMPACT
      // A loop, as it ends when all lanes are through: branches are taken by none or by all.
      while (t != 0u) {
        keep(place, r + countTrailingZeros(t));
        place += 1u;
        t &= t - 1u;
      }
//% else
      sum += countOneBits(t);
//% end
    }
//% if !COMPACT
    keep(block, sum);
//% end
  }
}
//% else
var<workgroup> so_sums: array<u32, 512>;
//% if COMPACT
var<workgroup> co_places: array<u32, 2048>;
//% end
//% let WIDTH = 256
//% include sort_sums.wgsl

@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
//% if SUBGROUPS
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place_in_subgroup: u32,
//% end
        @builtin(num_workgroups) nwg: vec3<u32>) {
//% include sort_lane.wgsl
  let block = wid.z * nwg.x + wid.x;
  let live = block < {{BLOCKS}};
  let start = block * 4096u + lane * 4u;
//% for g in 0..4
  var t{{g}} = 0u;
//% end
//% if FOUR
//% for g in 0..4
  if (live) { t{{g}} = truth(start + {{g * 1024}}u); }
//% end
//% else
  // Neighbours read neighbours. In a count order is of no account; else half a block goes by workgroup memory.
  let first = block * 4096u + lane;
//% for h in 0..2
//% for i in 0..8
  var s{{8 * h + i}} = 0u;
  if (live) { s{{8 * h + i}} = truth_of_one(first + {{2048 * h + 256 * i}}u); }
//% end
//% end
//% for h in 0..2
//% if COMPACT
//% for i in 0..8
  co_places[{{256 * i}}u + lane] = s{{8 * h + i}};
//% end
  workgroupBarrier();
//% for g in 0..2
//% for j in 0..4
  t{{2 * h + g}} |= co_places[{{1024 * g + j}}u + 4u * lane] << {{j}}u;
//% end
//% end
  workgroupBarrier();
//% else
//% for i in 0..8
  t{{2 * h}} |= s{{8 * h + i}} << {{i}}u;
//% end
//% end
//% end
//% end
  // Counts of two steps to a word.
//% for g in 0..2
  let both{{g}} = countOneBits(t{{2 * g}}) | (countOneBits(t{{2 * g + 1}}) << 16u);
  let sums{{g}} = sum_before(lane, both{{g}});
  let before{{g}} = sums{{g}}.x;
  let all{{g}} = sums{{g}}.y;
  workgroupBarrier();
//% end
//% if COMPACT
  // Places of half a block, first side by side, so that neighbours write neighbours.
  var rank = 0u;
  if (live) { rank = rank_of(block); }
  var place = 0u;
//% for h in 0..2
  let low{{h}} = all{{h}} & 0xffffu;
  let found{{h}} = low{{h}} + (all{{h}} >> 16u);
//% for g in 0..2
//% if g == 0
  place = before{{h}} & 0xffffu;
//% else
  place = low{{h}} + (before{{h}} >> 16u);
//% end
//% for j in 0..4
  if ((t{{2 * h + g}} & (1u << {{j}}u)) != 0u) {
    co_places[place] = start + {{2048 * h + 1024 * g + j}}u;
    place += 1u;
  }
//% end
//% end
  workgroupBarrier();
  for (var i = lane; i < found{{h}}; i += 256u) { keep(rank + i, co_places[i]); }
  rank += found{{h}};
//% if h == 0
  workgroupBarrier();
//% end
//% end
//% else
  let total = all0 + all1;
  if (live && lane == 0u) { keep(block, (total & 0xffffu) + (total >> 16u)); }
//% end
}
//% end

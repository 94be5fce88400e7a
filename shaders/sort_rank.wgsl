// Sorts tiles of LANES * K elements, one to a workgroup, by the bits of their keys from FIRST to LAST, eight at a time.
// With SCATTER tiles are parts of rows, and their elements go to their places among all of the row by these bits;
// without, a tile is a row.
//
// A subgroup holds K elements for each of its lanes, which follow each other; their first ones, their second ones and
// so on are neighbours. Lanes of one digit find each other by ballots, the first of them adds their number to the
// subgroup's count of that digit, and what that was is the place before them (Merrill's and Garland's "onesweep"
// ranks so, 2022). Sums of the counts, digit by digit and in them subgroup by subgroup, are where elements go.
{{DECLARATIONS}}
{{FUNCTIONS}}
//% include sort_keys.wgsl
//% let TILE = LANES * K
//% let DIGITS = 256 / LANES
//% let COUNTS = GROUPS * 256
// Counts of the digits, a line for each subgroup; then the elements on their way.
var<workgroup> so_items: array<atomic<u32>, {{TILE > COUNTS ? TILE : COUNTS}}>;
var<workgroup> so_sums: array<u32, {{2 * LANES}}>;
//% if SCATTER
var<workgroup> so_place: array<u32, 256>;
var<workgroup> so_alike: u32;
//% end

//% let WIDTH = LANES
//% include sort_sums.wgsl

// Sets of lanes, a bit for each.
//% if WORDS == 1
alias Lanes = u32;

fn size_of(s: Lanes) -> u32 {
  return countOneBits(s);
}

fn first_of(s: Lanes) -> u32 {
  return countTrailingZeros(s);
}

fn lanes_below(lane: u32) -> Lanes {
  return (1u << lane) - 1u;
}
//% else
alias Lanes = vec{{WORDS}}<u32>;

fn size_of(s: Lanes) -> u32 {
  let n = countOneBits(s);
//% if WORDS == 2
  return n.x + n.y;
//% else
  return n.x + n.y + n.z + n.w;
//% end
}

fn first_of(s: Lanes) -> u32 {
  var first = 0u;
//% for w in 1..WORDS + 1
  if (s[{{WORDS - w}}] != 0u) { first = {{32 * (WORDS - w)}}u + countTrailingZeros(s[{{WORDS - w}}]); }
//% end
  return first;
}

fn lanes_below(lane: u32) -> Lanes {
  var s = Lanes(0u);
//% for w in 0..WORDS
  s[{{w}}] = select(select(0u, (1u << (lane & 31u)) - 1u, lane >= {{32 * w}}u), 0xffffffffu, lane >= {{32 * w + 32}}u);
//% end
  return s;
}
//% end

fn ballot(yes: bool) -> Lanes {
//% if WORDS == 1
  return subgroupBallot(yes).x;
//% elif WORDS == 2
  return subgroupBallot(yes).xy;
//% else
  return subgroupBallot(yes);
//% end
}

// Those of the subgroup that have this digit.
fn alike(digit: u32) -> Lanes {
  var found = ballot(true);
//% for b in 0..8
  let on{{b}} = ((digit >> {{b}}u) & 1u) != 0u;
  let said{{b}} = ballot(on{{b}});
  found &= select(~said{{b}}, said{{b}}, on{{b}});
//% end
  return found;
}

@compute @workgroup_size({{LANES}}, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place_in_subgroup: u32,
        @builtin(num_workgroups) nwg: vec3<u32>) {
//% include sort_lane.wgsl
//% include sort_part.wgsl
  let first = subgroup * subgroup_size * {{K}}u + place_in_subgroup;
  let line = subgroup * 256u;
  let below = lanes_below(place_in_subgroup);

//% for j in 0..K
  let i{{j}} = first + {{j}}u * subgroup_size;
  var w{{j}} = vec2<u32>(0u);
//% if PLACES
  var p{{j}} = 0u;
//% end
  if (i{{j}} < mine) {
    w{{j}} = read_words(o, start + i{{j}});
//% if PLACES
    p{{j}} = read_place(o, start + i{{j}});
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
    if (i{{j}} < mine) {
//% if PLACES
      write(o, start + i{{j}}, w{{j}}, p{{j}});
//% else
      write(o, start + i{{j}}, w{{j}}, 0u);
//% end
    }
//% end
    return;
  }
//% end

//% if !SCATTER
  for (var shift = {{FIRST}}; shift < {{LAST}}; shift += 8u) {
//% else
  {
    let shift = {{FIRST}};
//% end
    for (var i = lane; i < {{COUNTS}}u; i += {{LANES}}u) { atomicStore(&so_items[i], 0u); }
    workgroupBarrier();
    // What is beyond the end stays there: it is last, and has the greatest digit.
//% for j in 0..K
    let d{{j}} = select(255u, digit_of(w{{j}}, shift, 255u), i{{j}} < mine);
    let like{{j}} = alike(d{{j}});
    let before{{j}} = size_of(like{{j}} & below);
    let all{{j}} = size_of(like{{j}});
    var counted{{j}} = 0u;
    if (before{{j}} == 0u) { counted{{j}} = atomicAdd(&so_items[line + d{{j}}], all{{j}}); }
    let rank{{j}} = subgroupShuffle(counted{{j}}, first_of(like{{j}})) + before{{j}};
//% end
    workgroupBarrier();
    // DIGITS digits to a lane.
    var sum = 0u;
//% for n in 0..DIGITS
    let digit{{n}} = lane * {{DIGITS}}u + {{n}}u;
//% for g in 0..GROUPS
    let c{{n * GROUPS + g}} = atomicLoad(&so_items[{{256 * g}}u + digit{{n}}]);
    sum += c{{n * GROUPS + g}};
//% end
//% end
    var run = sum_before(lane, sum).x;
//% for n in 0..DIGITS
    let begin{{n}} = run;
//% for g in 0..GROUPS
    atomicStore(&so_items[{{256 * g}}u + digit{{n}}], run);
    run += c{{n * GROUPS + g}};
//% end
//% end
    workgroupBarrier();
//% if SCATTER
    var total = 0u;
//% for n in 0..DIGITS
    var total{{n}} = 0u;
    if (live) { total{{n}} = digit_total(o, digit{{n}}); }
    total += total{{n}};
//% end
    var place = sum_before(lane, total).x;
//% for n in 0..DIGITS
    if (live) { so_place[digit{{n}}] = place + places_before(o, digit{{n}}, tile) - begin{{n}}; }
    place += total{{n}};
//% end
//% end
//% for j in 0..K
    let to{{j}} = atomicLoad(&so_items[line + d{{j}}]) + rank{{j}};
//% end
    workgroupBarrier();
    // The last time neighbours take neighbours.
    let last = shift + 8u >= {{LAST}};
//% for j in 0..K
    let from{{j}} = select(i{{j}}, {{j * LANES}}u + lane, last);
//% end
//% for part in 0..3
//% if part == 0 || (part == 1 && BITS == 64) || (part == 2 && PLACES)
//% for j in 0..K
//% if part == 0
    atomicStore(&so_items[to{{j}}], w{{j}}.x);
//% elif part == 1
    atomicStore(&so_items[to{{j}}], w{{j}}.y);
//% else
    atomicStore(&so_items[to{{j}}], p{{j}});
//% end
//% end
    workgroupBarrier();
//% for j in 0..K
//% if part == 0
    w{{j}}.x = atomicLoad(&so_items[from{{j}}]);
//% elif part == 1
    w{{j}}.y = atomicLoad(&so_items[from{{j}}]);
//% else
    p{{j}} = atomicLoad(&so_items[from{{j}}]);
//% end
//% end
    workgroupBarrier();
//% end
//% end
  }

//% for j in 0..K
  if ({{j * LANES}}u + lane < mine) {
//% if SCATTER
    let place = so_place[digit_of(w{{j}}, {{FIRST}}, 255u)] + {{j * LANES}}u + lane;
//% else
    let place = {{j * LANES}}u + lane;
//% end
//% if PLACES
    write(o, place, w{{j}}, p{{j}});
//% else
    write(o, place, w{{j}}, 0u);
//% end
  }
//% end
}

// The part of a row that this workgroup has: TILE elements of row `o` from `start` on, `mine` of which are there.
let group = wid.z * nwg.x + wid.x;
let o = group / {{TILES}};
let tile = group - o * {{TILES}};
let live = o < {{ROWS}};
let start = tile * {{TILE}}u;
let mine = select(0u, min({{COUNT}} - start, {{TILE}}u), live);

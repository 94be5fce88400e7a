  // Eight rows of tiles at a time, column by column: their operands stay in the cache.
  let band = tile / (8u * tiles_n);
  let in_band = tile - band * 8u * tiles_n;
  let band_rows = min(tiles_m - band * 8u, 8u);
  let x0_0 = (band * 8u + in_band % band_rows) * {{BM}}u;
  let x0_1 = (in_band / band_rows) * {{BN}}u;
  // Blocks of LX x LY lanes: the 32 lanes of a subgroup read few distinct vec4s.
  let block = lane / {{LX * LY}}u;
  let tx = block % {{TX / LX}}u * {{LX}}u + lane % {{LX}}u;
  let ty = block / {{TX / LX}}u * {{LY}}u + lane / {{LX}}u % {{LY}}u;
  let row = x0_0 + ty * 4u;
  let column = x0_1 + tx * 4u;

    // The tile's products. UNROLL steps along k are flat code.
    {
      var a_at = ty;
      var b_at = tx + {{BK * ROW_0}}u;
//% if BUFFERS == 2
      a_at += stage;
      b_at += stage;
//% end
//% if SPLIT > 1
      a_at += slice * {{SLICE * ROW_0}}u;
      b_at += slice * {{SLICE * ROW_1}}u;
//% end
//% if UNROLL < SLICE
      for (var step = 0u; step < {{SLICE / UNROLL}}u; step++) {
//% else
      {
//% end
//% for k in 0..UNROLL
//% for i in 0..TM / 4
        let a_{{k}}_{{i}} = mm_tile[a_at + {{k * ROW_0 + i * TY}}u];
//% end
//% for j in 0..TN / 4
        let b_{{k}}_{{j}} = mm_tile[b_at + {{k * ROW_1 + j * TX}}u];
//% end
//% for r in 0..TM
//% for j in 0..TN / 4
        sum_{{r}}_{{j}} += a_{{k}}_{{r / 4}}[{{r % 4}}] * b_{{k}}_{{j}};
//% end
//% end
//% end
//% if UNROLL < SLICE
        a_at += {{UNROLL * ROW_0}}u;
        b_at += {{UNROLL * ROW_1}}u;
//% end
      }
    }

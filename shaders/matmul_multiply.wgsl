    // The tile's products. UNROLL steps along k are flat code; every other row goes backwards, so that
    // neighbours share an operand. Sums of float16 end with the step: whole sums are of float32.
    {
//% if SPLIT > 1
      var a_at = ty + slice * {{SLICE * ROW_0 + SLICE / 4 * GAP_0}}u;
      var b_at = tx + {{TILE_0}}u + slice * {{SLICE * ROW_1 + SLICE / 4 * GAP_1}}u;
//% else
      var a_at = ty;
      var b_at = tx + {{TILE_0}}u;
//% end
//% if UNROLL < SLICE
      for (var step = 0u; step < {{SLICE / UNROLL}}u; step++) {
//% else
      {
//% end
//% for k in 0..UNROLL
//% for i in 0..TM / 4
        let a_{{k}}_{{i}} = mm_tile[a_at + {{k * ROW_0 + k / 4 * GAP_0 + i * TY}}u];
//% end
//% for j in 0..TN / 4
        let b_{{k}}_{{j}} = mm_tile[b_at + {{k * ROW_1 + k / 4 * GAP_1 + j * TX}}u];
//% end
//% for r in 0..TM
//% for q in 0..TN / 4
//% let j = r % 2 == 0 ? q : TN / 4 - 1 - q
//% if HALF
        low_{{r}}_{{j}} = fma(vec2<f16>(a_{{k}}_{{r / 4}}[{{r % 4}}]), b_{{k}}_{{j}}.xy, low_{{r}}_{{j}});
        high_{{r}}_{{j}} = fma(vec2<f16>(a_{{k}}_{{r / 4}}[{{r % 4}}]), b_{{k}}_{{j}}.zw, high_{{r}}_{{j}});
//% else
        sum_{{r}}_{{j}} += a_{{k}}_{{r / 4}}[{{r % 4}}] * b_{{k}}_{{j}};
//% end
//% end
//% end
//% end
//% if UNROLL < SLICE
        a_at += {{UNROLL * ROW_0 + UNROLL / 4 * GAP_0}}u;
        b_at += {{UNROLL * ROW_1 + UNROLL / 4 * GAP_1}}u;
//% end
      }
//% if HALF
//% for r in 0..TM
//% for j in 0..TN / 4
      whole_{{r}}_{{j}} += vec4<f32>(vec2<f32>(low_{{r}}_{{j}}), vec2<f32>(high_{{r}}_{{j}}));
      low_{{r}}_{{j}} = vec2<f16>();
      high_{{r}}_{{j}} = vec2<f16>();
//% end
//% end
//% end
    }

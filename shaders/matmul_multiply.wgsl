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
//% for k in 0..UNROLL / DEEP
//% let GAPS = k * DEEP / 4
//% for i in 0..TM / 4
        let a_{{k}}_{{i}} = mm_tile[a_at + {{k * ROW_0 + GAPS * GAP_0 + i * TY}}u];
//% end
//% for j in 0..TN / 4
        let b_{{k}}_{{j}} = mm_tile[b_at + {{k * ROW_1 + GAPS * GAP_1 + j * TX}}u];
//% end
//% for r in 0..TM
//% if HALF
//% if r % 4 < 2
        let a_{{k}}_row_{{r}} = a_{{k}}_{{r / 4}}.first;
//% else
        let a_{{k}}_row_{{r}} = a_{{k}}_{{r / 4}}.second;
//% end
//% if r % 2 == 0
        let pair_{{k}}_{{r}} = a_{{k}}_row_{{r}}.xyxy;
//% else
        let pair_{{k}}_{{r}} = a_{{k}}_row_{{r}}.zwzw;
//% end
//% end
//% for q in 0..TN / 4
//% let j = r % 2 == 0 ? q : TN / 4 - 1 - q
//% if HALF
        low_{{r}}_{{j}} = fma(pair_{{k}}_{{r}}, b_{{k}}_{{j}}.first, low_{{r}}_{{j}});
        high_{{r}}_{{j}} = fma(pair_{{k}}_{{r}}, b_{{k}}_{{j}}.second, high_{{r}}_{{j}});
//% else
        sum_{{r}}_{{j}} += a_{{k}}_{{r / 4}}[{{r % 4}}] * b_{{k}}_{{j}};
//% end
//% end
//% end
//% end
//% if UNROLL < SLICE
        a_at += {{UNROLL / DEEP * ROW_0 + UNROLL / 4 * GAP_0}}u;
        b_at += {{UNROLL / DEEP * ROW_1 + UNROLL / 4 * GAP_1}}u;
//% end
      }
//% if HALF
//% for r in 0..TM
//% for j in 0..TN / 4
      {
        let l = low_{{r}}_{{j}}.xz + low_{{r}}_{{j}}.yw;
        let h = high_{{r}}_{{j}}.xz + high_{{r}}_{{j}}.yw;
        whole_{{r}}_{{j}} += vec4<f32>(vec2<f32>(l), vec2<f32>(h));
      }
      low_{{r}}_{{j}} = vec4<f16>();
      high_{{r}}_{{j}} = vec4<f16>();
//% end
//% end
//% end
    }

    // The parts of the tiles at k = next, from storage into registers; the next ones lie `hop` behind.
//% for o in 0..2
//% include matmul_operand.wgsl
//% let VEC = o == 0 ? A_VEC : B_VEC
//% let WALK = o == 0 ? K_WALK_0 : K_WALK_1
//% let PLAIN = !GUARD_K && !WALK
//% let PARTS = ALONG_K && !LINES ? 4 : ALONG_K ? 1 : DEEP
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
//% if (i + 1) * THREADS > ITEMS
    if (item_{{o}}_{{i}} < {{ITEMS}}u) {
//% else
    {
//% end
//% if PLAIN
//% if VEC && ALONG_K
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}}{{CLOSE}};
      at_{{o}}_{{i}}_{{r}} += hop / 4u;
//% end
//% elif VEC
      part_{{o}}_{{i}}_0 = {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0{{CLOSE}};
//% if PARTS == 2
      part_{{o}}_{{i}}_1 = {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0 + sk_{{o}} / 4u{{CLOSE}};
//% end
      at_{{o}}_{{i}}_0 += hop / 4u * sk_{{o}};
//% elif ALONG_K
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + sk_{{o}}{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + 2u * sk_{{o}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + 3u * sk_{{o}}{{CLOSE}});
      at_{{o}}_{{i}}_{{r}} += hop * sk_{{o}};
//% end
//% else
//% for s in 0..PARTS
      part_{{o}}_{{i}}_{{s}} = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0 + {{s}}u * sk_{{o}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_1 + {{s}}u * sk_{{o}}{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_2 + {{s}}u * sk_{{o}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_3 + {{s}}u * sk_{{o}}{{CLOSE}});
//% end
//% for r in 0..4
      at_{{o}}_{{i}}_{{r}} += hop * sk_{{o}};
//% end
//% end
//% else
      let k0 = next + kq_{{o}}_{{i}};
//% if ALONG_K && VEC
//% if GUARD_K && WALK
      let kc = k_offset_{{o}}(min(k0, depth - 4u));
//% elif WALK
      let kc = k_offset_{{o}}(k0);
//% else
      let kc = min(k0, depth - 4u);
//% end
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = {{READ}}{{o}}{{OPEN}}(at_{{o}}_{{i}}_{{r}} + kc) >> 2u{{CLOSE}};
//% end
//% elif ALONG_K
//% for j in 0..4
//% if GUARD_K && WALK
      let k_{{j}} = k_offset_{{o}}(min(k0 + {{j}}u, depth - 1u));
//% elif WALK
      let k_{{j}} = k_offset_{{o}}(k0 + {{j}}u);
//% else
      let k_{{j}} = min(k0 + {{j}}u, depth - 1u) * sk_{{o}};
//% end
//% end
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + k_0{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + k_1{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + k_2{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + k_3{{CLOSE}});
//% end
//% else
//% for s in 0..PARTS
      {
        let k = k0 + {{s}}u;
//% if GUARD_K && WALK
        let kc = k_offset_{{o}}(min(k, depth - 1u));
//% elif WALK
        let kc = k_offset_{{o}}(k);
//% else
        let kc = min(k, depth - 1u) * sk_{{o}};
//% end
//% if VEC
        part_{{o}}_{{i}}_{{s}} = {{READ}}{{o}}{{OPEN}}(at_{{o}}_{{i}}_0 + kc) >> 2u{{CLOSE}};
//% else
        part_{{o}}_{{i}}_{{s}} = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0 + kc{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_1 + kc{{CLOSE}},
                               {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_2 + kc{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_3 + kc{{CLOSE}});
//% end
//% if GUARD_K
        part_{{o}}_{{i}}_{{s}} = select(vec4<{{T}}>(), part_{{o}}_{{i}}_{{s}}, k < depth);
//% end
      }
//% end
//% end
//% if GUARD_K && ALONG_K
//% if VEC
      let inside = k0 < depth;
//% else
      let inside = vec4<bool>(k0 < depth, k0 + 1u < depth, k0 + 2u < depth, k0 + 3u < depth);
//% end
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = select(vec4<{{T}}>(), part_{{o}}_{{i}}_{{r}}, inside);
//% end
//% end
//% end
    }
//% end
//% end

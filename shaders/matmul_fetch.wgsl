    // The parts of the tiles at k = next, from storage into registers; the next ones lie `hop` behind.
//% for o in 0..2
//% let X = o == 0 ? BM : BN
//% let ALONG_K = o == 0 ? A_ALONG_K : B_ALONG_K
//% let VEC = o == 0 ? A_VEC : B_VEC
//% let WALK = o == 0 ? K_WALK_0 : K_WALK_1
//% let PLAIN = !GUARD_K && !WALK
//% let LINES = ALONG_K && X * BK / 16 < THREADS
//% let ITEMS = ALONG_K && !LINES ? X * BK / 16 : X * BK / 4
//% let PARTS = ALONG_K && !LINES ? 4 : 1
//% for i in 0..(ITEMS + THREADS - 1) / THREADS
//% if (i + 1) * THREADS > ITEMS
    if (item_{{o}}_{{i}} < {{ITEMS}}u) {
//% else
    {
//% end
//% if PLAIN
//% if VEC
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}}{{CLOSE}};
//% if ALONG_K
      at_{{o}}_{{i}}_{{r}} += hop / 4u;
//% else
      at_{{o}}_{{i}}_{{r}} += hop / 4u * sk_{{o}};
//% end
//% end
//% elif ALONG_K
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + sk_{{o}}{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + 2u * sk_{{o}}{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_{{r}} + 3u * sk_{{o}}{{CLOSE}});
      at_{{o}}_{{i}}_{{r}} += hop * sk_{{o}};
//% end
//% else
      part_{{o}}_{{i}}_0 = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_1{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_2{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_3{{CLOSE}});
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
//% if GUARD_K && WALK
      let kc = k_offset_{{o}}(min(k0, depth - 1u));
//% elif WALK
      let kc = k_offset_{{o}}(k0);
//% else
      let kc = min(k0, depth - 1u) * sk_{{o}};
//% end
//% if VEC
      part_{{o}}_{{i}}_0 = {{READ}}{{o}}{{OPEN}}(at_{{o}}_{{i}}_0 + kc) >> 2u{{CLOSE}};
//% else
      part_{{o}}_{{i}}_0 = vec4<{{T}}>({{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_0 + kc{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_1 + kc{{CLOSE}},
                             {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_2 + kc{{CLOSE}}, {{READ}}{{o}}{{OPEN}}at_{{o}}_{{i}}_3 + kc{{CLOSE}});
//% end
//% end
//% if GUARD_K
//% if ALONG_K && !VEC
      let inside = vec4<bool>(k0 < depth, k0 + 1u < depth, k0 + 2u < depth, k0 + 3u < depth);
//% else
      let inside = k0 < depth;
//% end
//% for r in 0..PARTS
      part_{{o}}_{{i}}_{{r}} = select(vec4<{{T}}>(), part_{{o}}_{{i}}_{{r}}, inside);
//% end
//% end
//% end
    }
//% end
//% end

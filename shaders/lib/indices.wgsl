// Indices that are data. `faults` is a binding of the kernel: see csrc/graph/faults.h.

//@ checked_i*:
// The place along an axis of `size` elements, from its end for negative indices. Where the axis has no such place: a
// record in the slot, and the nearest place or, for what would be written, 0xffffffff.
fn checked_i_{{W}}(i: {{I}}, size: u32, slot: u32, writes: bool) -> u32 {
  let negative = i < {{I}}(0);
  let bits = bitcast<{{U}}>(i);
  let magnitude = select(bits, ~bits + {{U}}(1u), negative);
  let most = {{U}}(size);
  let outside = (magnitude > most) | ((magnitude == most) & !negative);
  let near = u32(min(magnitude, {{U}}(0xffffffffu)));
  if (outside) { atomicMax(&faults[2u * slot + select(0u, 1u, negative)], near); }
  let place = select(near, size - near, negative);
  return select(place, select(select(size - 1u, 0u, negative), 0xffffffffu, writes), outside);
}

//@ checked_u*:
fn checked_u_{{W}}(i: {{U}}, size: u32, slot: u32, writes: bool) -> u32 {
  let outside = i >= {{U}}(size);
  let near = u32(min(i, {{U}}(0xffffffffu)));
  if (outside) { atomicMax(&faults[2u * slot], near); }
  return select(min(near, size - 1u), 0xffffffffu, outside & writes);
}

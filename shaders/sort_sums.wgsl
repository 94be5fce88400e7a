// The sum of what lanes below have (Hillis and Steele); so_sums[255] is then the sum of all, until the next call.
// Between the calls lies a barrier.
fn sum_before(lane: u32, value: u32) -> u32 {
  var run = value;
  so_sums[lane] = run;
  workgroupBarrier();
//% for s in 0..8
  if (lane >= (1u << {{s}}u)) { run += so_sums[{{s % 2 * 256}}u + lane - (1u << {{s}}u)]; }
  so_sums[{{(s + 1) % 2 * 256}}u + lane] = run;
  workgroupBarrier();
//% end
  return run - value;
}

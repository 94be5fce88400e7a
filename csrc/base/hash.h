// Hashing of words, by multiply and fold (the 128-bit product's halves xored, as in wyhash).
#pragma once
#include <cstddef>
#include <cstdint>

namespace wgt {

inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 u128;
  u128 r = static_cast<u128>(a) * b;
  return static_cast<uint64_t>(r) ^ static_cast<uint64_t>(r >> 64);
#else
  uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15ull)) * 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 31);
#endif
}

inline uint64_t hash_words(const uint64_t* words, size_t n) {
  uint64_t h = 0xA0761D6478BD642Full ^ n;
  for (size_t i = 0; i < n; ++i) h = mix(h ^ words[i], 0xE7037ED1A0B428DBull);
  return h;
}

}  // namespace wgt

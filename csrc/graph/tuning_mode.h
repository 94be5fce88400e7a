// How an engine chooses among kernels that compute the same; graph/tuning.h has what does.
#pragma once
#include <cstdint>

namespace wgt::graph {

class TuningTable;

enum class TuningMode : uint8_t {
  peek,    // answers and remembers nothing: for explanations
  stored,  // what an earlier process measured, else the estimate's choice
  measure
};

struct Tuning {
  TuningTable* table = nullptr;  // none: the estimate's choice
  TuningMode mode = TuningMode::stored;
};

}  // namespace wgt::graph

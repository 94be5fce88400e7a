// What the rules of the elementwise table are written in: tensors and numbers alike, with
// operators, and a function for each row of the table. Numbers stay numbers, so that they do not
// lift a dtype and become parameters of kernels.
#pragma once
#include <variant>

#include "tensor/tensor.h"

namespace wgt::rules {

class Value {
 public:
  Value() = default;
  Value(Tensor t) : v_(std::move(t)) {}
  Value(double f) : v_(f) {}
  Value(int i) : v_(static_cast<double>(i)) {}
  bool is_number() const { return std::holds_alternative<double>(v_); }
  double number() const { return std::get<double>(v_); }
  const Tensor& tensor() const { return std::get<Tensor>(v_); }

 private:
  std::variant<double, Tensor> v_ = 0.0;
};

/// One row of the table; of numbers alone where a rule needs that.
Value apply(graph::OpId op, std::initializer_list<Value> operands);

#define ROW(name, ...)                              \
  template <class... A>                             \
  Value name(const A&... operands) {                \
    return apply(graph::OpId::name, {operands...}); \
  }
#include "graph/elementwise.def"
#undef ROW

inline Value operator+(const Value& a, const Value& b) {
  return apply(graph::OpId::add, {a, b});
}
inline Value operator-(const Value& a, const Value& b) {
  return apply(graph::OpId::subtract, {a, b});
}
inline Value operator*(const Value& a, const Value& b) {
  return apply(graph::OpId::multiply, {a, b});
}
inline Value operator/(const Value& a, const Value& b) {
  return apply(graph::OpId::divide, {a, b});
}
inline Value operator-(const Value& a) {
  return apply(graph::OpId::negative, {a});
}
inline Value operator==(const Value& a, const Value& b) {
  return apply(graph::OpId::equal, {a, b});
}
inline Value operator<(const Value& a, const Value& b) {
  return apply(graph::OpId::less, {a, b});
}
inline Value operator<=(const Value& a, const Value& b) {
  return apply(graph::OpId::less_equal, {a, b});
}
inline Value operator>(const Value& a, const Value& b) {
  return apply(graph::OpId::greater, {a, b});
}
inline Value operator>=(const Value& a, const Value& b) {
  return apply(graph::OpId::greater_equal, {a, b});
}
inline Value operator&(const Value& a, const Value& b) {
  return apply(graph::OpId::logical_and, {a, b});
}
inline Value operator|(const Value& a, const Value& b) {
  return apply(graph::OpId::logical_or, {a, b});
}

}  // namespace wgt::rules

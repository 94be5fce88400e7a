// Parts of the table's rules that are longer than a line.
#pragma once
#include "tensor/gradient_values.h"

namespace wgt::rules {

constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046;
constexpr double kPi = 3.141592653589793, kSqrtPi = 1.772453850905516;

/// Of x1^x2: 0 where the exponent is 0, also for the base 0.
Value pow_base(const Value& g, const Value& x1, const Value& x2);
/// 0 for the base 0 and exponents that are not negative.
Value pow_exponent(const Value& g, const Value& x1, const Value& x2, const Value& out);
/// Derivatives at x.
Value gelu_slope(const Value& x);
Value gelu_tanh_slope(const Value& x);
/// Of alpha expm1(q) with q = x / alpha, by alpha.
Value celu_slope(const Value& q);
Value silu_slope(const Value& x);
Value mish_slope(const Value& x);
Value sinc_slope(const Value& x);
/// Of lgamma: the digamma function. -inf at 0 and NaN at negative whole numbers.
Value lgamma_slope(const Value& x);
/// g logarithm, for the gradient of x1 logarithm by x1; 0 where x1 is 0 and x2 no more than `edge`.
Value xlogy_first(const Value& g, const Value& x1, const Value& x2, const Value& logarithm,
                  double edge);

}  // namespace wgt::rules

#include "tensor/gradient_rules.h"

#include <algorithm>
#include <cmath>

namespace wgt::rules {

using graph::OpId;

namespace {

double fold(OpId op, const Value* v) {
  double a = v[0].number(), b = v[1].number();
  switch (op) {
    case OpId::add:
      return a + b;
    case OpId::subtract:
      return a - b;
    case OpId::multiply:
      return a * b;
    case OpId::divide:
      return a / b;
    case OpId::negative:
      return -a;
    case OpId::abs:
      return std::abs(a);
    case OpId::square:
      return a * a;
    case OpId::exp:
      return std::exp(a);
    case OpId::log:
      return std::log(a);
    case OpId::expm1:
      return std::expm1(a);
    case OpId::sign:
      return static_cast<double>((a > 0) - (a < 0));
    case OpId::minimum:
      return std::min(a, b);
    case OpId::maximum:
      return std::max(a, b);
    case OpId::log1p:
      return std::log1p(a);
    case OpId::equal:
      return a == b;
    case OpId::less:
      return a < b;
    case OpId::less_equal:
      return a <= b;
    case OpId::greater:
      return a > b;
    case OpId::greater_equal:
      return a >= b;
    case OpId::logical_and:
      return a != 0 && b != 0;
    case OpId::logical_or:
      return a != 0 || b != 0;
    case OpId::signbit:
      return std::signbit(a);
    case OpId::isnan:
      return std::isnan(a);
    default:
      internal_error(std::string("a gradient needs ") + graph::op_info(op).name + " of numbers");
  }
}

}  // namespace

Value apply(OpId op, std::initializer_list<Value> operands) {
  bool numbers = true;
  for (const Value& v : operands) numbers = numbers && v.is_number();
  if (numbers) {
    Value v[3];
    std::copy(operands.begin(), operands.end(), v);
    return fold(op, v);
  }
  if (op == OpId::where && operands.begin()->is_number())
    return operands.begin()->number() != 0 ? operands.begin()[1] : operands.begin()[2];
  Operand o[3];
  size_t n = 0;
  for (const Value& v : operands) {
    if (v.is_number())
      o[n++] = Scalar{Kind::f, v.number()};
    else
      o[n++] = v.tensor();
  }
  return elementwise(op, std::span<const Operand>(o, n));
}

Value pow_base(const Value& g, const Value& x1, const Value& x2) {
  if (!x2.is_number()) return where(x2 == 0, 0, g * (x2 * pow(x1, x2 - 1)));
  double exponent = x2.number();
  if (exponent == 0) return 0;
  if (exponent == 1) return g;
  if (exponent == 2) return g * (2 * x1);
  return g * (x2 * pow(x1, x2 - 1));
}

Value pow_exponent(const Value& g, const Value& x1, const Value& x2, const Value& out) {
  Value edge = (x1 == 0) & (x2 >= 0);
  Value logarithm = log(x1.is_number() ? x1 : where(edge, 1, x1));
  return where(edge, 0, g * (out * logarithm));
}

Value gelu_slope(const Value& x) {
  double half = std::sqrt(0.5), scale = 1 / std::sqrt(2 * kPi);
  return 0.5 * erfc(x * -half) + x * exp(square(x) * -0.5) * scale;
}

// Beyond 20 the slope is 0 or 1, and squares would overflow.
Value gelu_tanh_slope(const Value& x0) {
  Value x = minimum(maximum(x0, -20), 20), xx = square(x);
  double k = std::sqrt(2 / kPi), cube = 0.044715;
  Value t = tanh(x * (k + (k * cube) * xx));
  return 0.5 * (1 + t) + x * (0.5 * (1 - square(t))) * (k + (3 * k * cube) * xx);
}

Value celu_slope(const Value& q) {
  return expm1(q) - q * exp(q);
}

Value silu_slope(const Value& x) {
  Value s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

Value mish_slope(const Value& x) {
  Value t = tanh(softplus(x, 1));
  return t + x * sigmoid(x) * (1 - square(t));
}

// (cos(pi x) - sinc(x)) / x, and its Taylor series where that cancels.
Value sinc_slope(const Value& x) {
  Value near = abs(x) <= 0.25, inside = where(near, x, 0), u = square(inside * kPi);
  Value series = 0;
  for (int k = 10; k >= 1; --k) {  // sum over k of (-1)^k 2k u^(k-1) / (2k + 1)!
    double c = (k % 2 ? -2.0 : 2.0) * k;
    for (int i = 2; i <= 2 * k + 1; ++i) c /= i;
    series = c + series * u;
  }
  Value outside = where(near, 1, x);
  Value turned = (outside - 2 * rint(outside * 0.5)) * kPi;
  return where(near, (kPi * kPi) * inside * series, (cos(turned) - sinc(outside)) / outside);
}

// Below 1/2 by reflection; then psi(y) = psi(y + 8) - 1/y - .. - 1/(y + 7), and psi(y + 8) by its
// asymptotic series (NIST DLMF 5.11.2), whose coefficients are Bernoulli numbers B_2k / 2k.
Value lgamma_slope(const Value& x) {
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  constexpr int kShift = 8;
  Value reflected = x < 0.5, y = where(reflected, 1 - x, x), shifts = 0;
  for (int k = 0; k < kShift; ++k) shifts = shifts + 1 / (y + k);
  Value z = y + kShift, u = 1 / square(z), series = 0;
  for (int k = 6; k >= 0; --k) series = (series + kSeries[k]) * u;
  Value psi = log(z) - 0.5 / z - series - shifts;
  Value rest = where(reflected, x - rint(x), 0.25);  // 1/4: any place where tan has a slope
  Value turned = where((x < 0) & (rest == 0), std::nan(""), psi - kPi / tan(kPi * rest));
  return where(reflected, turned, psi);
}

Value xlogy_first(const Value& g, const Value& x1, const Value& x2, const Value& logarithm,
                  double edge) {
  return where((x1 == 0) & (x2 <= edge), 0, g * logarithm);
}

}  // namespace wgt::rules

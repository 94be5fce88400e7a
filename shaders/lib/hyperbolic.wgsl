// Hyperbolic functions and their inverses. Each section starts with `//@ name: sections it needs` and is expanded at
// vector width 1 or 4: F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.

//@ with_sign*:
// r >= 0 with the sign of x, also of zeros.
fn with_sign_{{W}}(r: {{F}}, x: {{F}}) -> {{F}} {
  return bitcast<{{F}}>(bitcast<{{U}}>(r) | (bitcast<{{U}}>(x) & {{U}}({{SIGN}})));
}

//@ sinh: exp_scaled with_sign
// Below 1 the Taylor series to x^11; else exp(a) / 2 - 1 / (4 exp(a) / 2).
fn sinh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let z = x * x;
  var q = {{F}}(2.5052108e-8) * z + {{F}}(2.7557319e-6);
  q = q * z + {{F}}(1.9841270e-4);
  q = q * z + {{F}}(8.3333333e-3);
  q = q * z + {{F}}(1.6666667e-1);
  let e = exp_scaled_{{W}}(a, {{F}}(0.0), {{I}}(-1));
  return with_sign_{{W}}(select(e - {{F}}(0.25) / e, q * z * a + a, a < {{F}}(1.0)), x);
}

//@ cosh*: exp_scaled
fn cosh_{{W}}(x: {{F}}) -> {{F}} {
  let e = exp_scaled_{{W}}(abs(x), {{F}}(0.0), {{I}}(-1));
  return e + {{F}}(0.25) / e;
}

//@ tanh: exp with_sign isnan
// Near zero a minimax polynomial in x^2 (Cephes tanhf); else 1 - 2 / (exp(2|x|) + 1).
fn tanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let z = x * x;
  var q = {{F}}(-5.70498872745e-3) * z + {{F}}(2.06390887954e-2);
  q = q * z + {{F}}(-5.37397155531e-2);
  q = q * z + {{F}}(1.33314422036e-1);
  q = q * z + {{F}}(-3.33332819422e-1);
  let e = exp_{{W}}(min(a, {{F}}(10.0)) * {{F}}(2.0));
  let far = {{F}}(1.0) - {{F}}(2.0) / (e + {{F}}(1.0));
  let r = with_sign_{{W}}(select(far, q * z * a + a, a < {{F}}(0.625)), x);
  return select(r, x, isnan_{{W}}(x));
}

//@ asinh*: log1p_scaled with_sign
// log(a + sqrt(a^2 + 1)) as log1p(a + a^2 / (1 + sqrt(a^2 + 1))), from 2^28 on as log(a) + ln 2 (fdlibm's s_asinh).
fn asinh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let big = a > {{F}}(268435456.0);
  let z = a * a;
  let t = select(a + z / ({{F}}(1.0) + sqrt(z + {{F}}(1.0))), a - {{F}}(1.0), big);
  return with_sign_{{W}}(log1p_scaled_{{W}}(t, select({{F}}(0.0), {{F}}(1.0), big)), x);
}

//@ acosh*: log1p_scaled
// t = x - 1: log1p(t + sqrt(2 t + t^2)), from 2^28 on as log(x) + ln 2 (fdlibm's e_acosh).
fn acosh_{{W}}(x: {{F}}) -> {{F}} {
  let t = x - {{F}}(1.0);
  let big = t > {{F}}(268435456.0);
  let u = select(t + sqrt(t * (t + {{F}}(2.0))), t, big);
  let r = log1p_scaled_{{W}}(u, select({{F}}(0.0), {{F}}(1.0), big));
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  return select(r, nan, x < {{F}}(1.0));
}

//@ atanh*: log1p with_sign
// log1p(2 a + 2 a^2 / (1 - a)) / 2 (fdlibm's e_atanh); infinite at 1, NaN beyond, where 1 - a is negative.
fn atanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let t = a + a;
  let nan = bitcast<{{F}}>({{U}}({{NAN}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let inf = bitcast<{{F}}>({{U}}({{INF}}) | (bitcast<{{U}}>(x) & {{U}}(0)));
  let r = log1p_{{W}}(t + t * a / ({{F}}(1.0) - a)) * {{F}}(0.5);
  return select(with_sign_{{W}}(select(r, inf, a == {{F}}(1.0)), x), nan, a > {{F}}(1.0));
}

//@ tanhshrink: exp with_sign
// x - tanh(x): below 1.25 x^3 times a minimax polynomial in x^2 (weighted least squares, relative error 1.2e-8);
// else a - 1 + 2 / (exp(2 a) + 1).
fn tanhshrink_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  let z = x * x;
  var q = {{F}}(2.29820949e-5) * z + {{F}}(-2.18272663e-4);
  q = q * z + {{F}}(1.01182185e-3);
  q = q * z + {{F}}(-3.24410498e-3);
  q = q * z + {{F}}(8.69268026e-3);
  q = q * z + {{F}}(-2.18207831e-2);
  q = q * z + {{F}}(5.39611158e-2);
  q = q * z + {{F}}(-1.33332923e-1);
  q = q * z + {{F}}(3.33333329e-1);
  let far = (a - {{F}}(1.0)) + {{F}}(2.0) / (exp_{{W}}(min(a, {{F}}(20.0)) * {{F}}(2.0)) + {{F}}(1.0));
  return with_sign_{{W}}(select(far, q * z * a, a < {{F}}(1.25)), x);
}

// Activation functions. Each section starts with `//@ name: sections it needs` and is expanded at vector width 1 or 4:
// F I U B are the types, the functions' names end in the width. Compilers may contract a * b + c.
// Where x * exp(-x) is a number and exp(-x) alone a denormal, the exponential is taken 2^32 times as large.

//@ sigmoid*: exp
// With h = e / (1 + e), e = exp(-|x|): 1 - h, and e - e h below zero, which damp the errors of the quotient.
fn sigmoid_{{W}}(x: {{F}}) -> {{F}} {
  let e = exp_{{W}}(-abs(x));
  let h = e / ({{F}}(1.0) + e);
  let negative = x < {{F}}(0.0);
  let one = select({{F}}(1.0), e, negative);
  return one - one * h;
}

//@ gate*: with_sign
// x sigmoid(v) for v of the sign of x, from e32 = exp(-|v|) 2^32.
fn gate_{{W}}(x: {{F}}, e32: {{F}}) -> {{F}} {
  let e = e32 * {{F}}(2.3283064365386963e-10);
  let h = e / ({{F}}(1.0) + e);
  let negative = x < {{F}}(0.0);
  let one = select({{F}}(1.0), e32, negative);
  let a = select(abs(x), min(abs(x), {{F}}(999.0)), negative);
  let r = a * (one - one * h);
  return with_sign_{{W}}(select(r, r * {{F}}(2.3283064365386963e-10), negative), x);
}

//@ silu*: exp_scaled gate
fn silu_{{W}}(x: {{F}}) -> {{F}} {
  return gate_{{W}}(x, exp_scaled_{{W}}(-abs(x), {{F}}(0.0), {{I}}(32)));
}

//@ gelu_tanh: exp_scaled product_error gate kept
// x sigmoid(v), v = x (c0 + c1 x^2), c0 = sqrt(8 / pi), c1 = 0.044715 c0 (Hendrycks and Gimpel 2016). An error of v is
// one of the result, v times as large: v is computed in two parts.
fn gelu_tanh_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(16.0));
  let z = a * a;
  let p = z * {{F}}(0.0713548139);
  let pl = product_error_{{W}}(z, {{F}}(0.0713548139), p) +
    (product_error_{{W}}(a, a, z) * {{F}}(0.0713548139) + z * {{F}}(2.39883240e-09));
  let s = kept_{{W}}(p + {{F}}(1.59576917));
  // What the sum lost (Knuth's two-sum), and the low parts.
  let part = kept_{{W}}(s - p);
  let sl = ((p - (s - part)) + ({{F}}(1.59576917) - part)) + (pl + {{F}}(-4.53406803e-08));
  let v = a * s;
  let vl = product_error_{{W}}(a, s, v) + a * sl;
  return gate_{{W}}(x, exp_scaled_{{W}}(-v, -vl, {{I}}(32)));
}

//@ normal_tail: product_error kept
// a exp(a^2 / 2) times the standard normal's tail beyond a, for a in 1 .. 14.5: a polynomial in t = 1 / (2 + a)
// (weighted least squares, relative error 8e-9). t is corrected, as its error counts up to 1.4 times.
fn normal_tail_{{W}}(a: {{F}}) -> {{F}} {
  let d = kept_{{W}}({{F}}(2.0) + a);
  let u = {{F}}(1.0) / d;
  let p = d * u;
  let t = u + u * (({{F}}(1.0) - p) - product_error_{{W}}(d, u, p) - u * (({{F}}(2.0) - d) + a));
  var q = {{F}}(8.14603348e1) * t + {{F}}(-1.54130692e2);
  q = q * t + {{F}}(1.0890535e2);
  q = q * t + {{F}}(-2.86661549e1);
  q = q * t + {{F}}(3.92602205e-1);
  q = q * t + {{F}}(-1.98791182);
  q = q * t + {{F}}(-3.75215143e-1);
  q = q * t + {{F}}(-8.0386945e-4);
  return q * t + {{F}}(3.98953915e-1);
}

//@ gelu: exp_scaled product_error normal_tail with_sign isnan
// x times the standard normal's distribution function. Below 1 a polynomial (weighted least squares, relative error
// 7e-10); else by the tail, a^2 in two parts, as its error counts a^2 / 2 times.
fn gelu_{{W}}(x: {{F}}) -> {{F}} {
  let a = min(abs(x), {{F}}(16.0));
  let z = a * a;
  var q = {{F}}(-7.65430415e-6) * z + {{F}}(1.13486636e-4);
  q = q * z + {{F}}(-1.18633021e-3);
  q = q * z + {{F}}(9.97332353e-3);
  q = q * z + {{F}}(-6.64903599e-2);
  q = q * z + {{F}}(3.9894228e-1);
  let h = {{F}}(-0.5) * product_error_{{W}}(a, a, z);
  let tail = normal_tail_{{W}}(a) * exp_scaled_{{W}}({{F}}(-0.5) * z, h, {{I}}(0));
  let far = select(tail, abs(x) - tail, x > {{F}}(0.0));
  let r = select(far, a * (q * x + {{F}}(0.5)), a < {{F}}(1.0));
  return select(with_sign_{{W}}(r, x), x, isnan_{{W}}(x));
}

//@ mish*: exp_scaled with_sign
// x tanh(log(1 + e)), e = exp(x). With n = e (e + 2): x (1 - h), h = 2 / (n + 2), from 20 on x; below zero
// x e (1 - h), h = e (e + 1) / (n + 2).
fn mish_{{W}}(x: {{F}}) -> {{F}} {
  let e32 = exp_scaled_{{W}}(min(x, {{F}}(20.0)), {{F}}(0.0), {{I}}(32));
  let e = e32 * {{F}}(2.3283064365386963e-10);
  let negative = x < {{F}}(0.0);
  let h = select({{F}}(2.0), e * (e + {{F}}(1.0)), negative) / (e * (e + {{F}}(2.0)) + {{F}}(2.0));
  let one = select({{F}}(1.0), e32, negative);
  let r = min(abs(x), {{F}}(999.0)) * (one - one * h);
  let s = with_sign_{{W}}(select(r, r * {{F}}(2.3283064365386963e-10), negative), x);
  return select(s, x, !(x <= {{F}}(20.0)));
}

//@ softplus*: product_error exp_scaled log1p div_f
// log(1 + exp(b x)) / b: max(x, 0) and log1p(exp(-|b x|)) / b, b x in two parts. Where the logarithm
// is its operand, that is scaled: a denormal may be flushed though its quotient by b is none.
fn softplus_{{W}}(x: {{F}}, b: {{F}}) -> {{F}} {
  let t = x * b;
  let low = product_error_{{W}}(x, b, t);
  let tail = abs(t) > {{F}}(40.0);
  let e = exp_scaled_{{W}}(-abs(t), select(-low, low, t < {{F}}(0.0)), select({{I}}(0), {{I}}(64), tail));
  let q = div_f_{{W}}(select(log1p_{{W}}(e), e, tail), b);
  return select({{F}}(0.0), x, t > {{F}}(0.0)) + select(q, q * {{F}}(5.421010862427522e-20), tail);
}

//@ logsigmoid*: exp log1p
fn logsigmoid_{{W}}(x: {{F}}) -> {{F}} {
  return min(x, {{F}}(0.0)) - log1p_{{W}}(exp_{{W}}(-abs(x)));
}

//@ leaky_relu*:
fn leaky_relu_{{W}}(x: {{F}}, slope: {{F}}) -> {{F}} {
  return select(x * slope, x, x > {{F}}(0.0));
}

//@ elu*: expm1
fn elu_{{W}}(x: {{F}}, alpha: {{F}}) -> {{F}} {
  return select(alpha * expm1_{{W}}(x), x, x > {{F}}(0.0));
}

//@ celu: expm1 div_f
// Near zero it is x; the quotient may be a denormal and flushed.
fn celu_{{W}}(x: {{F}}, alpha: {{F}}) -> {{F}} {
  let q = div_f_{{W}}(x, alpha);
  let near = (abs(q) < {{F}}(5.9604644775390625e-8)) & (abs(alpha) <= {{F}}(3.4028234663852886e38));
  return select(alpha * expm1_{{W}}(q), x, (x > {{F}}(0.0)) | near);
}

//@ selu*: expm1
// Klambauer et al. 2017: lambda, and lambda alpha.
fn selu_{{W}}(x: {{F}}) -> {{F}} {
  return select({{F}}(1.7580993408473766) * expm1_{{W}}(x), {{F}}(1.0507009873554805) * x, x > {{F}}(0.0));
}

//@ clip_f*: max_nan min_nan
fn clip_f_{{W}}(x: {{F}}, low: {{F}}, high: {{F}}) -> {{F}} {
  return min_nan_{{W}}(high, max_nan_{{W}}(low, x));
}

//@ hardsigmoid*: clip_f
fn hardsigmoid_{{W}}(x: {{F}}) -> {{F}} {
  return clip_f_{{W}}(x + {{F}}(3.0), {{F}}(0.0), {{F}}(6.0)) * {{F}}(0.16666666666666666);
}

//@ hardswish*: hardsigmoid with_sign
fn hardswish_{{W}}(x: {{F}}) -> {{F}} {
  let a = select(abs(x), min(abs(x), {{F}}(3.0)), x < {{F}}(0.0));
  return with_sign_{{W}}(a * hardsigmoid_{{W}}(x), x);
}

//@ softsign: with_sign
fn softsign_{{W}}(x: {{F}}) -> {{F}} {
  let a = abs(x);
  return with_sign_{{W}}(select(a / ({{F}}(1.0) + a), {{F}}(1.0), a > {{F}}(67108864.0)), x);
}

//@ hardshrink*:
fn hardshrink_{{W}}(x: {{F}}, size: {{F}}) -> {{F}} {
  return select(x, {{F}}(0.0), abs(x) <= size);
}

//@ softshrink*: clip_f
fn softshrink_{{W}}(x: {{F}}, size: {{F}}) -> {{F}} {
  return x - clip_f_{{W}}(x, -size, size);
}

"""erf and erfc in double precision, vectorised.

The rational approximations of fdlibm's `s_erf.c` (Sun Microsystems, 1993), in the manner of W. J. Cody, "Rational
Chebyshev approximations for the error function", Math. Comp. 23 (1969): on |x| < 0.84375 erf(x) = x + x P(x²); up to
1.25 erf(x) = c + P(|x| − 1); beyond, erfc(x) = exp(−x² − 0.5625 + P(1/x²)) / x with −x² split so that it is exact.
Error below 1 ulp. Coefficients from the lowest degree up.
"""

from __future__ import annotations

import numpy as np

from tilegen.numpy_types import Array

_ERX = 8.45062911510467529297e-01
_PP = (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
       -5.77027029648944159157e-03, -2.37630166566501626084e-05)  # fmt: skip
_QQ = (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
       1.32494738004321644526e-04, -3.96022827877536812320e-06)  # fmt: skip
_PA = (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
       3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
       -2.16637559486879084300e-03)  # fmt: skip
_QA = (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
       1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02)  # fmt: skip
_RA = (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
       -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
       -8.12874355063065934246e+01, -9.81432934416914548592e+00)  # fmt: skip
_SA = (1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
       6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
       6.57024977031928170135e+00, -6.04244152148580987438e-02)  # fmt: skip
_RB = (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
       -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
       -4.83519191608651397019e+02)  # fmt: skip
_SB = (1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
       3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
       -2.24409524465858183362e+01)  # fmt: skip


def _ratio(top: tuple[float, ...], bottom: tuple[float, ...], x: Array) -> Array:
    result: Array = _polynomial(top, x) / _polynomial(bottom, x)
    return result


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    result = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        result = result * x + c
    return result


def _tail(x: Array) -> Array:
    """erfc(x) for x ≥ 1.25."""
    s = 1.0 / (x * x)
    ratio = np.where(x < 1 / 0.35, _ratio(_RA, _SA, s), _ratio(_RB, _SB, s))
    # The upper half of the significand: its square is exact.
    z = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    result: Array = np.exp(-z * z - 0.5625) * np.exp((z - x) * (z + x) + ratio) / x
    return result


def erf(x: Array) -> Array:
    """The error function; ±1 at ±inf, NaN at NaN."""
    x = np.asarray(x, np.float64)
    result = np.where(np.isnan(x), x, np.sign(x))
    a = np.abs(x)
    near, middle, far = a < 0.84375, (a >= 0.84375) & (a < 1.25), (a >= 1.25) & (a < 6)
    t = x[near]
    result[near] = t + t * _ratio(_PP, _QQ, t * t)
    result[middle] = np.copysign(_ERX + _ratio(_PA, _QA, a[middle] - 1), x[middle])
    result[far] = np.copysign(1 - _tail(a[far]), x[far])
    return result


def erfc(x: Array) -> Array:
    """1 − erf(x) without cancellation."""
    x = np.asarray(x, np.float64)
    result = np.where(np.isnan(x), x, np.where(x > 0, 0.0, 2.0))
    a = np.abs(x)
    near, middle, far = a < 0.84375, (a >= 0.84375) & (a < 1.25), (a >= 1.25) & (x < 28) & (x > -6)
    t = x[near]
    y = t * _ratio(_PP, _QQ, t * t)
    # Above 1/4 the sum is arranged around 1/2 to keep the last bit.
    result[near] = np.where(t < 0.25, 1 - (t + y), 0.5 - ((t - 0.5) + y))
    p = _ratio(_PA, _QA, a[middle] - 1)
    result[middle] = np.where(x[middle] > 0, (1 - _ERX) - p, 1 + (_ERX + p))
    tail = _tail(a[far])
    result[far] = np.where(x[far] > 0, tail, 2 - tail)
    return result

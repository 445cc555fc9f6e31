"""Many short decimal numbers at once, out of an array of bytes.

A number of at most 15 digits is m / 10^s with m below 2^53 and s at most 22, both exact in
float64, so that one division gives the nearest float64: the same bits as strtod.
"""

from __future__ import annotations

import numpy as np

_DIGITS = 15


def whole_numbers(codes: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    """Numbers of 1 to 15 digits in ``codes[first:last]``; None if anything else is there.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.files._digits import whole_numbers
    >>> codes = np.frombuffer(b"12 345", dtype=np.uint8)
    >>> whole_numbers(codes, np.array([0, 3]), np.array([2, 6]))
    array([ 12, 345])
    """
    length = last - first
    if length.size and (length.min() < 1 or length.max() > _DIGITS):
        return None
    numbers = np.zeros(len(first), dtype=np.int64)
    for k in range(int(length.max(initial=0))):
        alive = slice(None) if k < length.min() else np.flatnonzero(length > k)
        digit = codes[first[alive] + k] - np.uint8(48)  # wraps below "0"
        if np.any(digit > 9):
            return None
        numbers[alive] = numbers[alive] * 10 + digit
    return numbers


def decimal_numbers(
    codes: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with sign and point in ``codes[first:last]``, and which of them were read.

    Those with an exponent or more than 15 digits, and whatever is not a number, are not.
    """
    lead = codes[np.minimum(first, len(codes) - 1)]
    begin = first + ((lead == ord("-")) | (lead == ord("+")))
    length = last - begin
    mantissa = np.zeros(len(first), dtype=np.int64)
    digits, places = np.zeros(len(first), dtype=np.int8), np.full(len(first), -1, dtype=np.int8)
    fine = (length > 0) & (length <= _DIGITS + 1)
    for k in range(min(int(length.max(initial=0)), _DIGITS + 1)):
        alive = np.flatnonzero(fine & (length > k))
        digit = codes[begin[alive] + k] - np.uint8(48)
        number, point = digit <= 9, digit == 254  # "." is two below "0"
        fine[alive] = number | (point & (places[alive] < 0))
        places[alive[point]] = digits[alive[point]]
        alive, digit = alive[number], digit[number]
        mantissa[alive] = mantissa[alive] * 10 + digit
        digits[alive] += 1
    fine &= (digits > 0) & (digits <= _DIGITS)
    after = np.where(places < 0, 0, digits - places)
    values = mantissa / 10.0 ** np.clip(after, 0, 22)
    return np.where(lead == ord("-"), -values, values), fine

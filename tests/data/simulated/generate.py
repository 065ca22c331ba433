#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes the fixtures of single instructions: edge values and random ones, with results computed here in exact
# arithmetic (integers and fractions), independently of the simulated GPU.
#
#   generate.py FOLDER        (rewrites FOLDER/*.fixtures; the same input gives the same output)
#
# A fixture:
#   op add.rn.f32 %d, %0, %1; -> f32 : f32 f32        code, types of results, types of operands
#   bound relative 2e-7                              only where PTX allows an error: results are then f64
#   3f800000 3f800000 = 40000000                     operands = results, in hexadecimal bits
import math
import random
import sys
from fractions import Fraction

random.seed(20260101)
COUNT = 24
out = {}
name = None


class Format:
    def __init__(self, bits, significand, exponent_bits):
        self.bits, self.p, self.e = bits, significand, exponent_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.emin = 1 - self.bias
        self.infinity = ((1 << exponent_bits) - 1) << (significand - 1)
        self.nan = 0x7FFF if bits == 16 else 0x7FFFFFFF if bits == 32 else 0x7FF8000000000000
        self.sign = 1 << (bits - 1)


F16, BF16, F32, F64 = Format(16, 11, 5), Format(16, 8, 8), Format(32, 24, 8), Format(64, 53, 11)
FORMATS = {'f16': F16, 'bf16': BF16, 'f32': F32, 'f64': F64}
NAN, INF = 'nan', 'inf'


def decode(f, bits):
    """(negative, value): value a Fraction, INF or NAN."""
    negative = bool(bits & f.sign)
    magnitude = bits & (f.sign - 1)
    if magnitude > f.infinity:
        return negative, NAN
    if magnitude == f.infinity:
        return negative, INF
    exponent, fraction = magnitude >> (f.p - 1), magnitude & ((1 << (f.p - 1)) - 1)
    if exponent == 0:
        value = Fraction(fraction) * Fraction(2) ** (f.emin - f.p + 1)
    else:
        value = Fraction(fraction + (1 << (f.p - 1))) * Fraction(2) ** (exponent - f.bias - f.p + 1)
    return negative, value


def encode(f, negative, value, mode='rn'):
    """Rounds a magnitude to the format."""
    sign = f.sign if negative else 0
    if value == NAN:
        return f.nan
    if value == INF:
        return sign | f.infinity
    if value == 0:
        return sign
    exponent = max(f.emin, floor_log2(value))
    unit = Fraction(2) ** (exponent - f.p + 1)
    units = value / unit
    kept = units.numerator // units.denominator
    rest = units - kept
    up = {'rn': rest > Fraction(1, 2) or (rest == Fraction(1, 2) and kept & 1), 'rz': False,
          'rp': rest > 0 and not negative, 'rm': rest > 0 and negative}[mode]
    kept += 1 if up else 0
    packed = ((exponent + f.bias - 1) << (f.p - 1)) + kept
    if packed >= f.infinity:
        to_infinity = mode == 'rn' or (mode == 'rp' and not negative) or (mode == 'rm' and negative)
        return sign | (f.infinity if to_infinity else f.infinity - 1)
    return sign | packed


def is_tiny(f, value, mode, negative):
    """Below the least normal number after rounding with an unbounded exponent."""
    if value in (NAN, INF, 0) or value >= Fraction(2) ** f.emin:
        return False
    scaled = encode(f, negative, value * Fraction(2) ** 60, mode)
    return decode(f, scaled)[1] < Fraction(2) ** (f.emin + 60)


def encode_flushed(f, negative, value, mode='rn'):
    return encode(f, negative, 0 if is_tiny(f, value, mode, negative) else value, mode)


def floor_log2(value):
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def signed_value(pair):
    return -pair[1] if pair[0] else pair[1]


def flush(f, bits):
    return bits & f.sign if not bits & f.infinity else bits


def finish(f, bits, ftz, sat, relu=False):
    if ftz:
        bits = flush(f, bits)
    if sat:
        negative, value = decode(f, bits)
        if value == NAN or negative or value == 0:
            return 0
        if value == INF or value > 1:
            return encode(f, False, Fraction(1))
    if relu:
        negative, value = decode(f, bits)
        if value != NAN and negative:
            return 0
    return bits


def exact_sum(f, terms, mode, encode=encode):
    """Terms (negative, magnitude): IEEE sum, rounded once."""
    if any(v == NAN for _, v in terms):
        return f.nan
    infinite = {n for n, v in terms if v == INF}
    if infinite:
        return f.nan if len(infinite) == 2 else encode(f, infinite.pop(), INF)
    total = sum((-v if n else v) for n, v in terms)
    if total == 0:
        signs = {n for n, _ in terms}
        if len(signs) == 1:
            return encode(f, signs.pop(), 0)
        return encode(f, mode == 'rm', 0)
    return encode(f, total < 0, abs(total), mode)


def product(a, b):
    negative = a[0] != b[0]
    if NAN in (a[1], b[1]):
        return negative, NAN
    if INF in (a[1], b[1]):
        return (negative, NAN) if 0 in (a[1], b[1]) else (negative, INF)
    return negative, a[1] * b[1]


def quotient(a, b):
    negative = a[0] != b[0]
    if NAN in (a[1], b[1]) or (a[1] == INF and b[1] == INF) or (a[1] == 0 and b[1] == 0):
        return negative, NAN
    if a[1] == INF or b[1] == 0:
        return negative, INF
    return (negative, Fraction(0)) if b[1] == INF else (negative, a[1] / b[1])


def root(a):
    if a[1] == NAN or (a[0] and a[1] != 0):
        return False, NAN
    if a[1] in (INF, 0):
        return a
    shift = 160 - a[1].numerator.bit_length() + a[1].denominator.bit_length()
    shift += shift & 1
    shift = max(shift, 0) + 400
    scaled = a[1] * Fraction(2) ** shift
    whole = scaled.numerator // scaled.denominator
    r = math.isqrt(whole)
    exact = r * r == scaled
    return False, Fraction(2 * r + (0 if exact else 1), 2) / Fraction(2) ** (shift // 2)


# --- values ---------------------------------------------------------------------------------------------------------
def bits_of(t):
    return {'pred': 1, 'f16x2': 32, 'bf16x2': 32, 'u16x2': 32, 's16x2': 32, 'bf16': 16}.get(t) or int(''.join(c for c in t if c.isdigit()))


def is_signed(t):
    return t[0] == 's'


def to_int(t, bits):
    n = bits_of(t)
    bits &= (1 << n) - 1
    return bits - (1 << n) if is_signed(t) and bits >> (n - 1) else bits


def wrap(t, value):
    return value & ((1 << bits_of(t)) - 1)


def random_value(t):
    n = bits_of(t)
    if t in FORMATS:
        f = FORMATS[t]
        one = f.bias << (f.p - 1)
        edges = [0, 1, f.infinity - 1, f.infinity, f.nan, one, one + 1, one - 1, 1 << (f.p - 1), (1 << (f.p - 1)) - 1,
                 one + (1 << (f.p - 2)), one + (1 << (f.p - 1)), one - (1 << (f.p - 1)),
                 encode(f, False, Fraction(5, 2)), encode(f, False, Fraction(7, 2)), encode(f, False, Fraction(1, 3))]
        kind = random.random()
        if kind < 0.35:
            return random.choice(edges) | random.choice([0, f.sign])
        if kind < 0.75:
            return random.choice([0, f.sign]) | (one + random.randrange(-6, 7) * (1 << (f.p - 1)) + random.randrange(1 << (f.p - 1)))
        bits = random.getrandbits(n)
        return f.nan if bits & (f.sign - 1) > f.infinity else bits
    if t in ('f16x2', 'bf16x2'):
        half = t[:-2]
        return random_value(half) << 16 | random_value(half)
    edges = [0, 1, 2, 3, 5, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x5555555555555555, -1, -2, -3, -31, -32,
             1 << (n - 1), (1 << (n - 1)) - 1, (1 << (n - 1)) + 1]
    if random.random() < 0.5:
        return random.choice(edges) & ((1 << n) - 1)
    return random.getrandbits(n) >> random.choice([0, 0, 0, n // 2])


def fixture(code, results, operands, reference, count=COUNT, bound=None, pick=None):
    """Adds a fixture; `reference` takes operand bits and gives result bits (or a tuple of them)."""
    lines = [f'op {code} -> {" ".join(results)} : {" ".join(operands)}']
    if bound:
        lines.append(f'bound {bound}')
    for i in range(count):
        values = pick(i) if pick else [random_value(t) for t in operands]
        got = reference(*values)
        if got is None:
            continue
        got = got if isinstance(got, tuple) else (got,)
        widths = [16] * len(results) if bound else [max(1, bits_of(t) // 4) for t in results]
        lines.append(' '.join(f'{v:0{max(1, bits_of(t) // 4)}x}' for v, t in zip(values, operands)) + ' = ' +
                     ' '.join(f'{v:0{w}x}' for v, w in zip(got, widths)))
    out.setdefault(name, []).append('\n'.join(lines))


def simple(op, result, operands, reference, **keys):
    places = ', '.join(f'%{i}' for i in range(len(operands)))
    fixture(f'{op} %d, {places};', [result], operands, reference, **keys)


# --- integers -------------------------------------------------------------------------------------------------------
def clamp(value, low, high):
    return max(low, min(high, value))


def truncated_division(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def integers():
    types = ['u16', 's16', 'u32', 's32', 'u64', 's64']
    for t in types:
        i = lambda bits, t=t: to_int(t, bits)
        w = lambda value, t=t: wrap(t, value)
        n = bits_of(t)
        simple(f'add.{t}', t, [t, t], lambda a, b: w(i(a) + i(b)))
        simple(f'sub.{t}', t, [t, t], lambda a, b: w(i(a) - i(b)))
        simple(f'mul.lo.{t}', t, [t, t], lambda a, b: w(i(a) * i(b)))
        simple(f'mul.hi.{t}', t, [t, t], lambda a, b: w((i(a) * i(b)) >> n))
        simple(f'mad.lo.{t}', t, [t, t, t], lambda a, b, c: w(i(a) * i(b) + i(c)))
        simple(f'mad.hi.{t}', t, [t, t, t], lambda a, b, c: w(((i(a) * i(b)) >> n) + i(c)))
        simple(f'sad.{t}', t, [t, t, t], lambda a, b, c: w(i(c) + abs(i(a) - i(b))))
        # Division by zero is unspecified; this is what an H200 gives.
        simple(f'div.{t}', t, [t, t], lambda a, b: w(-1) if b == 0 else w(truncated_division(i(a), i(b))))
        simple(f'rem.{t}', t, [t, t], lambda a, b: w(-1) if b == 0 else w(i(a) - i(b) * truncated_division(i(a), i(b))))
        simple(f'min.{t}', t, [t, t], lambda a, b: w(min(i(a), i(b))))
        simple(f'max.{t}', t, [t, t], lambda a, b: w(max(i(a), i(b))))
        if t[0] == 's':
            simple(f'abs.{t}', t, [t], lambda a: w(abs(i(a))))
            simple(f'neg.{t}', t, [t], lambda a: w(-i(a)))
        if n < 64:
            wide = t[0] + str(2 * n)
            simple(f'mul.wide.{t}', wide, [t, t], lambda a, b: wrap(wide, i(a) * i(b)))
            simple(f'mad.wide.{t}', wide, [t, t, wide], lambda a, b, c: wrap(wide, i(a) * i(b) + to_int(wide, c)))
        for cmp in ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] + (['lo', 'ls', 'hi', 'hs'] if t[0] == 'u' else []):
            compare = {'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b,
                       'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b}
            compare = {**compare, 'lo': compare['lt'], 'ls': compare['le'], 'hi': compare['gt'], 'hs': compare['ge']}[cmp]
            simple(f'setp.{cmp}.{t}', 'pred', [t, t], lambda a, b: int(compare(i(a), i(b))), count=24)
    lo, hi = -2**31, 2**31 - 1
    s = lambda bits: to_int('s32', bits)
    S = lambda value: wrap('s32', value)
    simple('add.sat.s32', 's32', ['s32', 's32'], lambda a, b: S(clamp(s(a) + s(b), lo, hi)))
    simple('sub.sat.s32', 's32', ['s32', 's32'], lambda a, b: S(clamp(s(a) - s(b), lo, hi)))
    simple('mad.hi.sat.s32', 's32', ['s32'] * 3, lambda a, b, c: S(clamp((s(a) * s(b) >> 32) + s(c), lo, hi)))
    simple('max.relu.s32', 's32', ['s32', 's32'], lambda a, b: S(max(s(a), s(b), 0)))
    simple('min.relu.s32', 's32', ['s32', 's32'], lambda a, b: S(max(min(s(a), s(b)), 0)))
    for t in ['u32', 's32']:
        low24 = lambda x, t=t: (x & 0xFFFFFF) - (0x1000000 if t == 's32' and x & 0x800000 else 0)
        w = lambda value, t=t: wrap(t, value)
        simple(f'mul24.lo.{t}', t, [t, t], lambda a, b: w(low24(a) * low24(b)))
        simple(f'mul24.hi.{t}', t, [t, t], lambda a, b: w(low24(a) * low24(b) >> 16))
        simple(f'mad24.lo.{t}', t, [t] * 3, lambda a, b, c: w(low24(a) * low24(b) + c))
        simple(f'mad24.hi.{t}', t, [t] * 3, lambda a, b, c: w((low24(a) * low24(b) >> 16) + c))
    low24 = lambda x: (x & 0xFFFFFF) - (0x1000000 if x & 0x800000 else 0)
    simple('mad24.hi.sat.s32', 's32', ['s32'] * 3,
           lambda a, b, c: S(clamp(to_int('s32', low24(a) * low24(b) >> 16) + s(c), lo, hi)))
    for t in ['u16x2', 's16x2']:
        e = t[:-2]
        pair = lambda f, a, b, e=e: wrap(e, f(to_int(e, a >> 16), to_int(e, b >> 16))) << 16 | wrap(e, f(to_int(e, a), to_int(e, b)))
        simple(f'add.{t}', t, [t, t], lambda a, b: pair(lambda x, y: x + y, a, b))
        simple(f'min.{t}', t, [t, t], lambda a, b: pair(min, a, b))
        simple(f'max.{t}', t, [t, t], lambda a, b: pair(max, a, b))
    simple('max.relu.s16x2', 's16x2', ['s16x2'] * 2, lambda a, b: pair(lambda x, y: max(x, y, 0), a, b))
    extended()
    bit_operations()


def extended():
    for t in ['u32', 'u64', 's32', 's64']:
        n, m = bits_of(t), (1 << bits_of(t)) - 1
        i = lambda bits, t=t: to_int(t, bits)
        fixture(f'add.cc.{t} %d, %0, %1; addc.{t} %e, %2, %3;', [t, t], [t] * 4,
                lambda a, b, c, d: ((a + b) & m, (c + d + (a + b >> n)) & m))
        fixture(f'add.cc.{t} %d, %0, %1; addc.cc.{t} %d, %2, %3; addc.{t} %e, 0, 0;', [t, t], [t] * 4,
                lambda a, b, c, d: ((c + d + (a + b >> n)) & m, c + d + (a + b >> n) >> n))
        fixture(f'sub.cc.{t} %d, %0, %1; subc.{t} %e, %2, %3;', [t, t], [t] * 4,
                lambda a, b, c, d: ((a - b) & m, (c - d - (1 if a < b else 0)) & m))
        fixture(f'sub.cc.{t} %d, %0, %1; subc.cc.{t} %d, %2, %3; subc.{t} %e, 0, 0;', [t, t], [t] * 4,
                lambda a, b, c, d: ((c - d - (1 if a < b else 0)) & m, -(1 if c - d - (1 if a < b else 0) < 0 else 0) & m))
        fixture(f'mad.lo.cc.{t} %d, %0, %1, %2; madc.hi.{t} %e, %0, %1, %3;', [t, t], [t] * 4,
                lambda a, b, c, d: ((a * b + c) & m, ((i(a) * i(b) >> n) + d + ((a * b & m) + c >> n)) & m))
        fixture(f'mad.hi.cc.{t} %d, %0, %1, %2; madc.lo.cc.{t} %d, %0, %1, %3; addc.{t} %e, 0, 0;', [t, t], [t] * 4,
                lambda a, b, c, d: (((a * b & m) + d + ((i(a) * i(b) >> n & m) + c >> n)) & m,
                                    (a * b & m) + d + ((i(a) * i(b) >> n & m) + c >> n) >> n))


def bit_operations():
    for t in ['b32', 'b64']:
        n = bits_of(t)
        m = (1 << n) - 1
        simple(f'popc.{t}', 'u32', [t], lambda a: bin(a).count('1'))
        simple(f'clz.{t}', 'u32', [t], lambda a: n - a.bit_length())
        simple(f'brev.{t}', t, [t], lambda a: int(f'{a:0{n}b}'[::-1], 2))

        def insert(a, b, c, d):
            c, d = c & 255, d & 255
            for k in range(d):
                if c + k < n:
                    b = b & ~(1 << (c + k)) | (a >> k & 1) << (c + k)
            return b
        # Positions and lengths above 255 are unspecified.
        simple(f'bfi.{t}', t, [t, t, 'u32', 'u32'], insert,
               pick=lambda i: [random_value(t), random_value(t), random.randrange(0, n + 4), random.choice([0, 1, 5, n // 2, n, 255])])
    for t in ['u32', 's32', 'u64', 's64']:
        n = bits_of(t)

        def extract(a, b, c, t=t, n=n):
            b, c = b & 255, c & 255
            sign = a >> min(b + c - 1, n - 1) & 1 if t[0] == 's' and c else 0
            return sum((a >> (b + k) & 1 if k < c and b + k < n else sign) << k for k in range(n))
        simple(f'bfe.{t}', t, [t, 'u32', 'u32'], extract,
               pick=lambda i: [random_value(t), random.randrange(0, n + 4), random.choice([0, 1, 5, n // 2, n, 255])])

        def highest(a, shift, t=t, n=n):
            if t[0] == 's' and a >> (n - 1):
                a = ~a & ((1 << n) - 1)
            return 0xFFFFFFFF if a == 0 else (n - a.bit_length() if shift else a.bit_length() - 1)
        simple(f'bfind.{t}', 'u32', [t], lambda a: highest(a, False))
        simple(f'bfind.shiftamt.{t}', 'u32', [t], lambda a: highest(a, True))

    def nth(mask, base, offset):
        offset = to_int('s32', offset)
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = [k for k in (range(base, 32) if offset > 0 else range(base, -1, -1)) if mask >> k & 1]
        return places[abs(offset) - 1] if abs(offset) <= len(places) else 0xFFFFFFFF
    simple('fns.b32', 'b32', ['b32', 'b32', 's32'], nth,
           pick=lambda i: [random.getrandbits(32), random.randrange(32), random.choice([0, 1, 2, 3, -1, -2, 9, -20]) & 0xFFFFFFFF])
    M = 0xFFFFFFFF
    simple('bmsk.clamp.b32', 'b32', ['b32', 'b32'], lambda a, b: (((1 << min(b, 32)) - 1) << min(a, 32)) & M)
    simple('bmsk.wrap.b32', 'b32', ['b32', 'b32'], lambda a, b: (((1 << (b & 31)) - 1) << (a & 31)) & M)
    for mode in ['clamp', 'wrap']:
        for t in ['u32', 's32']:
            def extend(a, b, mode=mode, t=t):
                b = min(b, 32) if mode == 'clamp' else b & 31
                a &= (1 << b) - 1
                return wrap(t, a - (1 << b) if t == 's32' and b and a >> (b - 1) else a)
            simple(f'szext.{mode}.{t}', t, [t, 'u32'], extend)
    for a_type in ['u32', 's32']:
        for b_type in ['u32', 's32']:
            d = 'u32' if (a_type, b_type) == ('u32', 'u32') else 's32'
            byte = lambda x, k, t: to_int(t[0] + '8', x >> 8 * k)
            half = lambda x, k, t: to_int(t[0] + '16', x >> 16 * k)
            simple(f'dp4a.{a_type}.{b_type}', d, [a_type, b_type, d],
                   lambda a, b, c: (c + sum(byte(a, k, a_type) * byte(b, k, b_type) for k in range(4))) & M)
            for which in ['lo', 'hi']:
                simple(f'dp2a.{which}.{a_type}.{b_type}', d, [a_type, b_type, d],
                       lambda a, b, c: (c + sum(half(a, k, a_type) * byte(b, k + (2 if which == 'hi' else 0), b_type)
                                                for k in range(2))) & M)


# --- logic ----------------------------------------------------------------------------------------------------------
def logic():
    for t in ['pred', 'b16', 'b32', 'b64']:
        m = (1 << bits_of(t)) - 1
        simple(f'and.{t}', t, [t, t], lambda a, b: a & b)
        simple(f'or.{t}', t, [t, t], lambda a, b: a | b)
        simple(f'xor.{t}', t, [t, t], lambda a, b: a ^ b)
        simple(f'not.{t}', t, [t], lambda a: ~a & m)
        simple(f'mov.{t}', t, [t], lambda a: a)
        if t == 'pred':
            continue
        simple(f'cnot.{t}', t, [t], lambda a: int(a == 0))
        n = bits_of(t)
        simple(f'shl.{t}', t, [t, 'u32'], lambda a, b: (a << min(b, n)) & m)
        for s in ['b', 'u', 's']:
            st = f'{s}{n}'
            simple(f'shr.{st}', st, [st, 'u32'], lambda a, b: wrap(st, to_int(st, a) >> min(b, n)))
        for s in [t, f'u{n}', f's{n}', f'f{n}']:
            if s == 'f16':
                continue
            simple(f'selp.{s}', s, [s, s, 'pred'], lambda a, b, c: a if c else b, count=16)
            simple(f'slct.{s}.s32', s, [s, s, 's32'], lambda a, b, c: a if to_int('s32', c) >= 0 else b, count=16)
            negative = lambda c: decode(F32, c)[1] == NAN or (decode(F32, c)[0] and decode(F32, c)[1] != 0)
            simple(f'slct.{s}.f32', s, [s, s, 'f32'], lambda a, b, c: b if negative(c) else a, count=16)
            simple(f'slct.ftz.{s}.f32', s, [s, s, 'f32'], lambda a, b, c: b if negative(flush(F32, c)) else a, count=16)
    M = 0xFFFFFFFF
    fixture('selp.b32 %d, %0, %1, %2;', ['b32'], ['b32', 'b32', 'pred'], lambda a, b, c: a if c else b)
    for table in [0x00, 0x01, 0x80, 0x96, 0xE8, 0xCA, 0x3C, 0x12, 0xFF]:
        fixture(f'lop3.b32 %d, %0, %1, %2, {table};', ['b32'], ['b32'] * 3,
                lambda a, b, c: sum((table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k for k in range(32)),
                count=12)
    for mode in ['clamp', 'wrap']:
        n = (lambda c: min(c, 32)) if mode == 'clamp' else (lambda c: c & 31)
        simple(f'shf.l.{mode}.b32', 'b32', ['b32', 'b32', 'u32'], lambda a, b, c: ((b << 32 | a) << n(c) >> 32) & M)
        simple(f'shf.r.{mode}.b32', 'b32', ['b32', 'b32', 'u32'], lambda a, b, c: ((b << 32 | a) >> n(c)) & M)
    # The selections of the table in the ISA, byte 3 first.
    tables = {'f4e': ['3210', '4321', '5432', '6543'], 'b4e': ['5670', '6701', '7012', '0123'],
              'rc8': ['0000', '1111', '2222', '3333'], 'ecl': ['3210', '3211', '3222', '3333'],
              'ecr': ['0000', '1110', '2210', '3210'], 'rc16': ['1010', '3232', '1010', '3232']}
    bytes_of = lambda a, b: [(b << 32 | a) >> 8 * k & 255 for k in range(8)]
    for mode, table in tables.items():
        simple(f'prmt.b32.{mode}', 'b32', ['b32', 'b32', 'b32'],
               lambda a, b, c: int.from_bytes(bytes(bytes_of(a, b)[int(d)] for d in table[c & 3]), 'big'), count=16)

    def generic(a, b, c):
        result = 0
        for k in range(4):
            s = c >> 4 * k & 15
            value = bytes_of(a, b)[s & 7]
            result |= ((255 if value & 128 else 0) if s & 8 else value) << 8 * k
        return result
    simple('prmt.b32', 'b32', ['b32', 'b32', 'b32'], generic)
    for combine, f in {'and': lambda x, y: x & y, 'or': lambda x, y: x | y, 'xor': lambda x, y: x ^ y}.items():
        fixture(f'setp.lt.{combine}.s32 %d|%e, %0, %1, %2;', ['pred', 'pred'], ['s32', 's32', 'pred'],
                lambda a, b, c: (f(int(to_int('s32', a) < to_int('s32', b)), c), f(int(to_int('s32', a) >= to_int('s32', b)), c)),
                count=24)
        fixture(f'setp.eq.{combine}.u32 %d, %0, %1, !%2;', ['pred'], ['u32', 'u32', 'pred'],
                lambda a, b, c: f(int(a == b), 1 - c), count=24)
    fixture('setp.eq.b16 %d, %0, %1;', ['pred'], ['b16', 'b16'], lambda a, b: int(a == b), count=12)
    fixture('setp.ne.b64 %d, %0, %1;', ['pred'], ['b64', 'b64'], lambda a, b: int(a != b), count=12)
    simple('set.lt.u32.s32', 'u32', ['s32', 's32'], lambda a, b: M if to_int('s32', a) < to_int('s32', b) else 0, count=24)
    simple('set.gt.f32.u64', 'f32', ['u64', 'u64'], lambda a, b: 0x3F800000 if a > b else 0, count=24)
    fixture('set.eq.and.s32.u32 %d, %0, %1, %2;', ['s32'], ['u32', 'u32', 'pred'], lambda a, b, c: M if a == b and c else 0, count=24)
    moves()


def moves():
    fixture('mov.b64 {%d, %e}, %0;', ['b32', 'b32'], ['b64'], lambda a: (a & 0xFFFFFFFF, a >> 32), count=8)
    fixture('mov.b64 %d, {%0, %1};', ['b64'], ['b32', 'b32'], lambda a, b: b << 32 | a, count=8)
    fixture('mov.b32 {%d, %e}, %0;', ['b16', 'b16'], ['b32'], lambda a: (a & 0xFFFF, a >> 16), count=8)
    fixture('mov.b32 %d, {%0, %1};', ['b32'], ['b16', 'b16'], lambda a, b: b << 16 | a, count=8)
    fixture('mov.b64 %d, {%0, %1, %2, %3};', ['b64'], ['b16'] * 4, lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a, count=8)
    fixture('mov.b64 {_, %d}, %0;', ['b32'], ['b64'], lambda a: a >> 32, count=8)
    fixture('mov.f32 %d, 0f40490FDB;', ['f32'], ['b32'], lambda a: 0x40490FDB, count=1)
    fixture('mov.f64 %d, 0d400921FB54442D18;', ['f64'], ['b32'], lambda a: 0x400921FB54442D18, count=1)
    fixture('mov.f32 %d, 1.5;', ['f32'], ['b32'], lambda a: 0x3FC00000, count=1)
    fixture('mov.u64 %d, -2;', ['u64'], ['b32'], lambda a: 2**64 - 2, count=1)
    fixture('mov.u16 %d, 0xFFFE;', ['u16'], ['b32'], lambda a: 0xFFFE, count=1)
    # Loads and stores: through each space, with extension to wider registers.
    for space, base in {'global': '%buf', 'shared': '%sh', 'local': '%loc'}.items():
        for t in ['u8', 's8', 'b8', 'u16', 's16', 'b16', 'u32', 's32', 'b32', 'f32', 'u64', 's64', 'f64', 'b64']:
            n = bits_of(t)
            if n < 64:
                fixture(f'st.{space}.b{n} [{base}+8], %0; ld.{space}.{t} %d, [{base}+8];', ['b32' if n < 32 else t], ['b32' if n < 32 else t],
                        lambda a: to_int(t, a) & 0xFFFFFFFF if t[0] != 'f' else a, count=6)
                if t[0] != 'f':
                    fixture(f'st.{space}.{t} [{base}], %0; ld.{space}.{t} %d, [{base}];', ['b64'], ['b64'],
                            lambda a: to_int(t, a) & (2**64 - 1), count=6)
            else:
                fixture(f'st.{space}.{t} [{base}], %0; ld.{space}.{t} %d, [{base}];', [t], [t], lambda a: a, count=6)
        fixture(f'st.{space}.v2.u32 [{base}], {{%0, %1}}; ld.{space}.v2.u32 {{%d, %e}}, [{base}];', ['u32', 'u32'], ['u32', 'u32'],
                lambda a, b: (a, b), count=6)
        fixture(f'st.{space}.v4.u16 [{base}], {{%0, %1, %2, %3}}; ld.{space}.v2.u32 {{%d, %e}}, [{base}];', ['u32', 'u32'], ['u16'] * 4,
                lambda a, b, c, d: (b << 16 | a, d << 16 | c), count=6)
        fixture(f'st.{space}.v2.f64 [{base}], {{%0, %1}}; ld.{space}.v4.b32 {{%d, _, _, %e}}, [{base}];', ['b32', 'b32'], ['f64', 'f64'],
                lambda a, b: (a & 0xFFFFFFFF, b >> 32), count=6)
        fixture(f'cvta.{space}.u64 %x, {base}; st.u32 [%x+4], %0; ld.{space}.u32 %d, [{base}+4];', ['u32'], ['u32'], lambda a: a, count=4)
        fixture(f'cvta.{space}.u64 %x, {base}; cvta.to.{space}.u64 %x, %x; st.{space}.u32 [%x], %0; ld.{space}.u32 %d, [{base}];',
                ['u32'], ['u32'], lambda a: a, count=4)
        fixture(f'cvta.{space}.u64 %x, {base}; isspacep.{space} %d, %x; isspacep.{"local" if space == "shared" else "shared"} %e, %x;',
                ['pred', 'pred'], ['u32'], lambda a: (1, 0), count=2)
    fixture('st.volatile.global.u32 [%buf], %0; ld.relaxed.gpu.global.u32 %d, [%buf];', ['u32'], ['u32'], lambda a: a, count=4)
    fixture('st.release.sys.global.u32 [%buf], %0; membar.gl; fence.acq_rel.gpu; ld.acquire.gpu.global.u32 %d, [%buf];', ['u32'], ['u32'],
            lambda a: a, count=4)
    fixture('ld.global.nc.L1::no_allocate.u32 %d, [%pin];', ['u32'], ['u32'], lambda a: a, count=4)
    fixture('st.global.u32 [%buf], %0; ldu.global.u32 %d, [%buf];', ['u32'], ['u32'], lambda a: a, count=4)
    fixture('discard.global.L2 [%buf], 128; applypriority.global.L2::evict_normal [%buf], 128; mov.u32 %d, %0;', ['u32'], ['u32'], lambda a: a, count=1)
    fixture('prefetch.global.L1 [%buf]; prefetchu.L1 [%buf]; pmevent 1; nanosleep.u32 1; mov.u32 %d, %0;', ['u32'], ['u32'], lambda a: a, count=4)
    atomics()


def atomics():
    for space, base in {'global': '%buf', 'shared': '%sh'}.items():
        for t in ['u32', 's32', 'u64', 's64']:
            i = lambda bits, t=t: to_int(t, bits)
            w = lambda value, t=t: wrap(t, value)
            n = bits_of(t)

            def both(op, ty, f, count=12):
                fixture(f'st.{space}.b{n} [{base}], %0; atom.{space}.{op}.{ty} %d, [{base}], %1; ld.{space}.b{n} %e, [{base}];', [t, t],
                        [t, t], lambda a, b: (a, f(a, b)), count=count)
                if op != 'exch':
                    fixture(f'st.{space}.b{n} [{base}], %0; red.{space}.{op}.{ty} [{base}], %1; ld.{space}.b{n} %d, [{base}];', [t],
                            [t, t], lambda a, b: f(a, b), count=6)
            if t != 's64':
                both('add', t, lambda a, b: w(a + b))
            both('min', t, lambda a, b: w(min(i(a), i(b))))
            both('max', t, lambda a, b: w(max(i(a), i(b))))
            if t[0] == 'u':
                both('and', f'b{n}', lambda a, b: a & b)
                both('or', f'b{n}', lambda a, b: a | b)
                both('xor', f'b{n}', lambda a, b: a ^ b)
                both('exch', f'b{n}', lambda a, b: b)
                fixture(f'st.{space}.b{n} [{base}], %0; atom.{space}.cas.b{n} %d, [{base}], %1, %2; ld.{space}.b{n} %e, [{base}];', [t, t],
                        [t, t, t], lambda a, b, c: (a, c if a == b else a),
                        pick=lambda k: [k % 3, 1, random_value(t)], count=9)
            if t == 'u32':
                both('inc', t, lambda a, b: 0 if a >= b else a + 1)
                both('dec', t, lambda a, b: b if a == 0 or a > b else a - 1)
        for t in ['f64', 'f16x2', 'bf16x2', 'f16', 'bf16']:
            if space == 'shared' and t != 'f64':
                continue
            noftz = '.noftz' if t != 'f64' else ''
            n = bits_of(t)
            if t.endswith('x2'):
                f = FORMATS[t[:-2]]
                add = lambda a, b: (exact_sum(f, [decode(f, a >> 16), decode(f, b >> 16)], 'rn') << 16 |
                                    exact_sum(f, [decode(f, a & 0xFFFF), decode(f, b & 0xFFFF)], 'rn'))
            else:
                f = FORMATS[t]
                add = lambda a, b: exact_sum(f, [decode(f, a), decode(f, b)], 'rn')
            fixture(f'st.{space}.b{n} [{base}], %0; atom.{space}.add{noftz}.{t} %d, [{base}], %1; ld.{space}.b{n} %e, [{base}];', [t, t],
                    [t, t], lambda a, b: (a, add(a, b)), count=16)
    # f32: subnormals are left out, which hardware flushes in global memory and keeps in shared memory.
    tame = lambda k: [encode(F32, random.random() < 0.5, Fraction(random.randrange(1, 2**24)) * Fraction(2)**random.randrange(-20, 20)) for _ in range(2)]
    fixture('st.global.b32 [%buf], %0; atom.global.add.f32 %d, [%buf], %1; ld.global.b32 %e, [%buf];', ['f32', 'f32'], ['f32', 'f32'],
            lambda a, b: (a, exact_sum(F32, [decode(F32, a), decode(F32, b)], 'rn')), pick=tame)
    fixture('st.global.b16 [%buf], %0; atom.global.cas.b16 %d, [%buf], %1, %2; ld.global.b16 %e, [%buf];', ['b16', 'b16'], ['b16'] * 3,
            lambda a, b, c: (a, c if a == b else a), pick=lambda k: [k % 3, 1, random_value('b16')], count=9)
    fixture('st.global.u32 [%buf], %0; atom.add.release.gpu.u32 %d, [%buf], %1; ld.global.u32 %e, [%buf];', ['u32', 'u32'], ['u32', 'u32'],
            lambda a, b: (a, (a + b) & 0xFFFFFFFF), count=4)


# --- floats ---------------------------------------------------------------------------------------------------------
def exact_floats():
    for t in ['f32', 'f64']:
        f = FORMATS[t]
        for mode in ['rn', 'rz', 'rm', 'rp']:
            for ftz in ([False, True] if t == 'f32' else [False]):
                for sat in ([False, True] if t == 'f32' and mode in ('rn', 'rm') else [False]):
                    d = lambda bits: decode(f, flush(f, bits) if ftz else bits)
                    e = lambda bits: finish(f, bits, ftz, sat)
                    en = encode_flushed if ftz else encode
                    z = ('.ftz' if ftz else '') + ('.sat' if sat else '')
                    minus = lambda x: (not x[0], x[1])
                    if t == 'f32' and ftz:
                        edge = lambda k: [[0x3F7FFFFF, 0x3F7FFFFF, 0xBF7FFFFF, 0x3F7FFFFE][k], [0x800000, 0x800001, 0x800000, 0x800001][k]]
                        simple(f'mul.{mode}{z}.{t}', t, [t, t], lambda a, b: e(en(f, *product(d(a), d(b)), mode)), pick=edge, count=4)
                        simple(f'fma.{mode}{z}.{t}', t, [t, t, t], lambda a, b, c: e(exact_sum(f, [product(d(a), d(b)), d(c)], mode, en)),
                               pick=lambda k: edge(k) + [0], count=4)
                    simple(f'add.{mode}{z}.{t}', t, [t, t], lambda a, b: e(exact_sum(f, [d(a), d(b)], mode)))
                    simple(f'sub.{mode}{z}.{t}', t, [t, t], lambda a, b: e(exact_sum(f, [d(a), minus(d(b))], mode)))
                    simple(f'mul.{mode}{z}.{t}', t, [t, t], lambda a, b: e(en(f, *product(d(a), d(b)), mode)))
                    fma = lambda a, b, c: e(exact_sum(f, [product(d(a), d(b)), d(c)], mode, en))
                    simple(f'fma.{mode}{z}.{t}', t, [t, t, t], fma)
                    if mode == 'rn':
                        simple(f'mad.{mode}{z}.{t}', t, [t, t, t], fma, count=16)
                    if not sat:
                        simple(f'div.{mode}{z}.{t}', t, [t, t], lambda a, b: e(en(f, *quotient(d(a), d(b)), mode)))
                        one = (False, Fraction(1))
                        simple(f'rcp.{mode}{z}.{t}', t, [t], lambda a: e(en(f, *quotient(one, d(a)), mode)))
                        simple(f'sqrt.{mode}{z}.{t}', t, [t], lambda a: e(encode(f, *root(d(a)), mode)))
        simple(f'add.{t}', t, [t, t], lambda a, b: exact_sum(f, [decode(f, a), decode(f, b)], 'rn'), count=8)
        signs(t, f)
        comparisons(t)
    for t in ['f16', 'bf16']:
        comparisons(t)


def signs(t, f):
    number = lambda bits: None if decode(f, bits)[1] == NAN else bits
    for ftz in ([False, True] if t == 'f32' else [False]):
        z = '.ftz' if ftz else ''
        inp = lambda bits: flush(f, bits) if ftz else bits
        # The sign of a NaN is not specified: left out.
        simple(f'abs{z}.{t}', t, [t], lambda a: None if number(a) is None else inp(a) & ~f.sign)
        simple(f'neg{z}.{t}', t, [t], lambda a: None if number(a) is None else inp(a) ^ f.sign)
        for which in ['min', 'max']:
            for nan in ([False, True] if t != 'f64' else [False]):
                for xor in ([False, True] if t != 'f64' and not ftz else [False]):
                    def extremum(a, b):
                        a, b = inp(a), inp(b)
                        sign = (a ^ b) & f.sign
                        if xor:
                            a, b = a & ~f.sign, b & ~f.sign
                        x, y = decode(f, a), decode(f, b)
                        if NAN in (x[1], y[1]):
                            if nan or x[1] == y[1] == NAN:
                                return f.nan
                            r = b if x[1] == NAN else a
                        else:
                            order = lambda p: (-1 if p[0] else 1) * (p[1] if p[1] != INF else Fraction(2)**2000)
                            key = lambda bits: (order(decode(f, bits)), 0 if bits & f.sign else 1)
                            r = (min if which == 'min' else max)(a, b, key=key)
                        return r & ~f.sign | sign if xor else r
                    tail = ('.NaN' if nan else '') + ('.xorsign.abs' if xor else '')
                    simple(f'{which}{z}{tail}.{t}', t, [t, t], extremum)
    simple(f'copysign.{t}', t, [t, t], lambda a, b: a & f.sign | b & ~f.sign)
    tests = {'finite': lambda v, s: v not in (NAN, INF), 'infinite': lambda v, s: v == INF, 'number': lambda v, s: v != NAN,
             'notanumber': lambda v, s: v == NAN, 'normal': lambda v, s: v not in (NAN, INF) and (not s or v == 0),  # zeros are normal
             'subnormal': lambda v, s: v not in (NAN, INF, 0) and s}
    for test, g in tests.items():
        simple(f'testp.{test}.{t}', 'pred', [t], lambda a: int(g(decode(f, a)[1], not a & f.infinity)))


def comparisons(t):
    f = FORMATS[t]
    order = lambda p: (-1 if p[0] else 1) * (p[1] if p[1] != INF else Fraction(2)**2000)
    base = {'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b,
            'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b}
    for cmp in list(base) + [c + 'u' for c in base] + ['num', 'nan']:
        cmp = {'equ': 'equ', 'neu': 'neu', 'ltu': 'ltu', 'leu': 'leu', 'gtu': 'gtu', 'geu': 'geu'}.get(cmp, cmp)
        for ftz in ([False, True] if t == 'f32' else [False]):
            def compare(a, b):
                x, y = (decode(f, flush(f, v) if ftz else v) for v in (a, b))
                unordered = NAN in (x[1], y[1])
                if cmp in ('num', 'nan'):
                    return int(unordered == (cmp == 'nan'))
                if unordered:
                    return int(cmp.endswith('u') and len(cmp) == 3)
                return int(base[cmp[:2]](order(x), order(y)))
            simple(f'setp.{cmp}{".ftz" if ftz else ""}.{t}', 'pred', [t, t], compare, count=30)
            if t == 'f32' and cmp in ('lt', 'neu'):
                simple(f'set.{cmp}{".ftz" if ftz else ""}.u32.f32', 'u32', [t, t], lambda a, b: 0xFFFFFFFF * compare(a, b), count=16)


def approximations():
    def approx(op, reference, bound, low, high, operands=1, t='f32', positive=False):
        def pick(k):
            values = []
            for _ in range(operands):
                v = math.exp(random.uniform(math.log(low), math.log(high)))
                v = v if positive or random.random() < 0.5 else -v
                values.append(encode(FORMATS[t], v < 0, Fraction(abs(v))))
            return values
        value = lambda bits: float(signed_value(decode(FORMATS[t], bits)))
        bits64 = lambda v: encode(F64, v < 0 or (v == 0 and math.copysign(1, v) < 0), Fraction(abs(v)))
        simple(f'{op}.{t}', t, [t] * operands, lambda *a: bits64(reference(*map(value, a))), bound=bound, pick=pick)
    # Bounds of the tables in the ISA: relative errors 2^-22 to 2^-23 unless said otherwise; 2 ulp = 2^-22.
    for z in ['', '.ftz']:
        approx(f'rcp.approx{z}', lambda a: 1 / a, 'relative 1.2e-7', 1e-30, 1e30)
        approx(f'sqrt.approx{z}', math.sqrt, 'relative 1.2e-7', 1e-30, 1e30, positive=True)
        approx(f'rsqrt.approx{z}', lambda a: 1 / math.sqrt(a), 'relative 2.4e-7', 1e-30, 1e30, positive=True)
        approx(f'sin.approx{z}', math.sin, 'absolute 4.8e-7', 1e-3, 3.14)
        approx(f'cos.approx{z}', math.cos, 'absolute 4.8e-7', 1e-3, 3.14)
        approx(f'lg2.approx{z}', math.log2, 'absolute 2.4e-7', 0.51, 1.99, positive=True)
        approx(f'lg2.approx{z}', math.log2, 'relative 2.4e-7', 2.0, 1e30, positive=True)
        approx(f'ex2.approx{z}', lambda a: 2.0**a, 'relative 2.4e-7', 1e-3, 120)
        approx(f'div.approx{z}', lambda a, b: a / b, 'relative 2.4e-7', 1e-9, 1e9, operands=2)
        approx(f'div.full{z}', lambda a, b: a / b, 'relative 2.4e-7', 1e-9, 1e9, operands=2)
    approx('tanh.approx', math.tanh, 'relative 5e-4', 1e-3, 8)
    approx('rcp.approx.ftz', lambda a: 1 / a, 'relative 1e-6', 1e-100, 1e100, t='f64')
    approx('rsqrt.approx.ftz', lambda a: 1 / math.sqrt(a), 'relative 1e-6', 1e-100, 1e100, t='f64', positive=True)
    special = {
        'rcp.approx.f32': [('0', '7f800000'), ('80000000', 'ff800000'), ('7f800000', '0'), ('ff800000', '80000000'), ('7fffffff', '7fffffff')],
        'sqrt.approx.f32': [('0', '0'), ('80000000', '80000000'), ('7f800000', '7f800000'), ('bf800000', '7fffffff')],
        'rsqrt.approx.f32': [('0', '7f800000'), ('80000000', 'ff800000'), ('7f800000', '0'), ('bf800000', '7fffffff')],
        'sin.approx.f32': [('0', '0'), ('80000000', '80000000'), ('7f800000', '7fffffff')],
        'cos.approx.f32': [('0', '3f800000'), ('7f800000', '7fffffff')],
        'lg2.approx.f32': [('0', 'ff800000'), ('80000000', 'ff800000'), ('7f800000', '7f800000'), ('bf800000', '7fffffff')],
        'ex2.approx.f32': [('0', '3f800000'), ('7f800000', '7f800000'), ('ff800000', '0'), ('7fffffff', '7fffffff')],
        'ex2.approx.ftz.f32': [('c3000000', '0'), ('1', '3f800000')],
        'tanh.approx.f32': [('7f800000', '3f800000'), ('ff800000', 'bf800000'), ('80000000', '80000000')],
    }
    for op, cases in special.items():
        table = {int(a, 16): int(b, 16) for a, b in cases}
        keys = list(table)
        simple(op, 'f32', ['f32'], lambda a: table[a], count=len(keys), pick=lambda k: [keys[k]])
    quotients = {(0x7F800000, 0x7E900000): 0x7FFFFFFF, (0x3F800000, 0x7E900000): 0, (0xBF800000, 0x7E900000): 0x80000000}
    keys2 = list(quotients)
    simple('div.approx.f32', 'f32', ['f32', 'f32'], lambda a, b: quotients[(a, b)], count=len(keys2), pick=lambda k: list(keys2[k]))


# --- halves ---------------------------------------------------------------------------------------------------------
def halves():
    for t in ['f16', 'bf16']:
        f = FORMATS[t]
        for ftz in ([False, True] if t == 'f16' else [False]):
            for sat in ([False, True] if t == 'f16' else [False]):
                d = lambda bits: decode(f, flush(f, bits) if ftz else bits)
                e = lambda bits: finish(f, bits, ftz, sat)
                z = ('.rn' if t == 'bf16' else '') + ('.ftz' if ftz else '') + ('.sat' if sat else '')
                minus = lambda x: (not x[0], x[1])
                operations = {'add': (2, lambda a, b: e(exact_sum(f, [d(a), d(b)], 'rn'))),
                              'sub': (2, lambda a, b: e(exact_sum(f, [d(a), minus(d(b))], 'rn'))),
                              'mul': (2, lambda a, b: e(encode(f, *product(d(a), d(b)))))}
                for op, (n, g) in operations.items():
                    both(f'{op}{z}', t, n, g)
                fz = ('.ftz' if ftz else '') + ('.sat' if sat else '')
                both(f'fma.rn{fz}', t, 3, lambda a, b, c: e(exact_sum(f, [product(d(a), d(b)), d(c)], 'rn')))
        both('fma.rn.relu', t, 3, lambda a, b, c: finish(f, exact_sum(f, [product(decode(f, a), decode(f, b)), decode(f, c)], 'rn'), False, False, True))
        number = lambda bits: decode(f, bits)[1] != NAN
        both('abs', t, 1, lambda a: a & 0x7FFF if number(a) else None)
        both('neg', t, 1, lambda a: a ^ 0x8000 if number(a) else None)
        for which in ['min', 'max']:
            for nan in [False, True]:
                def extremum(a, b):
                    x, y = decode(f, a), decode(f, b)
                    if NAN in (x[1], y[1]):
                        return f.nan if nan or x[1] == y[1] else (b if x[1] == NAN else a)
                    order = lambda p: (-1 if p[0] else 1) * (p[1] if p[1] != INF else Fraction(2)**2000)
                    return (min if which == 'min' else max)(a, b, key=lambda v: (order(decode(f, v)), 0 if v & f.sign else 1))
                both(f'{which}{".NaN" if nan else ""}', t, 2, extremum)
        value = lambda bits: float(signed_value(decode(f, bits)))
        tame = lambda k: [encode(f, random.random() < 0.5, Fraction(random.uniform(0.01, 8)))]
        z = '.ftz' if t == 'bf16' else ''
        bits64 = lambda v: encode(F64, v < 0, Fraction(abs(v)))
        simple(f'ex2.approx{z}.{t}', t, [t], lambda a: bits64(2.0**value(a)), bound='relative 0.008' if t == 'bf16' else 'relative 0.001', pick=tame)
        simple(f'tanh.approx.{t}', t, [t], lambda a: bits64(math.tanh(value(a))), bound='relative 0.008' if t == 'bf16' else 'relative 0.001', pick=tame)
        x2 = t + 'x2'
        one = encode(f, False, Fraction(1))
        simple(f'set.lt.{t}.{t}', t, [t, t], lambda a, b: one * less(f, a, b))
        simple(f'set.lt.{x2}.{x2}', x2, [x2, x2], lambda a, b: one * less(f, a & 0xFFFF, b & 0xFFFF) | (one * less(f, a >> 16, b >> 16)) << 16)
        fixture(f'setp.lt.{x2} %d|%e, %0, %1;', ['pred', 'pred'], [x2, x2], lambda a, b: (less(f, a & 0xFFFF, b & 0xFFFF), less(f, a >> 16, b >> 16)))


def less(f, a, b):
    x, y = decode(f, a), decode(f, b)
    if NAN in (x[1], y[1]):
        return 0
    order = lambda p: (-1 if p[0] else 1) * (p[1] if p[1] != INF else Fraction(2)**2000)
    return int(order(x) < order(y))


def both(op, t, n, reference):
    """One value, and a pair of them."""
    simple(f'{op}.{t}', t, [t] * n, reference)

    def pair(*values):
        low, high = reference(*[v & 0xFFFF for v in values]), reference(*[v >> 16 for v in values])
        return None if low is None or high is None else high << 16 | low
    simple(f'{op}.{t}x2', f'{t}x2', [f'{t}x2'] * n, pair, count=24)


# --- conversions ----------------------------------------------------------------------------------------------------
def narrow(d, a, x, mode='rn'):
    """To a narrower float; a NaN of f64 keeps sign and upper payload."""
    to, of = FORMATS[d], FORMATS[a]
    negative, value = decode(of, x)
    if value == NAN and a == 'f64':
        return (to.sign if negative else 0) | to.infinity | 1 << (to.p - 2) | (x & (1 << 52) - 1) >> (53 - to.p)
    return encode(to, negative, value, mode)


def conversions():
    whole = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64']
    reg = lambda t: {'u8': 'b32', 's8': 'b32'}.get(t, t)
    for a in whole:
        for d in whole:
            if a == d:
                continue
            widen = lambda value, d=d: wrap('s32', to_int(d, value)) if bits_of(d) == 8 else wrap(d, value)
            fixture(f'cvt.{d}.{a} %d, %0;', [reg(d)], [reg(a)], lambda x: widen(to_int(a, x)), count=10)
            low, high = (-(1 << bits_of(d) - 1), (1 << bits_of(d) - 1) - 1) if is_signed(d) else (0, (1 << bits_of(d)) - 1)
            if bits_of(d) > bits_of(a) and (is_signed(d) or not is_signed(a)):
                continue  # nothing to saturate: not PTX
            fixture(f'cvt.sat.{d}.{a} %d, %0;', [reg(d)], [reg(a)], lambda x: widen(clamp(to_int(a, x), low, high)), count=10)
    for a in ['f16', 'bf16', 'f32', 'f64']:
        f = FORMATS[a]
        for d in whole:
            if a == 'bf16' and bits_of(d) == 8:
                continue
            for mode in ['rni', 'rzi', 'rmi', 'rpi']:
                def integer(x, d=d):
                    negative, value = decode(f, x)
                    n = bits_of(d)
                    if value == NAN:
                        high = 1 << n - 1 if n == 64 or f.bits == 64 else 0
                        return wrap('s32', to_int(d, high)) if n == 8 else high
                    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if is_signed(d) else (0, (1 << n) - 1)
                    if value == INF:
                        r = low if negative else high
                    else:
                        r = clamp(round_integral(-value if negative else value, mode), low, high)
                    return wrap('s32', r) if n == 8 else wrap(d, r)
                fixture(f'cvt.{mode}.{d}.{a} %d, %0;', [reg(d)], [a], integer, count=16)
        for mode in ['rni', 'rzi', 'rmi', 'rpi']:
            if a == 'bf16':
                continue

            def integral(x):
                negative, value = decode(f, x)
                if value in (NAN, INF):
                    return encode(f, negative, value)
                r = round_integral(-value if negative else value, mode)
                return encode(f, negative, Fraction(abs(r)))
            fixture(f'cvt.{mode}.{a}.{a} %d, %0;', [a], [a], integral, count=20)
    for a in whole:
        for d in ['f16', 'bf16', 'f32', 'f64']:
            if d == 'bf16' and bits_of(a) == 8:
                continue
            for mode in ['rn', 'rz', 'rm', 'rp']:
                fixture(f'cvt.{mode}.{d}.{a} %d, %0;', [d], [reg(a)],
                        lambda x: encode(FORMATS[d], to_int(a, x) < 0, Fraction(abs(to_int(a, x))), mode), count=12)
    for a, d in [('f64', 'f32'), ('f32', 'f16'), ('f64', 'f16'), ('f32', 'bf16')]:
        for mode in ['rn', 'rz'] + (['rm', 'rp'] if d != 'bf16' and d != 'x' else []):
            fixture(f'cvt.{mode}.{d}.{a} %d, %0;', [d], [a], lambda x: narrow(d, a, x, mode), count=30)
    for a, d in [('f16', 'f32'), ('f16', 'f64'), ('f32', 'f64'), ('bf16', 'f32')]:
        fixture(f'cvt.{d}.{a} %d, %0;', [d], [a], lambda x: None if decode(FORMATS[a], x)[1] == NAN else encode(FORMATS[d], *decode(FORMATS[a], x)), count=30)
    fixture('cvt.rn.ftz.f32.f64 %d, %0;', ['f32'], ['f64'], lambda x: flush(F32, narrow('f32', 'f64', x)), count=30)
    fixture('cvt.ftz.f64.f32 %d, %0;', ['f64'], ['f32'], lambda x: None if decode(F32, x)[1] == NAN else encode(F64, *decode(F32, flush(F32, x))), count=30)
    fixture('cvt.rzi.ftz.s32.f32 %d, %0;', ['s32'], ['f32'], lambda x: None if decode(F32, x)[1] == NAN else
            wrap('s32', clamp(round_integral(signed_value(decode(F32, flush(F32, x))), 'rzi'), -2**31, 2**31 - 1)) if decode(F32, x)[1] != INF else
            (0x80000000 if x >> 31 else 0x7FFFFFFF), count=30)
    fixture('cvt.rn.sat.f32.f64 %d, %0;', ['f32'], ['f64'], lambda x: finish(F32, encode(F32, *decode(F64, x)), False, True), count=30)
    fixture('cvt.sat.f32.f32 %d, %0;', ['f32'], ['f32'], lambda x: finish(F32, encode(F32, *decode(F32, x)), False, True), count=30)
    fixture('cvt.rn.relu.f16.f32 %d, %0;', ['f16'], ['f32'], lambda x: finish(F16, encode(F16, *decode(F32, x)), False, False, True), count=30)
    for t in ['f16', 'bf16']:
        f = FORMATS[t]
        for mode in ['rn', 'rz']:
            fixture(f'cvt.{mode}.{t}x2.f32 %d, %0, %1;', [f'{t}x2'], ['f32', 'f32'],
                    lambda a, b: encode(f, *decode(F32, a), mode) << 16 | encode(f, *decode(F32, b), mode), count=30)


def round_integral(value, mode):
    if value == INF:
        return INF
    floor = value.numerator // value.denominator
    if mode == 'rmi':
        return floor
    if mode == 'rpi':
        return -((-value.numerator) // value.denominator)
    if mode == 'rzi':
        return floor if value >= 0 else -((-value.numerator) // value.denominator)
    rest = value - floor
    return floor + (1 if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor & 1) else 0)


# --- asynchronous copies, mbarrier, clusters of one block --------------------------------------------------------------
# A thread has 64 bytes of shared memory at %sh (its mbarrier in the first 8) and 64 of global memory at %buf.
WAIT = '$w: mbarrier.try_wait.parity.shared.b64 %e, [%sh], 0; @!%e bra $w;'


def barriers():
    init = 'mbarrier.init.shared.b64 [%sh], '
    fixture(init + '%0; mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.pending_count.b64 %d, %x;', ['u32'], ['u32'],
            lambda a: a, count=8, pick=lambda k: [random.choice([1, 2, 32, 1024, 2**20 - 1])])
    fixture(init + '%0; mbarrier.arrive.shared.b64 %x, [%sh], %1; mbarrier.arrive.release.cta.shared::cta.b64 %x, [%sh]; '
            'mbarrier.pending_count.b64 %d, %x;', ['u32'], ['u32', 'u32'], lambda a, b: a - b, count=8,
            pick=lambda k: [random.randrange(100, 200), random.randrange(1, 100)])
    fixture(init + '%0; mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %x, [%sh], %1; mbarrier.arrive.shared.b64 %x, [%sh]; '
            'mbarrier.pending_count.b64 %d, %x;', ['u32'], ['u32', 'u32'], lambda a, b: a - b, count=4,
            pick=lambda k: [random.randrange(100, 200), random.randrange(1, 100)])
    fixture(init + '%0; mbarrier.arrive_drop.shared.b64 %x, [%sh]; mbarrier.arrive.shared.b64 %x, [%sh], %1; '
            'mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.pending_count.b64 %d, %x;', ['u32'], ['u32', 'u32'],
            lambda a, b: a - 1, count=4, pick=lambda k: [k + 2, k + 1])
    for wait in ['test_wait', 'try_wait']:
        hint = '' if wait == 'test_wait' else ', 20'
        fixture(init + f'1; mbarrier.{wait}.parity.shared.b64 %d, [%sh], 1; mbarrier.{wait}.parity.shared.b64 %e, [%sh], 0{hint};',
                ['pred', 'pred'], ['u32'], lambda a: (1, 0), count=1)
        fixture(init + f'1; mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.{wait}.shared.b64 %d, [%sh], %x{hint}; '
                f'mbarrier.{wait}.parity.acquire.cta.shared::cta.b64 %e, [%sh], 0;', ['pred', 'pred'], ['u32'], lambda a: (1, 1), count=1)
    fixture(init + '2; mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.test_wait.shared.b64 %d, [%sh], %x; '
            'mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.test_wait.shared.b64 %e, [%sh], %x;', ['pred', 'pred'], ['u32'],
            lambda a: (0, 1), count=1)
    for expect in ['mbarrier.arrive.expect_tx.shared.b64 %x, [%sh], %0;',
                   'mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%sh], %0; mbarrier.arrive.shared.b64 %x, [%sh];']:
        fixture(init + f'1; {expect} mbarrier.test_wait.shared.b64 %d, [%sh], %x; '
                'mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%sh], %0; mbarrier.test_wait.shared.b64 %e, [%sh], %x;',
                ['pred', 'pred'], ['u32'], lambda a: (0, 1), pick=lambda k: [random.randrange(1, 2**20)], count=4)
    fixture(init + '1; mbarrier.inval.shared.b64 [%sh]; st.shared.b64 [%sh], %0; ld.shared.b64 %d, [%sh];', ['b64'], ['b64'],
            lambda a: a, count=2)
    fixture('cvta.shared.u64 %x, %sh; mbarrier.init.b64 [%x], 1; mbarrier.arrive.b64 _, [%x]; mbarrier.test_wait.parity.b64 %d, [%x], 0;',
            ['pred'], ['u32'], lambda a: 1, count=1)
    fixture(init + '1; mapa.shared::cluster.u64 %x, %sh, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%x]; '
            'mbarrier.test_wait.parity.shared.b64 %d, [%sh], 0;', ['pred'], ['u32'], lambda a: 1, count=1)


def copies():
    both = 'st.global.u64 [%buf], %0; st.global.u64 [%buf+8], %1; '
    low = lambda bits, n: bits & ((1 << n) - 1)
    for level, size in [('ca', 4), ('ca', 8), ('ca', 16), ('cg', 16)]:
        load = 'st.shared.v2.u64 [%sh+16], {0, 0}; '
        fixture(f'{both}{load}cp.async.{level}.shared.global [%sh+16], [%buf], {size}; cp.async.commit_group; cp.async.wait_group 0; '
                'ld.shared.v2.u64 {%d, %e}, [%sh+16];', ['u64', 'u64'], ['u64', 'u64'],
                lambda a, b: (low(a, 8 * size), b if size == 16 else 0), count=4)
    words = lambda a, b, n: low(b << 64 | a, 8 * n)
    fixture(f'{both}cp.async.cg.shared::cta.global.L2::128B [%sh+16], [%buf], 16, %2; cp.async.wait_all; ld.shared.v2.u64 {{%d, %e}}, [%sh+16];',
            ['u64', 'u64'], ['u64', 'u64', 'u32'], lambda a, b, n: (words(a, b, n) & (2**64 - 1), words(a, b, n) >> 64),
            pick=lambda k: [random_value('u64'), random_value('u64'), [0, 4, 8, 12, 16, 1, 7][k]], count=7)
    fixture(f'{both}cp.async.ca.shared.global [%sh+16], [%buf], 8, %2; cp.async.wait_all; ld.shared.u64 %d, [%sh+16];',
            ['u64'], ['u64', 'u64', 'pred'], lambda a, b, ignored: 0 if ignored else a, count=6)
    for form, arrivals in [('.noinc', 1), ('', 2)]:
        more = '' if form else 'mbarrier.arrive.shared.b64 %x, [%sh]; mbarrier.arrive.shared.b64 %x, [%sh]; '
        fixture(f'mbarrier.init.shared.b64 [%sh], {arrivals}; st.global.u64 [%buf], %0; cp.async.ca.shared.global [%sh+16], [%buf], 8; '
                f'cp.async.mbarrier.arrive{form}.shared.b64 [%sh]; {more}{WAIT} ld.shared.u64 %d, [%sh+16];', ['u64', 'pred'], ['u64'],
                lambda a: (a, 1), count=2)


def bulk_copies():
    ready = 'mbarrier.init.shared.b64 [%sh], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; '
    expect = 'mbarrier.arrive.expect_tx.shared.b64 %x, [%sh], 16; '
    complete = 'mbarrier::complete_tx::bytes'
    for target in ['shared::cluster', 'shared::cta']:
        fixture(f'st.global.v2.u64 [%buf], {{%0, %0}}; {ready}{expect}cp.async.bulk.{target}.global.{complete} [%sh+16], [%buf], 16, [%sh]; '
                f'{WAIT} ld.shared.u64 %d, [%sh+24];', ['u64', 'pred'], ['u64'], lambda a: (a, 1), count=2)
    fixture('st.shared.v2.u64 [%sh+16], {%0, %1}; fence.proxy.async; cp.async.bulk.global.shared::cta.bulk_group [%buf+16], [%sh+16], 16; '
            'cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0; ld.global.v2.u64 {%d, %e}, [%buf+16];',
            ['u64', 'u64'], ['u64', 'u64'], lambda a, b: (a, b), count=3)
    fixture('cp.async.bulk.prefetch.L2.global [%buf], 16; mov.u32 %d, %0;', ['u32'], ['u32'], lambda a: a, count=1)


def bulk_reductions():
    done = 'cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; '
    operations = [('add', 'u32', lambda i, a, b: a + b), ('add', 's32', lambda i, a, b: a + b), ('add', 'u64', lambda i, a, b: a + b),
                  ('min', 's32', lambda i, a, b: min(i(a), i(b))), ('max', 'u32', lambda i, a, b: max(i(a), i(b))),
                  ('min', 'u64', lambda i, a, b: min(i(a), i(b))), ('max', 's64', lambda i, a, b: max(i(a), i(b))),
                  ('and', 'b32', lambda i, a, b: a & b), ('or', 'b64', lambda i, a, b: a | b), ('xor', 'b32', lambda i, a, b: a ^ b),
                  ('inc', 'u32', lambda i, a, b: 0 if a >= b else a + 1), ('dec', 'u32', lambda i, a, b: b if a == 0 or a > b else a - 1)]
    for op, t, f in operations:
        n = bits_of(t)
        vector, copies_of = (2, '{%0, %0}', ) if n == 64 else (4, '{%0, %0, %0, %0}')
        fixture(f'st.global.v{vector}.b{n} [%buf+16], {copies_of}; st.shared.v{vector}.b{n} [%sh+16], {copies_of.replace("%0", "%1")}; fence.proxy.async; '
                f'cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [%buf+16], [%sh+16], 16; {done}ld.global.b{n} %d, [%buf+{32 - n // 8}];',
                [t], [t, t], lambda a, b: wrap(t, f(lambda x: to_int(t, x), a, b)), count=4)
    for t in ['f64', 'f16', 'bf16']:
        n, f = bits_of(t), FORMATS[t]
        noftz = '' if t == 'f64' else '.noftz'
        fill = lambda v: f'{{{v}, {v}}}' if n == 64 else f'{{{v}, {v}, {v}, {v}}}'
        width = 2 if n == 64 else 4
        stores = ''.join(f'st.global.v{width}.b{n} [%buf+{16 + o}], {fill("%0")}; st.shared.v{width}.b{n} [%sh+{16 + o}], {fill("%1")}; '
                         for o in range(0, 16, width * n // 8))
        fixture(f'{stores}fence.proxy.async; cp.reduce.async.bulk.global.shared::cta.bulk_group.add{noftz}.{t} [%buf+16], [%sh+16], 16; {done}'
                f'ld.global.b{n} %d, [%buf+{32 - n // 8}];', [t], [t, t], lambda a, b: exact_sum(f, [decode(f, a), decode(f, b)], 'rn'), count=6)


def cluster_of_one():
    ready = 'mbarrier.init.shared.b64 [%sh], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; '
    expect = 'mbarrier.arrive.expect_tx.shared.b64 %x, [%sh], 16; '
    complete = 'mbarrier::complete_tx::bytes'
    fixture(f'st.shared.v2.u64 [%sh+32], {{%0, %0}}; {ready}{expect}mapa.shared::cluster.u64 %x, %sh, 0; '
            f'cp.async.bulk.shared::cluster.shared::cta.{complete} [%x+16], [%sh+32], 16, [%x]; {WAIT} ld.shared.u64 %d, [%sh+24];',
            ['u64', 'pred'], ['u64'], lambda a: (a, 1), count=2)
    fixture('st.shared.v4.u32 [%sh+16], {%0, %0, %0, %0}; st.shared.v4.u32 [%sh+32], {%1, %1, %1, %1}; mbarrier.init.shared.b64 [%sh], 1; '
            'fence.mbarrier_init.release.cluster; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 %x, [%sh], 16; '
            'cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%sh+16], [%sh+32], 16, [%sh]; '
            f'{WAIT} ld.shared.u32 %d, [%sh+28];', ['u32', 'pred'], ['u32', 'u32'], lambda a, b: ((a + b) & 0xFFFFFFFF, 1), count=3)
    fixture('mapa.shared::cluster.u64 %x, %sh, 0; st.shared::cluster.u32 [%x+4], %0; ld.shared.u32 %d, [%sh+4]; '
            'getctarank.shared::cluster.u64 %e, %x;', ['u32', 'u32'], ['u32'], lambda a: (a, 0), count=2)
    fixture('cvta.shared.u64 %x, %sh; mapa.u64 %x, %x, 0; st.u32 [%x+4], %0; ld.shared.u32 %d, [%sh+4]; getctarank.u64 %e, %x;',
            ['u32', 'u32'], ['u32'], lambda a: (a, 0), count=2)
    fixture('mapa.shared::cluster.u64 %x, %sh, 0; st.shared.u32 [%sh], %0; atom.shared::cluster.add.u32 %d, [%x], %1; ld.shared::cluster.u32 %e, [%x];',
            ['u32', 'u32'], ['u32', 'u32'], lambda a, b: (a, (a + b) & 0xFFFFFFFF), count=3)
    fixture('cvta.shared.u64 %x, %sh; isspacep.shared::cta %d, %x; isspacep.shared::cluster %e, %x;', ['pred', 'pred'], ['u32'],
            lambda a: (1, 1), count=1)
    wait = 'mbarrier.init.shared.b64 [%sh], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 %x, [%sh], {}; '
    complete = 'mbarrier::complete_tx::bytes'
    fixture(wait.format(4) + f'mapa.shared::cluster.u64 %x, %sh, 0; st.async.weak.shared::cluster.{complete}.u32 [%x+16], %0, [%x]; {WAIT} '
            'ld.shared.u32 %d, [%sh+16];', ['u32', 'pred'], ['u32'], lambda a: (a, 1), count=2)
    fixture(wait.format(16) + f'mapa.shared::cluster.u64 %x, %sh, 0; st.async.shared::cluster.{complete}.v2.b64 [%x+16], {{%0, %1}}, [%x]; {WAIT} '
            'ld.shared.u64 %d, [%sh+24];', ['u64', 'pred'], ['u64', 'u64'], lambda a, b: (b, 1), count=2)
    fixture(wait.format(4) + 'mapa.shared::cluster.u64 %x, %sh, 0; st.shared.u32 [%sh+16], %0; fence.acq_rel.cluster; '
            f'red.async.relaxed.cluster.shared::cluster.{complete}.add.u32 [%x+16], %1, [%x]; {WAIT} ld.shared.u32 %d, [%sh+16];',
            ['u32', 'pred'], ['u32', 'u32'], lambda a, b: ((a + b) & 0xFFFFFFFF, 1), count=2)


def hints():
    for policy in ['fractional.L2::evict_last.L2::evict_unchanged.b64 %x, 0f3F000000', 'fractional.L2::evict_normal.b64 %x',
                   'range.global.L2::evict_last.L2::evict_first.b64 %x, [%buf], 32, 64']:
        fixture(f'createpolicy.{policy}; st.global.L2::cache_hint.b32 [%buf], %0, %x; red.global.add.L2::cache_hint.u32 [%buf], 1, %x; '
                'ld.global.L2::cache_hint.b32 %d, [%buf], %x;', ['u32'], ['u32'], lambda a: (a + 1) & 0xFFFFFFFF, count=1)
    fixture('st.global.u32 [%buf], %0; fence.sc.cluster; fence.acquire.gpu; fence.release.sys; fence.acq_rel.cta; membar.cta; membar.sys; fence.proxy.alias; '
            'fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster; membar.proxy.alias; '
            'fence.acquire.sync_restrict::shared::cluster.cluster; ld.global.u32 %d, [%buf];', ['u32'], ['u32'], lambda a: a, count=1)
    fixture('griddepcontrol.launch_dependents; griddepcontrol.wait; prefetch.global.L2::evict_last [%buf]; prefetch.L1 [%buf]; mov.u32 %d, %0;',
            ['u32'], ['u32'], lambda a: a, count=1)


def cache_hints():
    """A file of their own: see kNotTaken of instruction_test.cpp."""
    hints()
    both = 'st.global.u64 [%buf], %0; st.global.u64 [%buf+8], %1; '
    fixture(f'{both}createpolicy.fractional.L2::evict_first.b64 %x, 0f3F800000; cp.async.cg.shared.global.L2::cache_hint [%sh+16], [%buf], 16, %x; '
            'cp.async.wait_all; ld.shared.v2.u64 {%d, %e}, [%sh+16];', ['u64', 'u64'], ['u64', 'u64'], lambda a, b: (a, b), count=2)


def asynchronous():
    barriers()
    copies()
    bulk_copies()
    bulk_reductions()


# --- 8-bit floats -----------------------------------------------------------------------------------------------------
def byte_value(t, bits):
    """(negative, value) of an e4m3 or e5m2."""
    if t == 'e5m2':
        return decode(F16, bits << 8)
    negative, exponent, fraction = bool(bits & 0x80), bits >> 3 & 15, bits & 7
    if bits & 0x7F == 0x7F:
        return negative, NAN
    return negative, Fraction(fraction, 512) if exponent == 0 else Fraction(8 + fraction) * Fraction(2) ** (exponent - 10)


def nearest_byte(t, negative, value):
    """The nearest e4m3 or e5m2, ties to even; numbers beyond the largest become it."""
    if value == NAN:
        return 0x7F
    numbers = [b for b in range(0x7F if t == 'e4m3' else 0x7C)]
    largest = byte_value(t, numbers[-1])[1]
    sign = 0x80 if negative else 0
    if value == INF or value >= largest:
        return sign | numbers[-1]
    return sign | min(numbers, key=lambda b: (abs(byte_value(t, b)[1] - value), b & 1))


def narrow_floats():
    for t in ['e4m3', 'e5m2']:
        wide = lambda byte: encode(F16, *byte_value(t, byte))
        fixture(f'cvt.rn.f16x2.{t}x2 %d, %0;', ['f16x2'], ['b16'], lambda a: wide(a >> 8) << 16 | wide(a & 255), count=60)
        fixture(f'cvt.rn.satfinite.{t}x2.f32 %d, %0, %1;', ['b16'], ['f32', 'f32'],
                lambda a, b: nearest_byte(t, *decode(F32, a)) << 8 | nearest_byte(t, *decode(F32, b)), count=60)
        fixture(f'cvt.rn.satfinite.{t}x2.f16x2 %d, %0;', ['b16'], ['f16x2'],
                lambda a: nearest_byte(t, *decode(F16, a >> 16)) << 8 | nearest_byte(t, *decode(F16, a & 0xFFFF)), count=60)
        fixture(f'cvt.rn.satfinite.relu.{t}x2.f32 %d, %0, %1;', ['b16'], ['f32', 'f32'],
                lambda a, b: relu_byte(t, *decode(F32, a)) << 8 | relu_byte(t, *decode(F32, b)), count=16)


def relu_byte(t, negative, value):
    return 0 if negative and value != NAN else nearest_byte(t, negative, value)


for name, make in [('integer', integers), ('logic_and_memory', logic), ('float', exact_floats), ('approximation', approximations),
                   ('half', halves), ('conversion', conversions),
                   ('asynchronous', asynchronous), ('narrow', narrow_floats),
                   ('cluster_of_one', cluster_of_one), ('cache_hint', cache_hints)]:
    make()
for name, fixtures in out.items():
    with open(f'{sys.argv[1]}/{name}.fixtures', 'w') as file:
        file.write('# Written by generate.py.\n' + '\n'.join(fixtures) + '\n')

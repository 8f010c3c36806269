// Numbers that a double cannot hold. JSON allows any decimal number; JavaScript would silently take the nearest
// double, and a filter on 9007199254740993 would match ...992: another customer's data.

/**
 * A number of a body that a double cannot hold. It equals no number, not even one written alike (filters refuse
 * such numbers), and is ordered as its nearest double.
 */
export class WideNumber {
  readonly value: number;
  /** As it was written. */
  readonly text: string;

  constructor(text: string) {
    this.value = Number(text);
    this.text = text;
  }
}

/** The most significant digits that the exact value of any double has. */
const EXACT_DIGITS_MAX = 767;

/**
 * Whether the double that JSON.parse makes of a number literal stands for what is written: the literal's decimal
 * value is that of the double's shortest form (0.1) or the double's exact value (18446744073709551616).
 */
export function isHeldByDouble(literal: string): boolean {
  const value = Number(literal);
  const shortest = String(value);
  if (literal === shortest) return true;
  if (!Number.isFinite(value)) return false;
  const written = decimalOf(literal);
  return sameDecimal(written, decimalOf(shortest)) || isExactly(written, value);
}

/** `digits` × 10^`exponent`; no zeros at either end of the digits, which carry the sign; zero is ''. */
type Decimal = { digits: string; exponent: number };

function decimalOf(literal: string): Decimal {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(literal);
  if (parts === null) throw new Error(`not a JSON number: ${literal}`);
  const [, sign, whole, fraction = '', power = '0'] = parts;
  const digits = `${whole}${fraction}`;
  // Not by regular expression: /0+$/ is quadratic in a long run of zeros that ends in another digit.
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return { digits: '', exponent: 0 };
  const exponent = Number(power) - fraction.length + (digits.length - end);
  return { digits: `${sign}${digits.slice(start, end)}`, exponent };
}

function sameDecimal(a: Decimal, b: Decimal): boolean {
  return a.exponent === b.exponent && a.digits === b.digits;
}

function isExactly(written: Decimal, value: number): boolean {
  if (written.digits.length > EXACT_DIGITS_MAX + 1) return false;
  // An odd numerator over 2^k has its last decimal digit at 10^-k. That tells nearly all fractions apart before any
  // big arithmetic, so that a body full of them costs no more than its length.
  let numerator = value;
  let halvings = 0;
  for (; !Number.isInteger(numerator); halvings++) {
    if (halvings >= -written.exponent) return false;
    numerator *= 2;
  }
  const exact = decimalOf(`${BigInt(numerator) * 5n ** BigInt(halvings)}e-${halvings}`);
  return sameDecimal(written, exact);
}

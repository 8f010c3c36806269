// JSON written in ways that mean the same and are legal, though no serialiser writes them: what a service that
// parses and writes anew would change.

const WAYS = [writePlainly, writeSpaced, writeReversed, writeEscaped] as const;

/** `way` chooses how; any whole number. */
export function writeOddly(value: unknown, way: number): string {
  return WAYS[way % WAYS.length]!(value);
}

function writePlainly(value: unknown): string {
  return JSON.stringify(value);
}

/** White space of all four kinds wherever it may be. */
function writeSpaced(value: unknown): string {
  return write(value, { gap: ' \t\r\n', keys: (keys) => keys, scalar: JSON.stringify });
}

/** Keys from the last to the first, and numbers with a fraction or an exponent that changes nothing. */
function writeReversed(value: unknown): string {
  const scalar = (given: unknown): string => {
    if (typeof given !== 'number') return JSON.stringify(given);
    return Number.isInteger(given) && Math.abs(given) < 1e15 ? `${given}.0E+0` : JSON.stringify(given);
  };
  return write(value, { gap: '', keys: (keys) => keys.toReversed(), scalar });
}

/** Vowels, the solidus and whatever is not printable ASCII as escapes. */
function writeEscaped(value: unknown): string {
  const scalar = (given: unknown): string => (typeof given === 'string' ? `"${escape(given)}"` : JSON.stringify(given));
  return write(value, { gap: '', keys: (keys) => keys, scalar });
}

function escape(text: string): string {
  return text.replace(/[^ -~]|[aeiou/"\\]/g, (unit) => {
    if ('/"\\'.includes(unit)) return `\\${unit}`;
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
  });
}

type Style = { gap: string; keys: (keys: string[]) => string[]; scalar: (value: unknown) => string };

function write(value: unknown, style: Style): string {
  const { gap, keys, scalar } = style;
  if (typeof value !== 'object' || value === null) return scalar(value);
  if (Array.isArray(value)) return `[${value.map((item) => gap + write(item, style) + gap).join(',')}]`;
  const object = value as Record<string, unknown>;
  const members = keys(Object.keys(object)).map(
    (key) => `${gap}${scalar(key)}${gap}:${gap}${write(object[key], style)}`,
  );
  return `{${members.join(',')}${gap}}`;
}

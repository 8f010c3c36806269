// Headers as they are written in a form: one a line.

/** Throws a SyntaxError that names the line at fault: to guess would store a header, or drop one, unasked. */
export function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const seen = new Set<string>();
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':');
      if (name.trim() === '' || value.length === 0) {
        throw new SyntaxError(`“${line.trim()}” is no header: write its name, a colon and its value.`);
      }
      const lowerName = name.trim().toLowerCase();
      if (seen.has(lowerName)) {
        throw new SyntaxError(`“${name.trim()}” is there twice: write it once, upper and lower case are the same.`);
      }
      seen.add(lowerName);
      return [name.trim(), value.join(':').trim()];
    }),
  );
}

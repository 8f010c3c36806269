// Headers as they are written in a form: one a line.

/** Throws a SyntaxError that names the line which is none: to guess would store a header that nobody wrote. */
export function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':');
      if (name.trim() === '' || value.length === 0) {
        throw new SyntaxError(`“${line.trim()}” is no header: write its name, a colon and its value.`);
      }
      return [name.trim(), value.join(':').trim()];
    }),
  );
}

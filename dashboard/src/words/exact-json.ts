// JSON whose numbers keep their digits: 1.0 and 12345678901234567890 are shown as the producer wrote them.

type Source = { source?: string };
type RawJson = { rawJSON?: (text: string) => unknown };

export function parseExact(text: string): unknown {
  const { rawJSON } = JSON as RawJson;
  if (rawJSON === undefined) return JSON.parse(text); // a browser that cannot tell
  const keepDigits = (_key: string, value: unknown, context?: Source): unknown =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, keepDigits);
}

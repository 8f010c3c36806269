// The lines of a request by which one header came: Node keeps the first, or joins them, as it knows the header.

export function countHeaderLines(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const other = rawHeaders[at]!;
    if (other.length === name.length && other.toLowerCase() === name) count++;
  }
  return count;
}

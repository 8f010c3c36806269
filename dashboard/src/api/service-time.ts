// What time it is for the service: what it says of times, and what it is asked for, go by its clock. A browser's may be
// an hour wrong, and by that one an event of just now would be due in an hour, or not be among those of the last minutes.

/** The header has whole seconds and was some time on its way. */
const TOLERANCE_MS = 3_000;

let aheadMs = 0;

/** `date`: the header of an answer that has just come; null where somebody between left it out. */
export function noteServiceTime(date: string | null): void {
  const now = Date.parse(date ?? '');
  if (Math.abs(now - serviceTime()) > TOLERANCE_MS) aheadMs = now - Date.now();
}

/** Unix ms. `at`: by the browser's clock. */
export function serviceTime(at = Date.now()): number {
  return at + aheadMs;
}

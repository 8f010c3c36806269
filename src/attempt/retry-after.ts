// The Retry-After header (RFC 9110, section 10.2.3): seconds, or a date in one of three forms (section 5.6.7).

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const DATE_FORMS = [
  // Sun, 06 Nov 1994 08:49:37 GMT, or as mail and some libraries say it
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} (?:GMT|UTC|[+-]0000)$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(String.raw`^[A-Z][a-z]{2} ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/** The last moment a Date can hold. */
const TIME_MAX = 8.64e15;

/** Unix ms, never before `now`; null for what is neither seconds nor a date. `Date.parse` would take far too much. */
export function parseRetryAfter(value: string, now: number): number | null {
  const text = value.trim();
  // A negative number is no valid value, but clear enough: it is over.
  if (/^-?\d+$/.test(text)) return Math.min(now + Math.max(0, Number(text)) * 1000, TIME_MAX);
  for (const form of DATE_FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const time = dateOf(parts, now);
    return time === null ? null : Math.max(now, time);
  }
  return null;
}

function dateOf(parts: Record<string, string | undefined>, now: number): number | null {
  const [day, hour, minute, second] = [parts['day'], parts['hour'], parts['minute'], parts['second']].map(Number);
  const month = MONTHS.indexOf(parts['month'] ?? '');
  const year = yearOf(parts['year'] ?? '', now);
  const date = new Date(Date.UTC(year, month, day, hour, minute, second));
  // `Date` rolls 31 Feb over into March; 23:59:60 is a leap second and may roll over.
  const isReal =
    hour! < 24 && minute! < 60 && second! <= 60 && new Date(Date.UTC(year, month, day)).getUTCDate() === day;
  return isReal ? date.getTime() : null;
}

/** RFC 9110, 5.6.7: two digits that would lie more than 50 years ahead mean the last century. */
function yearOf(digits: string, now: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

// Which static headers a destination may have: what RFC 9110 allows and neither we nor HTTP itself use.

const HEADER_NAME_LENGTH_MAX = 64;
const HEADER_VALUE_LENGTH_MAX = 2_048;
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
/** Ours, or those by which an HTTP message is framed. */
const REFUSED_NAMES = new Set(
  (
    'host user-agent connection keep-alive transfer-encoding te trailer upgrade expect accept-encoding ' +
    'svix-id svix-timestamp svix-signature'
  ).split(' '),
);
const REFUSED_PREFIXES = ['webhook-', 'postrider-', 'content-', 'proxy-'];

/** What is wrong, as the end of a sentence about the header; null: nothing. */
export function findHeaderNameFault(name: string): string | null {
  const lowerName = name.toLowerCase();
  if (!TOKEN.test(name)) return "is not a header name, which is made of letters, digits and !#$%&'*+-.^_`|~";
  if (name.length > HEADER_NAME_LENGTH_MAX) return `has a name longer than ${HEADER_NAME_LENGTH_MAX} characters`;
  const isRefused = REFUSED_NAMES.has(lowerName) || REFUSED_PREFIXES.some((prefix) => lowerName.startsWith(prefix));
  return isRefused ? 'is set by the service and cannot be chosen; leave it out' : null;
}

/** The same of its value. */
export function findHeaderValueFault(value: string): string | null {
  if (!VALUE.test(value)) return 'has a value with characters other than printable ASCII and tab';
  return value.length > HEADER_VALUE_LENGTH_MAX
    ? `has a value longer than ${HEADER_VALUE_LENGTH_MAX} characters`
    : null;
}

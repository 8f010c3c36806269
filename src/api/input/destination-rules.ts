// What a destination's fields must hold beyond their schema. Each function throws an ApiError that says what is wrong.
import type { Mode } from '../../model/api-key.ts';
import { HEADER_BYTES_MAX, METADATA_BYTES_MAX, URL_LENGTH_MAX } from '../../model/destination.ts';
import { findHeaderNameFault, findHeaderValueFault } from '../../model/destination-headers.ts';
import { ApiError } from '../../model/error.ts';
import { findPolicyFault, type RetryPolicy } from '../../model/retry-policy.ts';
import { HIDDEN } from '../output/present.ts';
import { clip, pointTo } from './request-json.ts';

type UrlCheck = (url: URL, mode: Mode) => string | null;

/** The URL as it is stored and shown: serialised by the WHATWG rules, and within the length also then. */
export function readUrl(text: string, mode: Mode, checkUrl: UrlCheck): URL {
  if (text.length > URL_LENGTH_MAX) throw invalidUrl(`the URL is longer than ${URL_LENGTH_MAX} characters`);
  const url = URL.parse(text);
  if (url === null) throw invalidUrl('this is not an absolute URL; write it like https://example.com/webhooks');
  if (url.href.length > URL_LENGTH_MAX) {
    throw invalidUrl(`the URL is longer than ${URL_LENGTH_MAX} characters when percent-encoded`);
  }
  const fault = checkUrl(url, mode);
  if (fault !== null) throw invalidUrl(fault);
  return url;
}

function invalidUrl(message: string): ApiError {
  return new ApiError('invalid_url', message, { param: '/url' });
}

export function checkRetryPolicy<Policy extends RetryPolicy | null | undefined>(policy: Policy): Policy {
  const fault = policy == null ? null : findPolicyFault(policy);
  if (fault !== null) throw new ApiError('invalid_request', fault, { param: '/retry_policy' });
  return policy;
}

/** The text that is stored: minified JSON. */
export function writeMetadata(metadata: Record<string, unknown>): string {
  const text = JSON.stringify(metadata);
  const length = Buffer.byteLength(text);
  if (length <= METADATA_BYTES_MAX) return text;
  const message = `"metadata" has ${length} bytes as minified JSON; at most ${METADATA_BYTES_MAX} are possible`;
  throw new ApiError('invalid_request', message, { param: '/metadata' });
}

/** Static headers as they are sent. `stored` are those that `"***"` may refer to. */
export function checkHeaders(headers: Record<string, string>, stored: Record<string, string>): Record<string, string> {
  const storedValues = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    const kept = value === HIDDEN ? storedValues.get(lowerName) : undefined;
    const fault =
      findHeaderFault(name, value, kept) ??
      (seen.has(lowerName) ? 'is there twice, for its case does not matter; send it once' : null);
    if (fault !== null) throw invalidHeader(`the header "${clip(name)}" ${fault}`, name);
    seen.add(lowerName);
    bytes += name.length + (kept ?? value).length;
  }
  if (bytes > HEADER_BYTES_MAX)
    throw invalidHeader(`the headers have ${bytes} bytes in all; at most ${HEADER_BYTES_MAX} are possible`);
  return headers;
}

function findHeaderFault(name: string, value: string, kept: string | undefined): string | null {
  const nameFault = findHeaderNameFault(name);
  if (nameFault !== null) return nameFault;
  if (value === HIDDEN && kept === undefined)
    return `has the value "${HIDDEN}", which only keeps one that is stored; give its own`;
  return findHeaderValueFault(value);
}

function invalidHeader(message: string, name?: string): ApiError {
  return new ApiError('invalid_request', message, { param: `/headers${name === undefined ? '' : pointTo(name)}` });
}

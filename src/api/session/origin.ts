// Whether a request comes from a page of the dashboard itself. A browser may send cookies along with what other pages
// ask for, and somebody's page may give this machine a name of its own (DNS rebinding): so the name that we are called
// by, the origin of the page, and what the browser says of both are all looked at.
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from '../../model/error.ts';

const SHOWN_LENGTH_MAX = 100;

/** Throws ApiError `forbidden` for a name that is neither this machine's nor among `hosts`. */
export function checkHost(host: string | undefined, hosts: readonly string[]): void {
  const name = nameIn(host);
  // No name server can lead an address, or localhost, to another machine.
  if (isLocalName(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0 || hosts.includes(name)) return;
  const shown = name.slice(0, SHOWN_LENGTH_MAX);
  throw new ApiError(
    'forbidden',
    `the dashboard is not served under the name "${shown}"; DASHBOARD_HOSTS has its names`,
  );
}

/** Of a request that a cookie may speak for, or that makes one. Throws ApiError `forbidden`. */
export function checkSameOrigin(method: string, headers: IncomingHttpHeaders, hosts: readonly string[]): void {
  checkHost(headers.host, hosts);
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw foreign('another page made this request');
  const { origin } = headers;
  if (origin === undefined) {
    // Browsers leave it out of reads only.
    if (method === 'GET' || method === 'HEAD') return;
    throw foreign('the Origin header is missing');
  }
  if (!isOriginOf(origin, headers.host!)) throw foreign('the Origin header is not that of this Host');
}

/** Whether a browser reached this page by HTTPS: Postrider itself speaks HTTP, and only the browser knows. */
export function isSecureOrigin(origin: string | undefined): boolean {
  return origin?.startsWith('https://') ?? false;
}

/**
 * Whether who asks is on this machine, with nobody in between: a proxy beside us connects from here for the whole
 * world, but says so, or calls us by the world's name for us.
 */
export function isFromThisMachine(address: string, headers: IncomingHttpHeaders): boolean {
  if (PROXY_HEADERS.some((name) => headers[name] !== undefined)) return false;
  return isLoopback(address.replace(/^::ffff:/, '')) && isLoopbackHost(nameIn(headers.host));
}

const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/** Whether a host, as a URL has it, is this machine. */
export function isLoopbackHost(name: string): boolean {
  return isLocalName(name) || isLoopback(name.replace(/^\[|\]$/g, ''));
}

function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/** The name in a Host header, without its port; '' for what is none. */
function nameIn(host: string | undefined): string {
  const url = URL.parse(`http://${host ?? ''}`);
  return url === null || url.pathname !== '/' || url.username !== '' ? '' : url.hostname;
}

function isOriginOf(origin: string, host: string): boolean {
  const given = URL.parse(origin);
  if (given === null || !/^https?:$/.test(given.protocol)) return false;
  // By the scheme of the origin, as a default port is left out of one and may be written in the other.
  return given.origin === origin && given.host === URL.parse(`${given.protocol}//${host}`)?.host;
}

function foreign(reason: string): ApiError {
  return new ApiError('forbidden', `a session is for the dashboard's own pages: ${reason}`);
}

// A destination's URL, taken apart once: every attempt needs the same few parts of it.
import { isIP } from 'node:net';
import { literalAddress, portOf } from './guard.ts';

export type Target = {
  url: URL;
  origin: string;
  /** The beginning of every request: the request line, with path and query exactly as the serialised URL has them. */
  requestHead: string;
  /** Without brackets around IPv6; as the URL has it otherwise. */
  hostname: string;
  port: number;
  isHttps: boolean;
  /** For SNI and the certificate: no trailing dot; empty for an address, which SNI does not know (RFC 6066). */
  serverName: string;
};

const TARGETS_MAX = 10_000;

/** Parses URLs, remembering the last 10,000: a look-up costs a tenth of parsing. Throws on what is no URL. */
export function createTargets(): (url: string) => Target {
  const targets = new Map<string, Target>();
  return (text) => {
    let target = targets.get(text);
    if (target === undefined) {
      target = parseTarget(new URL(text));
      if (targets.size >= TARGETS_MAX) targets.delete(targets.keys().next().value!);
      targets.set(text, target);
    }
    return target;
  };
}

export function parseTarget(url: URL): Target {
  const path = url.href.slice(url.origin.length);
  const hostname = literalAddress(url.hostname) ?? url.hostname;
  return {
    url,
    origin: url.origin,
    requestHead: `POST ${path} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n`,
    hostname,
    port: portOf(url),
    isHttps: url.protocol === 'https:',
    serverName: isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
  };
}

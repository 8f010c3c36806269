// What Node's parser lets pass and HTTP/1.1 does not, or we do not. Whoever stands between a caller and us may read
// such a request otherwise than we do, and find its end elsewhere: so its connection ends with the refusal.
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../model/error.ts';

/** Throws ApiError. */
export function checkHttp({ raw }: FastifyRequest, reply: FastifyReply): void {
  const fault = findFault(raw);
  if (fault === null) return;
  reply.header('connection', 'close');
  throw new ApiError('invalid_request', fault);
}

function findFault(request: IncomingMessage): string | null {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return 'this is no version of HTTP that is spoken here; send HTTP/1.1';
  }
  const hosts = countHosts(request.rawHeaders);
  if (hosts === 0 && httpVersion === '1.1') return 'the Host header is missing';
  if (hosts > 1) return 'there is more than one Host header; send one';
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings.
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return 'the only Transfer-Encoding that is understood is "chunked", in HTTP/1.1';
  }
  // Some clients offer to go on in HTTP/2 whenever the connection is a plain one, and take no for an answer.
  const { upgrade } = headers;
  if (upgrade !== undefined && upgrade.toLowerCase() !== 'h2c') {
    return 'no other protocol than HTTP/1.1 is spoken here; leave the Upgrade header out';
  }
  return null;
}

/** `headers.host` is the first of them. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

// Why an attempt failed, in words for the destination's owner. Node's own messages are never passed on: they
// name addresses ("connect ECONNREFUSED 10.0.0.1:443"). What is told apart is told apart by code.
import type { DnsFailure } from './resolver.ts';

export function explainDns(failure: DnsFailure): string {
  return failure === 'not_found'
    ? 'the host name does not exist or has no address'
    : 'the host name could not be resolved: its name servers failed or did not answer';
}

export function explainTcp(code: string | undefined, port: number): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `connection refused: nothing listens on port ${port}`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no network route to the host';
    case 'ETIMEDOUT':
      return 'the host did not answer';
    case 'ECONNRESET':
      return 'the connection was reset while it was being made';
    default:
      return `no connection${inBrackets(code)}`;
  }
}

/** OpenSSL's verification codes as Node names them, and the handshake failures that are common. */
const TLS_REASONS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate has been revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain ends in a self-signed certificate that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the certificate is not trusted, or an intermediate is missing',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the issuer of the certificate is not trusted, or an intermediate is missing',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'the host has no certificate for this name',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the host speaks neither TLS 1.2 nor 1.3',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'the host does not speak HTTP/1.1',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the host demands a client certificate',
  ECONNRESET: 'the connection was closed during the handshake',
  TOO_MUCH_BESIDE: 'the host sends far more than a handshake or a response takes',
  TOO_MANY_TICKETS: 'the host sends session tickets without end',
};

export function explainTls(code: string | undefined): string {
  return `TLS failed: ${TLS_REASONS[code ?? ''] ?? `no agreement with the host${inBrackets(code)}`}`;
}

export function explainStatus(code: number): string {
  if (code >= 300 && code < 400 && code !== 304)
    return `answered ${code}; redirects are not followed, so use the final URL`;
  if (code === 410) return 'answered 410: gone for good';
  return `answered ${code}; success is 2xx`;
}

/** Three digits: the rest of a budget is measured to the nanosecond. */
export function inSeconds(ms: number): string {
  return `${Number((ms / 1000).toPrecision(3))} s`;
}

/** A code for those who know it; only such characters as codes have, whatever it came from. */
function inBrackets(code: string | undefined): string {
  return code === undefined || !/^[\w/]{1,64}$/.test(code) ? '' : ` (${code})`;
}

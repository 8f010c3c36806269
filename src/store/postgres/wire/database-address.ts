// What the URL says about TLS, as libpq means it. pg by itself takes `require` and `verify-ca` for `verify-full`,
// passes over what it does not know, and reads the files for each connection: a missing one would end the process.
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { StoreError } from '../../store.ts';

export type DatabaseAddress = {
  /** Without what it said about TLS. */
  url: string;
  /** Undefined: it said nothing. */
  ssl?: ConnectionOptions | false;
  sslnegotiation?: Negotiation;
};

type Negotiation = 'postgres' | 'direct';
type Mode = 'disable' | 'require' | 'verify-ca' | 'verify-full';

const MODES: readonly string[] = ['disable', 'require', 'verify-ca', 'verify-full'] satisfies Mode[];
const PARAMETERS: readonly string[] = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];
/** Of libpq: the CAs that the system trusts; here those that come with Node. */
const SYSTEM = 'system';

/** What cannot be honoured. */
class Fault extends Error {}

/**
 * Reads the files that the URL names. Throws StoreError `wrong_setting` for what cannot be honoured, which names where
 * the URL was given.
 */
export function readDatabaseAddress(given: string, origin: string = 'POSTRIDER_DATABASE_URL'): DatabaseAddress {
  try {
    return readAddress(given);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new StoreError('wrong_setting', `${origin}: ${error.message}`);
  }
}

function readAddress(given: string): DatabaseAddress {
  const url = new URL(given);
  const { searchParams: parameters } = url;
  refuseUnknown([...parameters.keys()]);
  if (!PARAMETERS.some((name) => parameters.has(name))) return { url: given };
  const ssl = readTls(parameters);
  const sslnegotiation = negotiationOf(parameters.get('sslnegotiation'), ssl);
  for (const name of PARAMETERS) parameters.delete(name);
  return { url: url.href, ssl, sslnegotiation };
}

/** To be shown: no user, no password, no parameters. */
export function nameDatabase(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${searchParams.get('host') ?? host}${pathname}`;
}

function negotiationOf(given: string | null, ssl: ConnectionOptions | false): Negotiation {
  if (given === null || given === 'postgres') return 'postgres';
  if (given === 'direct' && ssl !== false) return 'direct';
  throw new Fault('sslnegotiation is postgres or, unless sslmode is disable, direct');
}

function readTls(parameters: URLSearchParams): ConnectionOptions | false {
  const mode = modeOf(parameters.get('sslmode'));
  if (mode === 'disable') return false;
  const rootCert = parameters.get('sslrootcert');
  const ssl: ConnectionOptions = {};
  if (rootCert !== null && rootCert !== SYSTEM) ssl.ca = readCertificate('sslrootcert', rootCert);
  const [cert, key] = [parameters.get('sslcert'), parameters.get('sslkey')];
  if ((cert === null) !== (key === null)) throw new Fault('sslcert and sslkey belong together: give both, or neither');
  if (cert !== null) ssl.cert = readCertificate('sslcert', cert);
  if (key !== null) ssl.key = readCertificate('sslkey', key);
  if (mode === 'verify-full') return ssl;
  // Anybody can have a certificate from a public CA, for some name.
  if (mode === 'verify-ca' && ssl.ca === undefined) {
    throw new Fault('sslmode=verify-ca needs sslrootcert, the file of the CA to trust; or say verify-full');
  }
  // As libpq: whoever names a CA wants it looked at.
  if (ssl.ca === undefined) return { ...ssl, rejectUnauthorized: false };
  return { ...ssl, checkServerIdentity: () => undefined };
}

function modeOf(given: string | null): Mode {
  // Files alone say that TLS is wanted, not how much of it.
  if (given === null) return 'verify-full';
  if (MODES.includes(given)) return given as Mode;
  if (given === 'prefer' || given === 'allow') {
    throw new Fault(
      `sslmode=${given} would send everything in the clear to a server that has no TLS: say disable or require`,
    );
  }
  throw new Fault(`the sslmode is none of ${MODES.join(', ')}`);
}

/** What would silently not be so, such as a list of revoked certificates. */
function refuseUnknown(names: readonly string[]): void {
  const unknown = names.find((name) => name.startsWith('ssl') && !PARAMETERS.includes(name));
  if (unknown === undefined) return;
  throw new Fault(`${unknown} is not known; what is known of TLS: ${PARAMETERS.join(', ')}`);
}

function readCertificate(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Fault(`cannot read ${parameter}: ${(error as Error).message}`);
  }
}

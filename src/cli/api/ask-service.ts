// The client of the service, and what its errors are to somebody at a command line.
import type { Postrider } from '../../../sdk/typescript/src/postrider.ts';
import type * as Client from '../../../sdk/typescript/src/postrider.ts';
import { KEY_LENGTH } from '../../model/api-key.ts';
import { CommandFailure } from '../command.ts';
import type { Connection } from './connection.ts';
import { nextCommand } from '../next-command.ts';

/** The module, too: its classes tell errors apart. */
type Ask<Result> = (client: Postrider, module: typeof Client) => Promise<Result>;

/** Of a parameter of the API, which flag or word of the command gives it; null: none does. */
export type NameOfParam = (param: string) => string | null;

/** Throws CommandFailure at whatever the service or the way there comes to. */
export async function askService<Result>(
  connection: Connection,
  nameOfParam: NameOfParam | null,
  ask: Ask<Result>,
): Promise<Result> {
  const { url, key } = connection;
  // Loaded here: what is wrong with a command line can be said without it.
  const module = await import('../../../sdk/typescript/src/postrider.ts');
  let isChange = false;
  const fetchNoting: typeof fetch = (resource, init) => {
    isChange = init?.method !== 'GET';
    return fetch(resource, init);
  };
  try {
    return await ask(new module.Postrider({ apiKey: key, baseUrl: url, fetch: fetchNoting }), module);
  } catch (error) {
    throw explain(error, { module, connection, nameOfParam, isChange });
  }
}

/** `isChange`: what was asked last changes something, or may. */
type Circumstances = {
  module: typeof Client;
  connection: Connection;
  nameOfParam: NameOfParam | null;
  isChange: boolean;
};

function explain(error: unknown, { module, connection, nameOfParam, isChange }: Circumstances): unknown {
  const { url, key, keyFrom } = connection;
  const fail = (text: string): CommandFailure => new CommandFailure(text, { cause: error });
  if (error instanceof module.UnauthorizedError) {
    return fail(`${url} does not take the key from ${keyFrom}: ${reasonOf(key)}`);
  }
  if (error instanceof module.ForbiddenError) return fail(`${error.message}; the key is from ${keyFrom}`);
  if (error instanceof module.ApiError) {
    const named = error.param === undefined ? null : (nameOfParam?.(error.param) ?? error.param);
    const request = error.requestId === undefined ? '' : `, request ${error.requestId}`;
    return fail(`${named === null ? '' : `${named}: `}${error.message} (${error.code}${request})`);
  }
  if (error instanceof module.ConnectionError) return fail(`${error.message}. ${hintOf(error, isChange)}`);
  if (error instanceof module.TimeoutError) return fail(`${url}: ${error.message}. ${lostHint(isChange)}`);
  if (error instanceof module.PostriderError) return fail(`${url}: ${error.message}`);
  return error;
}

/** Why a service may not take it. A paste that lost its end has the right beginning. */
function reasonOf(key: string): string {
  const { length } = key.replace(/^pr_(test|live)_/, '');
  if (length !== KEY_LENGTH) return `it has ${length} characters behind "${key.slice(0, 8)}", and a key ${KEY_LENGTH}`;
  return `it is unknown there, revoked or expired; "${nextCommand('keys list')}" shows those of its store`;
}

/** Of OpenSSL: a certificate that no authority known here has signed. */
const UNKNOWN_SIGNER = /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)/;

/** Of the system and of fetch: there never was a connection, so nothing was asked. */
const NO_CONNECTION = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** What to look at when no answer came. */
function hintOf({ cause }: Client.ConnectionError, isChange: boolean): string {
  const { code = '', message } = ((cause as Error | undefined)?.cause ?? {}) as { code?: string; message?: string };
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'Nothing there speaks TLS: does its address begin with http://?';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Its certificate is for another name: give that in the URL';
  if (code === 'CERT_HAS_EXPIRED') return 'Its certificate must be renewed';
  if (UNKNOWN_SIGNER.test(code)) return 'To trust the certificate that signed it: NODE_EXTRA_CA_CERTS=FILE.pem';
  // It has no code: fetch has sent nothing, as browsers would, to a port that the Fetch standard blocks.
  if (message === 'bad port') return 'Browsers and fetch open no connection to that port: let the service have another';
  return lostHint(isChange && !NO_CONNECTION.test(code));
}

/** Whoever repeats a change whose answer alone was lost makes a second destination, or a second event. */
function lostHint(isChange: boolean): string {
  if (isChange) return 'It may have been done all the same: see what is there before you repeat it';
  return `Is the service running there? "${nextCommand('serve')}" starts one; --url names another`;
}

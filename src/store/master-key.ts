// The forms in which a master key is written down, in the setting or in a file.
import { MASTER_KEY_BYTES } from '../runtime/sealer.ts';
import { StoreError } from './store.ts';

const FORMS = '64 hex digits or the base64 of 32 bytes';

/** Throws a StoreError of this code, naming the source, if the text has neither form. */
export function parseMasterKey(text: string, source: string, code: 'wrong_master_key' | 'wrong_setting'): Uint8Array {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Uint8Array.fromHex(text);
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  if (bytes.length !== MASTER_KEY_BYTES || !/^[A-Za-z0-9+/]{43}=?$/.test(text)) {
    throw new StoreError(code, `${source} must be ${FORMS}, for example from: openssl rand -hex 32`);
  }
  return bytes;
}

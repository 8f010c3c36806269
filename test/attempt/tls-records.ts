// The server's records of a connection of TLS 1.3 with TLS_AES_128_GCM_SHA256, made by hand (RFC 8446, 5.2): no server
// that Node can make changes its keys as often as it likes.
import { createCipheriv, createHmac } from 'node:crypto';

const HANDSHAKE = 22;
const APPLICATION_DATA = 23;
const TAG_BYTES = 16;
/** What a server of Node's sends behind its handshake, each in a record. */
const TICKETS = 2;
/** A handshake message: its type, a length of three bytes, and that no change is asked for in return (4.6.3). */
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 0]);

export class TlsRecords {
  #secret: Buffer;
  /** Under the same keys. */
  #count = TICKETS;

  /** SERVER_TRAFFIC_SECRET_0, as a key log has it; the server has sent its tickets, and nothing else since. */
  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  data(text: string): Buffer {
    return this.#encrypt(Buffer.from(text), APPLICATION_DATA);
  }

  keyUpdates(count: number): Buffer {
    const records: Buffer[] = [];
    for (let n = 0; n < count; n++) {
      records.push(this.#encrypt(KEY_UPDATE, HANDSHAKE));
      this.#secret = expand(this.#secret, 'traffic upd', this.#secret.length);
      this.#count = 0;
    }
    return Buffer.concat(records);
  }

  #encrypt(content: Buffer, type: number): Buffer {
    const text = Buffer.concat([content, Buffer.of(type)]);
    const head = Buffer.from([APPLICATION_DATA, 3, 3, 0, text.length + TAG_BYTES]);
    const nonce = expand(this.#secret, 'iv', 12);
    nonce[nonce.length - 1]! ^= this.#count++;
    const cipher = createCipheriv('aes-128-gcm', expand(this.#secret, 'key', 16), nonce).setAAD(head);
    return Buffer.concat([head, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  }
}

/** HKDF-Expand-Label without a context, of at most one hash (7.1). */
function expand(secret: Buffer, label: string, bytes: number): Buffer {
  const full = `tls13 ${label}`;
  const info = Buffer.from([0, bytes, full.length, ...Buffer.from(full), 0, 1]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, bytes);
}

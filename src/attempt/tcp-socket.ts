// A TCP socket whose bytes come by a call instead of as a stream: all of them are read into one buffer. A buffer for
// each read, and the stream around it, were a fortieth of an event's CPU time.
import { Socket } from 'node:net';

const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);
export const TCP_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

export class TcpSocket extends Socket {
  readonly #hears: { bytes: (bytes: Buffer) => void };

  constructor() {
    const hears = { bytes: (_: Buffer): void => {} };
    super({
      ...TCP_OPTIONS,
      onread: {
        buffer: READ_BUFFER,
        callback: (length) => {
          hears.bytes(READ_BUFFER.subarray(0, length));
          return true;
        },
      },
    });
    this.#hears = hears;
    // Nobody listens yet: whoever speaks first, before a request, does not speak HTTP.
    this.onBytes(() => this.destroy());
  }

  /** From now on this hears what comes. The bytes may be read during the call only. */
  onBytes(hear: (bytes: Buffer) => void): void {
    this.#hears.bytes = hear;
  }
}

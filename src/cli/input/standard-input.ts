// Standard input to its end, for a flag whose value is "-".
import { UsageError } from '../../config.ts';

/** Far more than the service takes of anything. */
const BYTES_MAX = 8 * 1024 * 1024;

/** Throws UsageError, which names the flag, at what is too long or no UTF-8. */
export async function readAll(flag: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BYTES_MAX) throw new UsageError(`${flag}: standard input is longer than ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return decode(flag, Buffer.concat(chunks));
}

/** What is no UTF-8 would be sent as other text without a word: UsageError. */
export function decode(flag: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${flag}: it is no UTF-8`);
  }
}

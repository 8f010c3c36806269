// Reads HTTP/1.1 messages with a Content-Length from a socket's chunks, and nothing else: what the load's own
// processes spend on parsing is taken from the machine that is being measured.

const HEAD_END = '\r\n\r\n';
const LENGTH_NAME = 'content-length: ';
const EMPTY = Buffer.alloc(0);

/** `head` ends before the empty line; both are views that hold only during the call. */
export type OnMessage = (message: Buffer, bodyStart: number) => void;

/** A function to give every chunk to. Case-sensitive on purpose: both sides write lower-case names. */
export function createMessageReader(onMessage: OnMessage): (chunk: Buffer) => void {
  let pending: Buffer = EMPTY;
  return (chunk) => {
    let rest = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const length = messageLength(rest);
      if (length === null || rest.length < length.total) break;
      onMessage(rest.subarray(0, length.total), length.bodyStart);
      rest = rest.subarray(length.total);
    }
    pending = rest.length === 0 ? EMPTY : Buffer.from(rest);
  };
}

function messageLength(bytes: Buffer): { bodyStart: number; total: number } | null {
  const headEnd = bytes.indexOf(HEAD_END, 0, 'latin1');
  if (headEnd < 0) return null;
  const bodyStart = headEnd + HEAD_END.length;
  const name = bytes.indexOf(LENGTH_NAME, 0, 'latin1');
  if (name < 0 || name > headEnd) return { bodyStart, total: bodyStart };
  let length = 0;
  for (let at = name + LENGTH_NAME.length; at < headEnd; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) break;
    length = length * 10 + digit;
  }
  return { bodyStart, total: bodyStart + length };
}

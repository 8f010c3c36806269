// Reads text/event-stream: blocks of `name: value` lines
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
import { UnexpectedAnswerError } from './errors.ts';

/** A comment keeps the connection alive and has no event. */
export type ServerSentEvent = { id: string; event: string; data: string };

/** A message is at most an event's body of 64 KiB and a little more; what has no end must not fill the memory. */
const BLOCK_LENGTH_MAX = 4 * 1024 * 1024;

export class ServerSentEvents {
  readonly #decoder = new TextDecoder();
  #text = '';

  /** What these bytes complete. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const blocks = (this.#text + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/);
    this.#text = blocks.pop()!;
    if (this.#text.length > BLOCK_LENGTH_MAX) {
      throw new UnexpectedAnswerError('the stream has a message without an end', { status: 200 });
    }
    return blocks.map(readBlock).filter(({ data }) => data !== '');
  }
}

function readBlock(block: string): ServerSentEvent {
  const fields: ServerSentEvent = { id: '', event: '', data: '' };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(id|event|data): ?(.*)$/s.exec(line) ?? [];
    if (name !== undefined) fields[name as keyof ServerSentEvent] += value!;
  }
  return fields;
}

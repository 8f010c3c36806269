// One message of a stream: what it says, as JSON that was made once for all who read it, and what filters go by.
import { selects, type TypeSelection } from '../model/event-type.ts';
import type { MessageId } from '../model/id.ts';

export const MESSAGE_KINDS = ['event', 'attempt', 'delivery', 'destination'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** A longer body of an event is left out. */
const STREAMED_BODY_BYTES_MAX = 65_536;

/** What filters go by; null: there is none, and a filter on it lets the message not through. */
export type Subject = {
  kind: MessageKind;
  /** Whom it is about; an event is about every destination that gets it, which may be thousands. */
  destinations: string | ReadonlySet<string>;
  eventType: string | null;
  status: string | null;
};

export type Message = Subject & {
  id: MessageId;
  /** A JSON object. */
  data: string;
  /** Members to add to `data` for those who want an event's body; empty: none. */
  bodyMembers: string;
};

/** Messages that are gone, and nobody can tell for whom they were. null: nor how many. */
export type Loss = { id: MessageId; missed: number | null };

export type StreamFilter = {
  kinds: ReadonlySet<MessageKind>;
  destinationId: string | null;
  eventType: TypeSelection | null;
  status: string | null;
};

export function matches(filter: StreamFilter, subject: Subject): boolean {
  return (
    filter.kinds.has(subject.kind) &&
    (filter.status === null || filter.status === subject.status) &&
    (filter.destinationId === null || isAbout(subject, filter.destinationId)) &&
    (filter.eventType === null || (subject.eventType !== null && selects(filter.eventType, subject.eventType)))
  );
}

function isAbout({ destinations }: Subject, id: string): boolean {
  return typeof destinations === 'string' ? destinations === id : destinations.has(id);
}

// As the format has it (https://html.spec.whatwg.org/multipage/server-sent-events.html): `data` is one line, for JSON
// that we write has no line breaks, and those between the tokens of a body are replaced.

export const COMMENT = Buffer.from(':\n\n');

export function formatMessage({ id, kind, data }: Pick<Message, 'id' | 'kind' | 'data'>): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${kind}\ndata: ${data}\n\n`);
}

export function formatWithBody({ bodyMembers, ...message }: Message): Buffer {
  return formatMessage({ ...message, data: `${message.data.slice(0, -1)},${bodyMembers}}` });
}

/** Whoever resumes after a gap need not be told of it again. */
export function formatGap({ id, missed }: Loss): Buffer {
  return Buffer.from(`id: ${id}\nevent: gap\ndata: {"missed":${missed}}\n\n`);
}

/** Inside of strings JSON has no line breaks; between its tokens one is as good as a space. */
export function bodyMembersOf(body: Uint8Array, isWanted: boolean): string {
  if (!isWanted || body.length > STREAMED_BODY_BYTES_MAX) return `"body":null,"body_bytes":${body.length}`;
  return `"body":${Buffer.from(body)
    .toString()
    .replaceAll(/[\r\n]/g, ' ')}`;
}

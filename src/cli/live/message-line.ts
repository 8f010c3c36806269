// One message of the stream in one line of the terminal: what must be seen comes first, what has room follows.
import type { StreamMessage } from '../../../sdk/typescript/src/postrider.ts';
import { formatTime } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import { paintState, relativeTime, timeOfDay } from '../api/cells.ts';
import { fit, printable, widthOf } from '../terminal.ts';

const GAP = '  ';
const STATE_WIDTH = 9;
const ANSWER_WIDTH = 3;
const TYPE_WIDTH_MIN = 20;
const TYPE_WIDTH_MAX = 32;
/** Of where a delivery goes, `→ dst_…`, and the gap before it. */
const MORE_WIDTH = 34;

type Told = { at: string; state: string; answer: string; what: string; id: string; more: readonly string[] };

export function formatMessage(message: Exclude<StreamMessage, { kind: 'gap' }>, width: number | null): string {
  const { at, state, answer, what, id, more } = tell(message);
  const head = `${timeOfDay(at)}${GAP}${paintState(state, state.padEnd(STATE_WIDTH))}${GAP}`;
  const fixed = 'HH:MM:SSZ'.length + STATE_WIDTH + ANSWER_WIDTH + id.length + 4 * GAP.length;
  const room =
    width === null ? TYPE_WIDTH_MAX : Math.min(TYPE_WIDTH_MAX, Math.max(TYPE_WIDTH_MIN, width - fixed - MORE_WIDTH));
  const text = printable(what);
  // Without a terminal nothing is cut.
  const shown = width === null && widthOf(text) > room ? text : fit(text, room);
  let line = `${answer.padStart(ANSWER_WIDTH)}${GAP}${shown}${GAP}${id}`;
  let used = fixed + widthOf(shown);
  for (const part of more.map(printable)) {
    used += GAP.length + widthOf(part);
    if (width !== null && used > width) break;
    line += GAP + part;
  }
  return head + line;
}

type MessageOf<Kind> = Extract<StreamMessage, { kind: Kind }>;

function tell(message: Exclude<StreamMessage, { kind: 'gap' }>): Told {
  if (message.kind === 'delivery') return tellDelivery(message);
  if (message.kind === 'attempt') return tellAttempt(message);
  if (message.kind === 'destination') return tellDestination(message);
  const { created_at: at, type, event_id: id } = message.data;
  return { at, state: 'accepted', answer: '', what: type, id, more: [] };
}

function tellDelivery({ data }: MessageOf<'delivery'>): Told {
  const { id, status, response_codes: codes, next_attempt_at: next, dead_reason: reason } = data;
  const coming = next === null || status !== 'retrying' ? [] : [`next ${relativeTime(next, systemClock.now())}`];
  return {
    at: data.updated_at,
    state: status,
    answer: data.attempt_count === 0 ? '' : String(codes.at(-1) ?? '-'),
    what: data.event_type,
    id,
    more: [...(reason === null ? coming : [reason]), `→ ${data.destination_id}`],
  };
}

function tellAttempt({ data }: MessageOf<'attempt'>): Told {
  const { started_at: at, outcome, response_code: code, delivery_id: id, error } = data;
  return {
    at,
    state: outcome === 'succeeded' ? outcome : 'failed',
    answer: String(code ?? '-'),
    what: `attempt ${data.attempt}`,
    id,
    more: [`${data.duration_ms} ms`, ...(error === null ? [] : [error])],
  };
}

function tellDestination({ data }: MessageOf<'destination'>): Told {
  const common = { answer: '', id: data.id };
  if ('deleted' in data) {
    return { ...common, at: formatTime(systemClock.now()), state: 'deleted', what: 'destination', more: [] };
  }
  const { updated_at: at, status: state, name, url } = data;
  return { ...common, at, state, what: name || 'destination', more: [url] };
}

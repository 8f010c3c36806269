// A receiver to try things with: prints every delivery that it gets, and whether its signature holds.
import { isUtf8 } from 'node:buffer';
import { formatTime } from '../model/time.ts';
import { systemClock } from '../runtime/clock.ts';
import { integerFlag, integerOf, JSON_FLAG, partsOf, type Command, type CommandLine } from './command.ts';
import { nextEnd } from './end.ts';
import { sentences, shownJson, tell } from './output.ts';
import { startReceiver, type Arrival, type Receiver } from './receiver.ts';
import { createVerifier, type Verdict, type Verify } from './signature.ts';
import { paint } from './table.ts';
import { breakAnywhere, COLUMNS, printable } from './terminal.ts';

const PORTS = { min: 0, max: 65_535, fallback: 8384 };
const STATUSES = { min: 200, max: 599, fallback: 200 };
const INDENT = '  ';
const BODY_LINES_MAX = 4;

export const receiveCommand: Command = {
  name: 'receive',
  summary: 'Receive deliveries on this machine: print each and check its signature',
  usage: ['receive [--port 8384] [--secret whsec_…] [--status 500]'],
  examples: ['receive', 'receive --port 9001 --secret whsec_…', 'receive --status 500'],
  flags: {
    port: integerFlag('port of 127.0.0.1; 0 picks a free one', PORTS),
    secret: { type: 'string', meaning: 'signing secrets, comma-separated: one that holds is enough', value: 'SECRETS' },
    status: integerFlag('what to answer; 500, say, to see retries', STATUSES),
    json: { ...JSON_FLAG, meaning: 'print one JSON object a line, with all headers and the whole body' },
  },
  run: receive,
};

type Options = { port: number; secretCount: number; verify: Verify; status: number; isJson: boolean };

/** What became of a request. */
type Reception = { arrival: Arrival; verdict: Verdict; answered: number };

async function receive(line: CommandLine): Promise<number> {
  const options = readOptions(line);
  const present = options.isJson ? asJson : asText;
  // Before the first line is out: whoever waits for that line may then end this at once.
  const ended = nextEnd();
  let receiver: Receiver;
  try {
    receiver = await startReceiver({ port: options.port, clock: systemClock, onArrival: take });
  } catch (error) {
    tell(`postrider: ${explainListening(error, options.port)}`);
    return 1;
  }
  process.stdout.write(
    options.isJson
      ? `${shownJson({ event: 'listening', url: receiver.url })}\n`
      : sentences(greet(receiver, options), process.stdout),
  );
  await ended;
  receiver.close();
  return 0;

  function take(arrival: Arrival): number {
    const verdict = options.verify(arrival);
    const answered = verdict.result === 'refused' ? 401 : options.status;
    process.stdout.write(present({ arrival, verdict, answered }));
    return answered;
  }
}

function readOptions(line: CommandLine): Options {
  const text = line.textOf('secret');
  const secrets = text === null ? [] : partsOf(text);
  return {
    port: integerOf(line, 'port', PORTS),
    secretCount: secrets.length,
    verify: createVerifier(secrets),
    status: integerOf(line, 'status', STATUSES),
    isJson: line.has('json'),
  };
}

function explainListening(error: unknown, port: number): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE') return `port ${port} is in use; end what listens there, or choose another with --port`;
  if (code === 'EACCES') return `this user may not listen on port ${port}; choose another with --port`;
  throw error;
}

// ── For people ──

function greet({ url }: Receiver, { secretCount, status }: Options): string {
  const checking =
    secretCount === 0 ? 'Signatures are not checked: that needs --secret whsec_…' : 'Signatures are checked.';
  const answering = status === 200 ? '' : ` Answering ${status}.`;
  return `Receiving on ${url}, any path. Ctrl-C ends it.\n${checking}${answering}\n`;
}

function asText({ arrival, verdict, answered }: Reception): string {
  const { type, data } = openEnvelope(arrival.body);
  const path = arrival.path === '/' ? '' : `  ${printable(arrival.path)}`;
  const time = formatTime(arrival.receivedAt).slice('2026-01-31T'.length);
  const { 'webhook-id': id, 'postrider-delivery-id': delivery, 'postrider-attempt': attempt } = arrival.headers;
  const identity = [id ?? 'no webhook-id', delivery, attempt && `attempt ${attempt}`].filter(Boolean).join('  ');
  return [
    '',
    `${time}  ${paint('bold', type)}  ${describeVerdict(verdict)}  → ${answered}${path}`,
    `${INDENT}${printable(identity)}`,
    ...wrap(data, { columns: COLUMNS - INDENT.length, linesMax: BODY_LINES_MAX }).map((row) =>
      paint('dim', INDENT + row),
    ),
    '',
  ].join('\n');
}

function describeVerdict(verdict: Verdict): string {
  if (verdict.result === 'not_checked') return paint('dim', 'not checked');
  if (verdict.result === 'refused') return paint('red', `✘ NOT verified: ${verdict.reason}`);
  return paint('green', verdict.by.length === 1 ? '✔ verified' : `✔ verified by secrets ${verdict.by.join(' and ')}`);
}

/** What the service wraps around an event's body; the members before `data` hold no quotes inside. */
const ENVELOPE = /^\{"id":"[^"]*","type":"([^"]*)","timestamp":"[^"]*","data":/;

/** The event's type and body; of a body that is no event all there is. */
function openEnvelope(body: Buffer): { type: string; data: string } {
  if (!isUtf8(body)) return { type: '(not an event)', data: `${body.length} bytes that are not UTF-8` };
  const text = body.toString();
  const envelope = ENVELOPE.exec(text);
  if (envelope === null) return { type: '(not an event)', data: printable(text) };
  return { type: printable(envelope[1]!), data: printable(text.slice(envelope[0].length, -1)) };
}

/** What is beyond the last line is counted. */
function wrap(text: string, bounds: { columns: number; linesMax: number }): string[] {
  const { lines, taken } = breakAnywhere(text, bounds);
  return taken < text.length ? [...lines, `… ${text.length - taken} characters more`] : lines;
}

// ── For programs ──

function asJson({ arrival, verdict, answered }: Reception): string {
  const { receivedAt, path, headers, body } = arrival;
  const isText = isUtf8(body);
  const shown = shownJson({
    event: 'request',
    received_at: formatTime(receivedAt),
    path,
    type: ENVELOPE.exec(body.toString())?.[1] ?? null,
    webhook_id: headers['webhook-id'] ?? null,
    delivery_id: headers['postrider-delivery-id'] ?? null,
    attempt: /^\d+$/.test(headers['postrider-attempt'] ?? '') ? Number(headers['postrider-attempt']) : null,
    signature: verdict.result,
    verified_by: verdict.result === 'verified' ? verdict.by : [],
    reason: verdict.result === 'refused' ? verdict.reason : null,
    answered,
    headers,
    body: body.toString(isText ? 'utf8' : 'base64'),
    body_encoding: isText ? 'utf8' : 'base64',
  });
  return `${shown}\n`;
}

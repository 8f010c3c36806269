// A name server on loopback that says whatever a test wants it to say (RFC 1035).
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';

export type RecordType = 'A' | 'AAAA';
export type Answer =
  | { kind: 'addresses'; addresses: readonly string[]; ttl?: number; alias?: string }
  | { kind: 'empty' | 'no_such_name' | 'failure' | 'silence' };

export interface DnsServer {
  /** For a resolver to ask. */
  readonly servers: string[];
  /** Questions so far, as "A name". */
  readonly questions: string[];
  close(): void;
}

const TYPES: Record<number, RecordType> = { 1: 'A', 28: 'AAAA' };
const TYPE_NUMBERS = { A: 1, CNAME: 5, AAAA: 28 };
const HEADER_BYTES = 12;

/** `answer` is asked for every question. */
export async function startDnsServer(answer: (name: string, type: RecordType) => Answer): Promise<DnsServer> {
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => reply(socket, query, from));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));

  function reply(to: Socket, query: Buffer, from: RemoteInfo): void {
    const { name, type, end } = readQuestion(query);
    questions.push(`${type} ${name}`);
    const said = answer(name, type);
    if (said.kind === 'silence') return;
    const records = said.kind === 'addresses' ? recordsOf(said, { name, type }) : [];
    const code = { addresses: 0, empty: 0, failure: 2, no_such_name: 3 }[said.kind];
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8580 | code, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    to.send(Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...records]), from.port, from.address);
  }

  return {
    servers: [`127.0.0.1:${socket.address().port}`],
    questions,
    close: () => socket.close(),
  };
}

function readQuestion(query: Buffer): { name: string; type: RecordType; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  while (query[at]! > 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    at += 1 + query[at]!;
  }
  return { name: labels.join('.').toLowerCase(), type: TYPES[query.readUInt16BE(at + 1)]!, end: at + 5 };
}

type Addresses = Extract<Answer, { kind: 'addresses' }>;

function recordsOf({ addresses, ttl = 60, alias }: Addresses, asked: { name: string; type: RecordType }): Buffer[] {
  const owner = alias ?? asked.name;
  const records = addresses
    .filter((address) => address.includes(':') === (asked.type === 'AAAA'))
    .map((address) => record({ owner, type: asked.type, ttl, data: addressBytes(address) }));
  if (alias === undefined) return records;
  return [record({ owner: asked.name, type: 'CNAME', ttl, data: nameBytes(alias) }), ...records];
}

function record(parts: { owner: string; type: keyof typeof TYPE_NUMBERS; ttl: number; data: Buffer }): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(TYPE_NUMBERS[parts.type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(parts.ttl, 4);
  fixed.writeUInt16BE(parts.data.length, 8);
  return Buffer.concat([nameBytes(parts.owner), fixed, parts.data]);
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

/** IPv6 with at most one "::". */
function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

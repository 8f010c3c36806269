// What is sent to a connection in one turn goes out in one write with one Sync, and the server answers it in one write.
// pg's own pipelining ends every statement with a Sync of its own: seven answers, seven wake-ups of both processes for
// a transaction of seven statements, which cost more than its rows do until there are a hundred of them.
//
// PostgreSQL 15 documentation, "Message Flow": 55.2.3 "Extended Query", 55.2.4 "Pipelining".
import { Query, type Connection, type PoolClient } from 'pg';
import { decoderOf, type Value } from './values.ts';

type Answer = {
  /** The tag: `INSERT`, `COMMIT`, … */
  command: string;
  /** Rows changed or found. */
  rowCount: number;
  rows: Record<string, unknown>[];
};

export type Sendable = { name: string; text: string };

type Decoder = { column: string; decode: (text: string) => unknown };

/** A statement that a connection knows, and how its rows are read. */
type Prepared = { decoders: Decoder[] };

type Sent = {
  what: Sendable;
  values: readonly Value[];
  rows: Record<string, unknown>[];
  prepared: Prepared;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
};

/** Asked for by the types of pg only: pg itself takes no such argument, and corks nothing by it. */
const MORE = true;

const preparedOn = new WeakMap<Connection, Map<string, Prepared>>();

export class Pipeline {
  readonly #client: PoolClient;
  #turn: Sent[] = [];

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /**
   * Goes out when this turn and all that has been settled by now are through, in order. After one that fails the server
   * skips the rest of its turn: all of them reject with its error.
   */
  send(what: Sendable, values: readonly Value[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#turn.length === 0) process.nextTick(() => this.#flush());
      this.#turn.push({ what, values, rows: [], prepared: { decoders: [] }, resolve, reject });
    });
  }

  #flush(): void {
    const turn = new Turn(this.#turn);
    this.#turn = [];
    this.#client.query(turn);
  }
}

type RowDescription = { fields: { name: string; dataTypeID: number }[] };
type DataRow = { fields: (string | null)[] };
type CommandComplete = { text: string };

/**
 * For pg it is one query, of a kind of our own: pg writes what `submit` writes, and hands over what the server answers
 * until its ReadyForQuery.
 */
class Turn extends Query {
  #sent: Sent[];
  #answered = 0;
  #prepared = new Map<string, Prepared>();
  /** pg wraps it with its time-out. */
  callback: (error: unknown) => void = (error) => this.#end(error);

  constructor(sent: Sent[]) {
    super('');
    this.#sent = sent;
  }

  override submit = (connection: Connection): void => {
    this.#prepared = preparedOn.get(connection) ?? new Map<string, Prepared>();
    preparedOn.set(connection, this.#prepared);
    const fresh = new Map<string, Prepared>();
    connection.stream.cork();
    for (const sent of this.#sent) this.#write(connection, sent, fresh);
    connection.sync();
    connection.stream.uncork();
  };

  #write(connection: Connection, sent: Sent, fresh: Map<string, Prepared>): void {
    const { what, values } = sent;
    const { name, text } = what;
    const known = this.#prepared.get(name) ?? fresh.get(name);
    if (known === undefined) {
      // An earlier turn may have failed after its Parse or before it: to close what is not there is no error.
      connection.close({ type: 'S', name }, MORE);
      connection.parse({ name, text, types: [] }, MORE);
      fresh.set(name, sent.prepared);
    } else {
      sent.prepared = known;
    }
    connection.bind({ statement: name, values: values.map(toParameter) }, MORE);
    // Its answer says what the columns are; they do not change.
    if (known === undefined) connection.describe({ type: 'P', name: '' }, MORE);
    connection.execute(null, MORE);
  }

  handleRowDescription({ fields }: RowDescription): void {
    const decoders = fields.map(({ name: column, dataTypeID }) => ({ column, decode: decoderOf(dataTypeID) }));
    this.#sent[this.#answered]!.prepared.decoders.push(...decoders);
  }

  handleDataRow({ fields }: DataRow): void {
    const { prepared, rows } = this.#sent[this.#answered]!;
    const row: Record<string, unknown> = {};
    for (const [i, { column, decode }] of prepared.decoders.entries()) {
      const text = fields[i]!;
      row[column] = text === null ? null : decode(text);
    }
    rows.push(row);
  }

  handleCommandComplete({ text }: CommandComplete): void {
    const { what, prepared, rows, resolve } = this.#sent[this.#answered++]!;
    this.#prepared.set(what.name, prepared);
    // "INSERT 0 5", "DELETE 3", "COMMIT".
    const words = text.split(' ');
    resolve({ command: words[0]!, rowCount: Number(words.at(-1)) || 0, rows });
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: unknown): void {
    this.callback(error);
  }

  #end(error: unknown): void {
    for (const { reject } of this.#sent.slice(this.#answered))
      reject(error ?? new Error('a statement was not answered'));
    // A turn may stay in memory until the next full collection, by way of pg's time-out: what it sent does not.
    this.#sent = [];
    this.callback = () => {};
  }
}

function toParameter(value: Value): Buffer | string | null {
  if (value === null || typeof value === 'string' || value instanceof Buffer) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}

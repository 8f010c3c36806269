// Statements one at a time, each when those before it are answered, with a stop before it.
import type { PoolClient } from 'pg';
import { Pipeline, type Sendable } from '../../../src/store/postgres/wire/pipeline.ts';
import type { Value } from '../../../src/store/postgres/wire/values.ts';

type Sent = ReturnType<Pipeline['send']>;

/** What belongs to the connection rather than to the work: there is no stop before it. */
const NOT_STOPPED = ['BEGIN', 'BEGIN READ', 'ROLLBACK', 'DISCARD PLANS'];

/** `beforeStatement`: awaited before every statement of a transaction, by its name, and before COMMIT. */
export function stepped(beforeStatement: (name: string) => Promise<void>): (client: PoolClient) => Pipeline {
  return (client) => new SteppedPipeline(client, beforeStatement);
}

class SteppedPipeline extends Pipeline {
  readonly #beforeStatement: (name: string) => Promise<void>;
  readonly #sent: Sent[] = [];

  constructor(client: PoolClient, beforeStatement: (name: string) => Promise<void>) {
    super(client);
    this.#beforeStatement = beforeStatement;
  }

  override send(what: Sendable, values: readonly Value[]): Sent {
    const sent = NOT_STOPPED.includes(what.name) ? super.send(what, values) : this.#sendLater(what, values);
    sent.catch(() => {});
    this.#sent.push(sent);
    return sent;
  }

  async #sendLater(what: Sendable, values: readonly Value[]): Promise<Awaited<Sent>> {
    await Promise.allSettled(this.#sent);
    await this.#beforeStatement(what.name);
    return super.send(what, values);
  }
}

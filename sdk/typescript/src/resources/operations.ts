// Operations: what was asked for in bulk, and how far it has come.
import { sleep, type CallOptions } from '../deadline.ts';
import { encode } from '../json-text.ts';
import { List, type PageQuery } from '../list.ts';
import type { Schema } from '../shapes.ts';
import { pathOf, type AnsweredCall, type Transport } from '../transport.ts';

export type Operation = Schema<'Operation'>;
/** What an operation would be about. */
export type DryRun = Schema<'DryRun'>;

/** `onProgress` is called with each look at it, `pollMs` apart (1,000). */
export type WaitOptions = { signal?: AbortSignal; pollMs?: number; onProgress?: (operation: Operation) => void };

const POLL_MS = 1_000;

/** Starts an operation, or with `dry_run` only counts. */
export function bulkCall(path: string, input: { dry_run?: boolean | null }): AnsweredCall {
  const isDryRun = input.dry_run === true;
  return {
    method: 'POST',
    path,
    body: encode(input),
    isRepeatable: isDryRun,
    due: isDryRun ? { count: 'number' } : { id: 'string' },
  };
}

export class Operations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: PageQuery = {}, options?: CallOptions): List<Operation> {
    return new List(query, (page) =>
      this.#transport.call({ method: 'GET', path: '/v1/operations', query: page, due: { data: 'object' } }, options),
    );
  }

  get(id: string, options?: CallOptions): Promise<Operation> {
    return this.#transport.call({ method: 'GET', path: pathOf('operations', id), due: { id: 'string' } }, options);
  }

  /** Ends it where it is: what it has sent stays sent. */
  cancel(id: string, options?: CallOptions): Promise<Operation> {
    const path = pathOf('operations', id, 'cancel');
    return this.#transport.call({ method: 'POST', path, isRepeatable: true, due: { id: 'string' } }, options);
  }

  pause(id: string, options?: CallOptions): Promise<Operation> {
    const path = pathOf('operations', id, 'pause');
    return this.#transport.call({ method: 'POST', path, isRepeatable: true, due: { id: 'string' } }, options);
  }

  resume(id: string, options?: CallOptions): Promise<Operation> {
    const path = pathOf('operations', id, 'resume');
    return this.#transport.call({ method: 'POST', path, isRepeatable: true, due: { id: 'string' } }, options);
  }

  /** Resolves when it is done, cancelled or failed; a paused one is waited for. */
  async wait(id: string, { signal, pollMs = POLL_MS, onProgress }: WaitOptions = {}): Promise<Operation> {
    for (;;) {
      const operation = await this.get(id, { signal });
      onProgress?.(operation);
      if (operation.finished_at !== null) return operation;
      await sleep(pollMs, signal);
    }
  }
}

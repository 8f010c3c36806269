// Plays a hand-written situation in a world of its own; whatever any ledger objects to is a failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settings } from '../../src/config.ts';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { auditEnd, Meter } from './audit.ts';
import { Clients, type DestinationSpec } from './clients.ts';
import type { Behaviour, Exchange } from './receivers.ts';
import { World } from './world.ts';

const LIVE = 1;
export const TEST = 2;

export function situation(name: string, settings: Partial<Settings>, play: (stage: Stage) => Promise<void>): void {
  test(name, async () => {
    const world = new World(1, settings);
    await world.start();
    const stage = new Stage(world);
    await play(stage);
    auditEnd(world, stage.clients);
    assert.deepEqual(world.violations, []);
    await world.end();
    world.close();
  });
}

export class Stage {
  readonly world: World;
  readonly clients: Clients;

  constructor(world: World) {
    this.world = world;
    this.clients = new Clients(world);
  }

  get clock() {
    return this.world.clock;
  }

  /** Does something as a client would, and waits for the answer. */
  do<T>(operation: Promise<T>): Promise<T> {
    return this.clock.runFor(operation);
  }

  /** A destination that gets every event of its type, in live mode unless said otherwise. */
  async destination(
    behaviour: Behaviour,
    spec: DestinationSpec = {},
    type = 'order.paid',
    environment: number = LIVE,
  ): Promise<DestinationId> {
    const id = await this.do(this.clients.createDestination(environment, behaviour, spec));
    await this.do(this.clients.subscribe(id, type));
    return id;
  }

  /** Posts events at the same moment; the ids of their deliveries. */
  async post(count: number, type = 'order.paid', environment: number = LIVE): Promise<DeliveryId[]> {
    const posts = Array.from({ length: count }, () =>
      this.clients.post({ environment, type, n: this.clients.nextBody() }),
    );
    const accepted = await this.do(Promise.all(posts));
    return accepted.flatMap((one) => one?.deliveries.map(({ id }) => id) ?? []);
  }

  setBehaviour(id: DestinationId, behaviour: Behaviour): void {
    this.world.receivers.set(this.clients.destinations.get(id)!.url, behaviour);
  }

  /** What reached a destination, in order. */
  received(id: DestinationId): Exchange[] {
    const { url } = this.clients.destinations.get(id)!;
    return this.world.receivers.log.filter((exchange) => exchange.url === url);
  }

  /** `pending`, `retrying`, `succeeded`, `dead: reason`, for each. */
  statuses(ids: readonly DeliveryId[]): string[] {
    return ids.map((id) => {
      const row = this.world.view.delivery(id)!;
      const status = ['pending', 'retrying', 'succeeded', 'dead'][row.status]!;
      return row.deadReason !== null && status === 'dead' ? `${status}: ${row.deadReason}` : status;
    });
  }

  /** How often each status occurs. */
  tally(ids: readonly DeliveryId[]): Record<string, number> {
    const tally: Record<string, number> = {};
    for (const status of this.statuses(ids)) tally[status] = (tally[status] ?? 0) + 1;
    return tally;
  }

  /** What the service does while time passes. */
  async measure(durationMs: number): Promise<ReturnType<Meter['take']>> {
    const meter = new Meter(this.world);
    await this.clock.run(durationMs);
    return meter.take();
  }
}

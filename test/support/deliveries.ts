// An unfinished delivery for tests that need one: just born, due at `dueAt`.
import type { OpenDelivery } from '../../src/model/delivery.ts';
import { born } from '../../src/model/transitions.ts';

export function openDelivery(overrides: Partial<OpenDelivery> = {}): OpenDelivery {
  return {
    ...born(overrides.dueAt ?? 0),
    id: 'dlv_1',
    environment: 1,
    eventId: 'evt_1',
    destinationId: 'dst_1',
    rev: 0,
    attemptCount: 0,
    ...overrides,
  };
}

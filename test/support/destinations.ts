// A destination for tests that need one: active, with defaults that never stand in the way.
import type { DestinationWithKeys } from '../../src/model/destination.ts';

export function destinationWith(overrides: Partial<DestinationWithKeys> = {}): DestinationWithKeys {
  return {
    id: 'dst_1',
    environment: 1,
    url: 'https://example.com/',
    name: null,
    status: 'active',
    pausedReason: null,
    retryPolicy: null,
    maxInFlight: 1_000,
    ratePerSecond: null,
    headers: {},
    signatureStyle: 'standard',
    metadata: '{}',
    createdAt: 0,
    updatedAt: 0,
    signingKeys: [],
    ...overrides,
  };
}

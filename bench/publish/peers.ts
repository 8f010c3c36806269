// What others do, measured by hand: none of them can be started from here. The one place for these figures; the
// published tables and pictures are made from them.

export type Peer = {
  name: string;
  /** Deliveries a second, and microseconds of CPU of a delivery: one value, or a range. */
  delivered: readonly number[];
  cpu: readonly number[];
};

export const PEERS_MEASURED = 'measured outside this repository on 2 cores, in November 2026';

export const PEERS: readonly Peer[] = [
  { name: 'Postrider, embedded store', delivered: [15_160], cpu: [87] },
  { name: 'Postrider, PostgreSQL', delivered: [11_460], cpu: [119] },
  { name: 'Outpost 1.2.0 (Redis, RabbitMQ, PostgreSQL)', delivered: [3_320], cpu: [553] },
  { name: 'WebhookX 1.2.0 (PostgreSQL, Redis), sync', delivered: [2_890], cpu: [617] },
  { name: 'Svix 1.100.0, memory queue', delivered: [2_180], cpu: [818] },
  { name: 'Svix 1.100.0, Redis queue', delivered: [1_890], cpu: [941] },
  { name: 'Convoy 26.3, without a licence', delivered: [130, 150], cpu: [11_000, 13_000] },
];

/** Beside one that hangs: arrival at the healthy one, p50 and p99 in ms, and what had not come after all. */
export type PeerBesideHanging = {
  name: string;
  alone: readonly [number, number];
  beside: readonly [number, number];
  missing: number;
};

export const PEERS_BESIDE_HANGING: readonly PeerBesideHanging[] = [
  { name: 'Postrider, embedded store', alone: [2.4, 4.7], beside: [1.3, 3], missing: 0 },
  { name: 'Outpost 1.2.0', alone: [28, 53], beside: [18_000, 30_000], missing: 1_000 },
  { name: 'WebhookX 1.2.0', alone: [2.3, 22], beside: [24_000, 40_000], missing: 1_500 },
  { name: 'Svix 1.100.0, Redis queue', alone: [2.3, 3.9], beside: [31_000, 50_000], missing: 1_493 },
  { name: 'Svix 1.100.0, memory queue', alone: [2.4, 5.1], beside: [28_000, 47_000], missing: 1_365 },
  { name: 'Convoy 26.3, without a licence', alone: [900, 2_600], beside: [35_000, 45_000], missing: 1_749 },
];

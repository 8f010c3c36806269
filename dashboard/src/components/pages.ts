// The pages that the navigation and the palette lead to, in their order, each with the scope that it needs.
import type { Scope } from '../api/client.ts';

export const PAGES = [
  { to: '/$mode', label: 'Overview', scope: 'read', key: 'o' },
  { to: '/$mode/deliveries', label: 'Deliveries', scope: 'read', key: 'd' },
  { to: '/$mode/events', label: 'Events', scope: 'read', key: 'e' },
  { to: '/$mode/destinations', label: 'Destinations', scope: 'read', key: 't' },
  { to: '/$mode/dlq', label: 'Dead letters', scope: 'read', key: 'l' },
  { to: '/$mode/operations', label: 'Operations', scope: 'read', key: 'p' },
  { to: '/$mode/send', label: 'Send an event', scope: 'publish', key: 's' },
  { to: '/$mode/keys', label: 'API keys', scope: 'admin', key: 'k' },
  { to: '/$mode/cluster', label: 'Cluster', scope: 'admin', key: 'c' },
] as const satisfies readonly { to: string; label: string; scope: Scope; key: string }[];

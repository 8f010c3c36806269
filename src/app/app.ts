// The service on a machine: the machine's clock, randomness and network, and an HTTP server in front.
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { listAnswers } from '../api/openapi/document.ts';
import { createServer } from '../api/server.ts';
import { isLoopbackHost } from '../api/session/origin.ts';
import { VERSION, runtimeFolder, type Settings } from '../config.ts';
import type { NodeId } from '../model/id.ts';
import { createAdjustableClock, systemClock, type Clock } from '../runtime/clock.ts';
import { watchEventLoopDelay } from '../runtime/event-loop.ts';
import type { Log } from '../runtime/log.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { systemRandom } from '../runtime/random.ts';
import { holdLifeFile } from '../store/life-file.ts';
import type { Store } from '../store/store.ts';
import type { Exporting } from '../tracing/opentelemetry.ts';
import type { TraceSettings } from '../tracing/settings.ts';
import { createTracer } from '../tracing/tracer.ts';
import { createOnError } from './base.ts';
import { labelsOf } from './observers.ts';
import { createNetwork } from './network.ts';
import { createService, type Service } from './service.ts';

export type App = {
  /** `http://host:port`, with the port that was bound. */
  baseUrl: string;
  /** As the other nodes know this one. */
  node: NodeId;
  /** Signs in to the dashboard in test mode, once, on this machine. Null: there is no dashboard, or no test key. */
  makeSignInLink(): string | null;
  /** Another node's process has ended for certain: what it sent to is this one's and the others' to send to now. */
  removeDead(node: NodeId): void;
  /** Stops accepting, finishes what is on the wire, records it, closes everything. */
  stop(): Promise<void>;
};

type AppOptions = {
  settings: Settings;
  /** null: nobody has asked for traces. */
  traces: TraceSettings | null;
  log: Log;
  store: Store;
  masterKey: Uint8Array;
};

/** Serves on a store that is open, until `stop`, which closes it. Rejects when the address cannot be bound. */
export async function startApp({ settings, traces, log, store, masterKey }: AppOptions): Promise<App> {
  const metrics = createMetrics(VERSION);
  const clock = createAdjustableClock(systemClock);
  const onError = createOnError({ metrics, log, clock });
  const network = createNetwork({ settings, clock, onFault: (error) => onError(error, 'attempt') });
  const exporting = traces === null ? null : await loadExporting(traces, { clock, log });
  const service = await createService({
    settings,
    store,
    clock,
    random: systemRandom,
    network,
    log,
    metrics,
    masterKey,
    tracer: exporting === null ? null : createTracer(exporting, () => clock.now()),
    host: { name: settings.NODE_NAME || hostname(), eventLoopDelaySeconds: watchEventLoopDelay(clock) },
  });
  const server = await createServer(service.api);
  for (const answer of listAnswers(server)) metrics.httpRequests.startAtZero(labelsOf(answer));

  await server.listen({ host: settings.HOST, port: settings.PORT });
  const { address, port } = server.server.address() as AddressInfo;
  // Before the first attempt: the service must never deliver to itself.
  network.setOwnAddress({ address, port });
  const { DATABASE_URL: databaseUrl } = settings;
  const life =
    databaseUrl === null ? null : await holdLifeFile({ node: service.node, databaseUrl, folder: runtimeFolder() });
  const stop = async (): Promise<void> => {
    await Promise.all([service.drain(), server.close()]);
    await service.close();
    life?.close();
    await exporting?.close();
  };
  const listensAt = `${hostInUrl(settings.HOST)}:${port}`;
  try {
    await service.start(listensAt);
  } catch (error) {
    // It listens already: left alone it would go on, answer, and never be ready.
    await stop();
    throw error;
  }
  for (const ended of life?.ended ?? []) service.removeDead(ended);
  const baseUrl = `http://${listensAt}`;
  const { node, removeDead } = service;
  return { baseUrl, node, makeSignInLink: () => makeSignInLink(service, baseUrl), removeDead, stop };
}

function makeSignInLink({ api }: Service, baseUrl: string): string | null {
  const key = api.authenticator.broadestKey('test');
  if (api.dashboard === null || key === null || !isLoopbackHost(new URL(baseUrl).hostname)) return null;
  return baseUrl + api.dashboard.links.make(key.id);
}

/** The packages are loaded only where traces are asked for: that takes longer than all the rest of a start. */
async function loadExporting(settings: TraceSettings, { clock, log }: { clock: Clock; log: Log }): Promise<Exporting> {
  const { createExporting } = await import('../tracing/opentelemetry.ts');
  return createExporting({
    settings,
    version: VERSION,
    monotonic: () => clock.monotonic(),
    onDropped: (dropped, error) => log.warn({ dropped, error }, 'the collector does not take spans: they are dropped'),
  });
}

/** IPv6 addresses go in brackets; "any address" is reached by loopback. */
function hostInUrl(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

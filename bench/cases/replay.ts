// A million dead deliveries of one destination, all sent again by one operation: what the others notice of it, and that
// kill -9 in the middle neither loses one nor does one twice.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Case } from '../bench.ts';
import { aimed, figureOf, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { FILL_TYPE, OTHER, OTHER_TYPE, compareOthers, fill, loadOther } from './backlog.ts';

const DEAD = 1_000_000;
const REPLAYED = 'ok-replayed';
const LOOK_EVERY_MS = 100;

type Operation = { id: string; status: string; total: number; done: number; failed: number; skipped: number };

export const replay: Case = {
  name: 'replay',
  about: 'a million dead deliveries sent again by one operation, with kill -9 in the middle',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  await service.subscribe(`${bench.receiverUrl}/${OTHER}`, OTHER_TYPE);
  const dying = { retry_policy: { schedule_seconds: [] }, max_in_flight: 500 };
  const destination = await service.subscribe(`${bench.receiverUrl}/404`, FILL_TYPE, dying);
  const { label, events } = await fill(bench, service, DEAD);
  while ((await service.metric('postrider_deliveries_unfinished')) > 0) await sleep(LOOK_EVERY_MS);
  await service.call('PATCH', `/v1/destinations/${destination}`, { url: `${bench.receiverUrl}/${REPLAYED}` });
  const alone = await loadOther(bench, service);
  const gentle = await service.call<Operation>('POST', '/v1/dlq/replay', {});
  await until(service, gentle.id, ({ done }) => done > 0);
  const besideGentle = await loadOther(bench, service);
  const { done: sentBefore } = await service.call<Operation>('POST', `/v1/operations/${gentle.id}/cancel`);
  const dead = events - sentBefore;

  const askedAt = performance.now();
  const begun = await service.call<Operation>('POST', '/v1/dlq/replay', { per_second: 10_000 });
  const answeredMs = performance.now() - askedAt;
  await until(service, begun.id, ({ done }) => done > 0);
  const beside = await loadOther(bench, service);
  const { done } = await until(service, begun.id, (operation) => operation.done >= dead / 2 || isOver(operation));
  await service.signal('SIGKILL');
  await service.start();
  const ended = await until(service, begun.id, isOver);
  const seconds = (performance.now() - askedAt) / 1000;
  while ((await service.metric('postrider_deliveries_unfinished')) > 0) await sleep(LOOK_EVERY_MS);
  if (ended.status !== 'done' || ended.done + ended.skipped !== dead) throw new Error(JSON.stringify(ended));
  const figures = [
    { name: `answer to the request, of ${label}`, value: answeredMs, unit: 'ms' },
    { name: 'done when it was killed', value: done, unit: 'deliveries' },
    aimed(
      { name: 'counted twice or not at all', value: Math.abs(dead - ended.done), unit: 'deliveries' },
      { atMost: 0 },
    ),
    { name: 'sent again, the kill included', value: dead / seconds, unit: 'deliveries/s' },
    ...compareOthers('alone', alone, 'beside it at 100 a second', besideGentle),
    figureOf('others: arrival p99 beside it at full speed', 'ms', beside),
  ];
  return [{ case: 'replay', figures }];
}

function isOver({ status }: Operation): boolean {
  return status !== 'running';
}

async function until(service: Service, id: string, holds: (operation: Operation) => boolean): Promise<Operation> {
  for (;;) {
    const operation = await service.call<Operation>('GET', `/v1/operations/${id}`);
    if (holds(operation)) return operation;
    await sleep(LOOK_EVERY_MS);
  }
}

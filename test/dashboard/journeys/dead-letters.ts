// A group of dead deliveries is replayed: counted first, watched, and each sent once.
import assert from 'node:assert/strict';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { api, journey, scope } from '../stage.ts';

const EVENTS = 5;
const ONE_RETRY = { retry_policy: { schedule_seconds: [1], jitter: 0 } };

journey('a group of dead deliveries is counted, replayed and watched, and each arrives once', async ({ page }) => {
  const name = 'Stark industries';
  const receiver = await startReceiver(scope, (request) => request.answer(500));
  await api.subscribed(receiver.url, 'armour.sold', { name, ...ONE_RETRY });
  const ids: string[] = [];
  for (let event = 0; event < EVENTS; event++) ids.push(await api.publishToOne('armour.sold', { event }));
  for (const id of ids) await api.deliveryWhen(id, ({ status }) => status === 'dead');
  receiver.respond = ok;
  const failed = receiver.requests.length;

  await page.goto('/test');
  await page.getByRole('link', { name: 'Dead letters', exact: true }).click();
  const group = page.getByRole('table', { name: 'By destination and cause' }).getByRole('row', { name });
  await group.getByText('Retries exhausted').waitFor();
  await group.getByRole('cell', { name: String(EVENTS), exact: true }).waitFor();
  await group.getByRole('button', { name: 'Replay' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`${EVENTS} deliveries, from`).waitFor();
  for (const id of ids) assert.equal((await api.delivery(id)).status, 'dead', 'counting changes nothing');
  assert.equal(receiver.requests.length, failed, 'and sends nothing');

  await dialog.getByRole('button', { name: 'Replay them' }).click();
  await dialog.getByRole('progressbar').waitFor();
  await dialog.getByText(`${EVENTS} of ${EVENTS} deliveries`).waitFor();
  await dialog.getByRole('link', { name: 'To the operations' }).click();
  const operation = page.getByRole('row', { name });
  await operation.getByText('Replay of dead letters').waitFor();
  await operation.getByText('Done', { exact: true }).waitFor();
  for (const id of ids) await api.deliveryWhen(id, ({ status }) => status === 'succeeded');
  const again = receiver.requests.slice(failed).map(({ deliveryId }) => deliveryId);
  assert.deepEqual(again.sort(), ids.sort(), 'each once');

  await page.getByRole('link', { name: 'Dead letters', exact: true }).click();
  await page.getByRole('table', { name: 'Dead letters' }).waitFor();
  // What was shown before may stand there for a moment.
  await group.waitFor({ state: 'detached' });
});

// A group of dead deliveries is replayed: counted first, watched, and each sent once.
import assert from 'node:assert/strict';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { keyboard, mouse } from '../hands.ts';
import { api, journey, scope, signInBy } from '../stage.ts';

const EVENTS = 5;
const ONE_RETRY = { retry_policy: { schedule_seconds: [1], jitter: 0 } };

for (const [number, hand] of [mouse, keyboard].entries()) {
  journey(
    `from signing in: a group of dead deliveries is counted, replayed and watched, each arrives once, ${hand.name}`,
    async ({ page }) => {
      const name = `Stark industries ${number}`;
      const type = `armour.sold.no${number}`;
      const receiver = await startReceiver(scope, (request) => request.answer(500));
      await api.subscribed(receiver.url, type, { name, ...ONE_RETRY });
      const ids: string[] = [];
      for (let event = 0; event < EVENTS; event++) ids.push(await api.publishToOne(type, { event }));
      for (const id of ids) await api.deliveryWhen(id, ({ status }) => status === 'dead');
      receiver.respond = ok;
      const failed = receiver.requests.length;

      await signInBy(hand, page);
      await hand.press(page.getByRole('link', { name: 'Dead letters', exact: true }));
      const group = page.getByRole('table', { name: 'By destination and cause' }).getByRole('row', { name });
      await group.getByText('Retries exhausted').waitFor();
      await group.getByRole('cell', { name: String(EVENTS), exact: true }).waitFor();
      await hand.press(group.getByRole('button', { name: 'Replay' }));
      const dialog = page.getByRole('dialog');
      await dialog.getByText(`${EVENTS} deliveries, from`).waitFor();
      for (const id of ids) assert.equal((await api.delivery(id)).status, 'dead', 'counting changes nothing');
      assert.equal(receiver.requests.length, failed, 'and sends nothing');

      await hand.press(dialog.getByRole('button', { name: 'Replay them' }));
      await dialog.getByRole('progressbar').waitFor();
      await dialog.getByText(`${EVENTS} of ${EVENTS} deliveries`).waitFor();
      await hand.press(dialog.getByRole('button', { name: 'Close' }));
      await page.getByRole('table', { name: 'Dead letters' }).waitFor();
      // The page behind the dialog is read again by itself.
      await group.waitFor({ state: 'detached' });
      await hand.press(page.getByRole('link', { name: 'Operations', exact: true }));
      const operation = page.getByRole('row', { name });
      await operation.getByText('Replay of dead letters').waitFor();
      await operation.getByText('Done', { exact: true }).waitFor();
      for (const id of ids) await api.deliveryWhen(id, ({ status }) => status === 'succeeded');
      const again = receiver.requests.slice(failed).map(({ deliveryId }) => deliveryId);
      assert.deepEqual(again.sort(), ids.sort(), 'each once');
    },
    { scopes: null },
  );
}

journey('what is selected and no longer shown is not sent', async ({ page }) => {
  await page.goto('/test/deliveries?status=dead');
  await page
    .getByLabel(/^Select dlv_/)
    .first()
    .check();
  const selected = page.getByRole('region', { name: 'Selected' });
  await selected.getByText('1 selected').waitFor();
  await page.getByLabel('Status').selectOption('Succeeded');
  await selected.waitFor({ state: 'detached' });
});

journey('of what is selected, how much was refused is said, and why', async ({ page }) => {
  const error = { code: 'rate_limited', message: 'too many requests', request_id: 'req_none' };
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  let asked = 0;
  await page.route('**/v1/deliveries/*/retry', async (route) => {
    asked++;
    await answered;
    await route.fulfill({ status: 429, json: { error } });
  });
  await page.goto('/test/deliveries?status=dead');
  await page
    .getByLabel(/^Select dlv_/)
    .first()
    .check();
  const retry = page.getByRole('button', { name: 'Retry now' });
  await retry.dblclick();
  await page.getByText('1 to go…').waitFor();
  await retry.and(page.locator(':focus')).waitFor();
  answer();
  await page.getByText('Retry now: 1 of 1 delivery refused. Too many requests.').waitFor();
  await page.locator('main:focus').waitFor();
  assert.equal(asked, 1);
});

journey('an operation is cancelled when that is confirmed, and its buttons say which one it is', async ({ page }) => {
  const receiver = await startReceiver(scope, (request) => request.answer(500));
  const destination = await api.subscribed(receiver.url, 'armour.cancelled', {
    name: 'Wayne enterprises',
    ...ONE_RETRY,
  });
  for (let event = 0; event < EVENTS; event++) {
    const id = await api.publishToOne('armour.cancelled', { event });
    await api.deliveryWhen(id, ({ status }) => status === 'dead');
  }
  const asked = { destination_id: destination.id, per_second: 1 };
  const { id } = await api.expect<{ id: string }>(202, 'POST', '/v1/dlq/replay', asked);
  // It stays until it is cancelled.
  await api.expect(200, 'POST', `/v1/operations/${id}/pause`);
  await page.goto('/test/operations');
  const about = 'Replay of dead letters Wayne enterprises 1 a second';
  await page.getByRole('button', { name: `Resume ${about}`, exact: true }).waitFor();
  const cancel = page.getByRole('button', { name: `Cancel ${about}`, exact: true });
  const dialog = page.getByRole('dialog', { name: 'Cancel the replay of dead letters' });
  const read = (): Promise<{ status: string }> => api.expect(200, 'GET', `/v1/operations/${id}`);
  await cancel.click();
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await cancel.and(page.locator(':focus')).waitFor();
  assert.equal((await read()).status, 'paused', 'nothing was confirmed');
  await cancel.click();
  await dialog.getByRole('button', { name: 'Cancel it' }).click();
  await page.getByRole('row', { name: 'Wayne enterprises' }).getByText('Cancelled', { exact: true }).waitFor();
  await page.locator('main:focus').waitFor();
  assert.equal((await read()).status, 'cancelled');
});

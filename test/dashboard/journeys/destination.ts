// A destination went down; and its secret is rotated while its receiver goes on verifying.
import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { ok, startReceiver, type Received } from '../../e2e/receiver.ts';
import { keyboard, mouse } from '../hands.ts';
import { api, journey, scope, signInBy } from '../stage.ts';

const EVENTS = 4;
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const isAnswered = ({ status }: Received): boolean => status === 200;

for (const [number, hand] of [mouse, keyboard].entries()) {
  journey(`one that is down is seen, paused, resumed and recovered, ${hand.name}`, async ({ page }) => {
    const name = `Vandelay imports ${number}`;
    const type = `import.landed.no${number}`;
    const receiver = await startReceiver(scope, (request) => request.answer(502));
    const destination = await api.destination(receiver.url, { name, ...IN_AN_HOUR });
    await api.subscribe(destination, type);
    const ids: string[] = [];
    for (let event = 0; event < EVENTS; event++) ids.push(await api.publishToOne(type, { event }));
    for (const id of ids) await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);

    await page.goto('/test');
    const row = page.getByRole('table', { name: 'Destinations in trouble' }).getByRole('row', { name });
    await row.getByText('502').waitFor();
    await hand.press(row.getByRole('button', { name: 'Pause' }));
    await row.getByRole('button', { name: 'Resume' }).waitFor();
    assert.equal((await api.readDestination(destination.id)).status, 'paused');
    const held = await api.publishToOne(type, { event: EVENTS });

    await hand.press(row.getByRole('link', { name }));
    await page.getByText('Paused: events wait here and spend no attempts.').waitFor();
    receiver.respond = ok;
    assert.equal(receiver.requests.length, EVENTS, 'nothing is sent while it is paused');
    await hand.press(page.getByRole('button', { name: 'Resume' }));
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await receiver.arrival(({ deliveryId }) => deliveryId === held);

    await hand.press(page.getByRole('button', { name: 'Recover' }));
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`${EVENTS} deliveries`).waitFor();
    await hand.press(dialog.getByRole('button', { name: 'Send them' }));
    await dialog.getByText(`${EVENTS} of ${EVENTS} deliveries`).waitFor();
    await hand.press(dialog.getByRole('button', { name: 'Close' }));
    await receiver.until(() => receiver.requests.filter(isAnswered).length === EVENTS + 1, 'all of them');
    const answered = receiver.requests.filter(isAnswered).map(({ deliveryId }) => deliveryId);
    assert.deepEqual(answered.sort(), [...ids, held].sort(), 'each once');
  });
}

const verifies = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body.toString(), headers);
    return true;
  } catch {
    return false;
  }
};

for (const [number, hand] of [mouse, keyboard].entries()) {
  journey(
    `from signing in: a secret is rotated, both verify while they overlap, the new one alone afterwards, ${hand.name}`,
    async ({ page }) => {
      const name = `Umbrella labs ${number}`;
      const type = `key.turned.no${number}`;
      const receiver = await startReceiver(scope, ok);
      const { signing_secret: old } = await api.subscribed(receiver.url, type, { name });
      const publish = async (): Promise<Received> => {
        const id = await api.publishToOne(type);
        return receiver.arrival(({ deliveryId }) => deliveryId === id);
      };
      await signInBy(hand, page);
      await hand.press(page.getByRole('link', { name: 'Destinations', exact: true }));
      await hand.press(page.getByRole('table', { name: 'Destinations' }).getByRole('link', { name }));
      const rotate = page.getByRole('button', { name: 'Rotate' });
      await hand.press(rotate);
      const dialog = page.getByRole('dialog');
      await hand.choose(dialog.getByLabel('Overlap'), '1 day');
      await hand.press(dialog.getByRole('button', { name: 'Rotate' }));
      const secret = await page.getByText(/^whsec_/).innerText();
      await page.keyboard.press('Escape');
      await page.mouse.click(1, 1);
      await hand.press(page.getByRole('button', { name: 'I have stored it' }));
      await page.getByText(/signs for 23:59:\d\d more/).waitFor();
      assert.equal(await page.getByText(/whsec_/).count(), 0, 'it is nowhere on the page any more');
      const both = await publish();
      assert.deepEqual([verifies(old, both), verifies(secret, both)], [true, true]);

      await hand.press(page.getByRole('button', { name: 'End now' }));
      await hand.press(dialog.getByRole('button', { name: 'End it' }));
      await rotate.waitFor();
      const one = await publish();
      assert.deepEqual([verifies(old, one), verifies(secret, one)], [false, true]);
    },
    { scopes: null },
  );
}

const BROUGHT = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const BROUGHT_LATER = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;

const verifiesAsSvix = (secret: string, { body, headers }: Received): boolean => {
  const svix = Object.entries(headers).filter(([name]) => name.startsWith('svix-'));
  try {
    new SvixWebhook(secret).verify(body.toString(), Object.fromEntries(svix));
    return true;
  } catch {
    return false;
  }
};

for (const [number, hand] of [mouse, keyboard].entries()) {
  journey(`a receiver that comes from Svix keeps its code and its secret, ${hand.name}`, async ({ page }) => {
    const name = `Sirius cybernetics ${number}`;
    const type = `door.opened.no${number}`;
    const receiver = await startReceiver(scope, ok);
    await page.goto('/test/destinations');
    await hand.press(page.getByRole('button', { name: 'Add a destination' }));
    const dialog = page.getByRole('dialog');
    await hand.write(dialog.getByLabel('URL'), receiver.url);
    await hand.write(dialog.getByLabel('Name'), name);
    await hand.press(dialog.locator('summary'));
    await hand.choose(dialog.getByLabel('Signature headers'), 'webhook-* and svix-*');
    const brought = dialog.getByLabel('Signing secret that the receiver has already');
    await hand.write(brought, 'whsec_tooshort');
    await hand.press(dialog.getByRole('button', { name: 'Add' }));
    await dialog.locator('[aria-invalid=true]').waitFor();
    await hand.write(brought, BROUGHT);
    await hand.press(dialog.getByRole('button', { name: 'Add' }));
    await page.getByRole('heading', { name }).waitFor();
    await page.locator('#main').getByText('webhook-* and svix-*').waitFor();
    assert.equal(await page.getByText(/whsec_/).count(), 0, 'what the receiver has is not shown');

    const id = new URL(page.url()).pathname.split('/').at(-1)!;
    await api.subscribe(await api.readDestination(id), type);
    const publish = async (): Promise<Received> => {
      const delivery = await api.publishToOne(type);
      return receiver.arrival(({ deliveryId }) => deliveryId === delivery);
    };
    assert.ok(verifiesAsSvix(BROUGHT, await publish()));

    await hand.press(page.getByRole('button', { name: 'Rotate' }));
    await hand.write(brought, BROUGHT_LATER);
    await hand.press(dialog.getByRole('button', { name: 'Rotate' }));
    await page.getByText(/signs for 23:59:\d\d more/).waitFor();
    const both = await publish();
    assert.deepEqual([verifiesAsSvix(BROUGHT, both), verifiesAsSvix(BROUGHT_LATER, both)], [true, true]);

    await hand.press(page.getByRole('button', { name: 'Edit' }));
    await hand.press(dialog.locator('summary'));
    await hand.choose(dialog.getByLabel('Signature headers'), 'webhook-* (Standard Webhooks)');
    await hand.press(dialog.getByRole('button', { name: 'Save' }));
    await page.locator('#main').getByText('webhook-* (Standard Webhooks)').waitFor();
    const standard = await publish();
    assert.deepEqual([verifiesAsSvix(BROUGHT, standard), verifies(BROUGHT, standard)], [false, true]);
  });
}

journey('what is refused in a section that was closed again is shown, and has the focus', async ({ page }) => {
  const receiver = await startReceiver(scope, ok);
  await page.goto('/test/destinations');
  await page.getByRole('button', { name: 'Add a destination' }).click();
  const dialog = page.getByRole('dialog');
  const section = dialog.locator('summary');
  await dialog.getByLabel('URL').fill(receiver.url);
  await section.click();
  const refused: [string, string, string, RegExp | null][] = [
    ['Requests at once', '5000', '50', null], // by the browser itself
    ['Headers', 'x-tenant acme', '', /“x-tenant acme” is no header/],
    ['Headers', 'x-tenant: acme\nX-Tenant: globex', '', /“X-Tenant” is there twice/],
    ['Headers', 'host: example.com', 'x-tenant: acme', /cannot be chosen/], // by the service
  ];
  for (const [label, wrong, right, said] of refused) {
    const field = dialog.getByLabel(label, { exact: true });
    await field.fill(wrong);
    await section.click();
    await field.waitFor({ state: 'hidden' });
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.locator(':focus').and(field).waitFor();
    if (said !== null) await dialog.getByText(said).waitFor();
    await field.fill(right);
  }
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByText(/^whsec_/).waitFor();
});

journey('what the form has no words for stays as it is when something else is edited', async ({ page }) => {
  const receiver = await startReceiver(scope, ok);
  for (const policy of [
    { schedule_seconds: [], timeout_seconds: 30 },
    { max_attempts: 3, jitter: 0 },
  ]) {
    const { id } = await api.destination(receiver.url, { name: 'Acme', retry_policy: policy });
    await page.goto(`/test/destinations/${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name').fill('Acme of old');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Acme of old' }).waitFor();
    const edited = await api.expect<{ retry_policy: object }>(200, 'GET', `/v1/destinations/${id}`);
    assert.deepEqual(edited.retry_policy, policy);
  }
});

journey('a test says when the answer is not text, was cut, or had nothing in it', async ({ page }) => {
  const answers: [Buffer, string[]][] = [
    [Buffer.from([0xff, 0xfe, 0xfd]), ['Not text: shown in base64.']],
    [Buffer.alloc(2_000, 'a'), ['Cut: the rest was not kept.']],
    [Buffer.alloc(2_000, 0xff), ['Not text: shown in base64.', 'Cut: the rest was not kept.']],
    [Buffer.alloc(0), ['Its body was empty.']],
  ];
  for (const [body, said] of answers) {
    const receiver = await startReceiver(scope, (request) => request.answer(200, { body }));
    const { id } = await api.destination(receiver.url);
    await page.goto(`/test/destinations/${id}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    const dialog = page.getByRole('dialog');
    for (const text of said) await dialog.getByText(text).waitFor();
  }
});

journey('a browser whose language Intl refuses draws no chart, and shows the rest of the page', async ({ page }) => {
  await page.addInitScript("Object.defineProperty(navigator, 'language', { get: () => 'en-US@posix' })");
  await page.goto('/test');
  await page.getByText('This browser refuses to draw the chart.').first().waitFor();
  await page.getByRole('table', { name: 'Destinations in trouble' }).waitFor();
});

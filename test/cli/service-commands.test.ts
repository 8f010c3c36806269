// The commands that ask a service, on one service: what they do there, what they print, and how they fail.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Receiver } from '../e2e/receiver.ts';
import { environmentOf, Service } from '../e2e/service.ts';
import { Prompt, rowsOf } from './lines.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const NOWHERE = 'http://127.0.0.1:2';

const folder = mkdtempSync(join(tmpdir(), 'postrider-commands-'));
const profiles = join(folder, 'postrider/profiles.json');
const service = new Service();
let status = 200;
const receiver = new Receiver((request) => request.answer(status));
/** Settings are the service's; nothing of the user's own. */
const environment = { ...environmentOf({}), XDG_CONFIG_HOME: folder, NO_COLOR: '1' };
const prompt = new Prompt(environment);

before(async () => {
  await Promise.all([service.start(), receiver.listen()]);
});
after(async () => {
  await Promise.all([service.end(), receiver.close(), prompt.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Whichever thing it is: what the tests read of any. */
type Json = {
  id: string;
  event_id: string;
  idempotency_key: string;
  name: string;
  kind: string;
  type: string;
  status: string;
  state: string;
  origin: string;
  outcome: string;
  secret: string;
  signing_secret: string;
  signature_style: string;
  matches: boolean;
  max_in_flight: number;
  response_code: number;
  count: number;
  done: number;
  body: object & { sample?: boolean };
  request: { body: string; since: string };
  deliveries: { id: string }[];
  now: { destinations: { active: number } };
  data: object[];
};

/** With the service and its key; a line that fails fails the test. */
async function run(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await prompt.run([...argv, '--url', service.url, '--key', service.key]);
  assert.equal(code, 0, `${argv.join(' ')}: ${stderr}`);
  return stdout;
}

/** A line of JSON for each thing. */
async function rows(...argv: string[]): Promise<Json[]> {
  const text = await run(...argv, '--json');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Json);
}

async function row(...argv: string[]): Promise<Json> {
  const [only, ...others] = await rows(...argv);
  assert.deepEqual(others, [], argv.join(' '));
  return only!;
}

async function fails(code: number, ...argv: string[]): Promise<string> {
  const result = await prompt.run(argv);
  assert.deepEqual([result.code, result.stdout], [code, ''], `${argv.join(' ')}: ${result.stderr}`);
  assert.doesNotMatch(result.stderr, /\n {4}at /, 'no stack');
  return result.stderr;
}

async function until(isThere: () => Promise<boolean>): Promise<void> {
  while (!(await isThere())) await service.activity();
}

test('a destination from its making to its end', async () => {
  assert.equal(await run('destinations', 'list'), '', 'where there are none the advice is beside the output');
  const headers = '{"x-team":"pay"}';
  const made = await row('destinations', 'create', receiver.url, '--name', 'Shop', '--headers', headers);
  assert.match(made.signing_secret, /^whsec_/);
  const { id } = made;
  const text = await run('destinations', 'list');
  assert.match(
    text,
    new RegExp(`^ID +STATUS +NAME +CREATED +URL\\n${id}  active  Shop  \\d+ s ago  ${receiver.url}\\n$`),
  );
  assert.deepEqual(
    (await rows('destinations', 'list', '--status', 'active')).map((one) => one.id),
    [id],
  );
  assert.deepEqual(await rows('destinations', 'list', '--status', 'paused'), []);
  const changed = await row(
    'destinations',
    'update',
    id,
    '--status',
    'paused',
    '--max-in-flight',
    '7',
    '--name',
    'Till',
  );
  assert.deepEqual([changed.status, changed.max_in_flight, changed.name], ['paused', 7, 'Till']);
  const shown = await run('destinations', 'get', id);
  assert.match(shown, /^max_in_flight {4}7$/m);
  assert.match(shown, /^headers {10}\{"x-team":"\*\*\*"\}$/m);
  assert.equal((await row('destinations', 'health', id)).state, 'paused');
  const health = await run('destinations', 'health', id);
  assert.match(health, /^success_rate_1h {7}(-|\d+\.\d %)$/m);
  assert.match(health, /^attempt_seconds {7}p50 \S+ {2}p95 \S+ {2}p99 \S+$/m);
  const rotated = await row('destinations', 'rotate', id, '--overlap-seconds', '0');
  assert.notEqual(rotated.signing_secret, made.signing_secret);
  const own = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const brought = await row('destinations', 'rotate', id, '--overlap-seconds', '0', '--signing-secret', own);
  assert.equal(brought.signing_secret, own);
  const styled = await row('destinations', 'update', id, '--signature-style', 'svix');
  assert.equal(styled.signature_style, 'svix');
  assert.deepEqual(await row('destinations', 'delete', id), { id, deleted: true });
  assert.deepEqual(await rows('destinations', 'list'), []);
});

test('a test request says what came back, by its exit code too', async () => {
  const { id } = await row('destinations', 'create', receiver.url);
  const body = '{"order":4711,"total":1.0,"id":12345678901234567890}';
  const good = await row('destinations', 'test', id, '--type', 'order.paid', '--data', body);
  assert.deepEqual([good.outcome, good.response_code], ['succeeded', 200]);
  assert.match(good.request.body, /"type":"order\.paid"/);
  assert.ok(good.request.body.includes(body), good.request.body);
  status = 418;
  const where = ['--url', service.url, '--key', service.key, '--json'];
  let answer = await prompt.run(['destinations', 'test', id, ...where]);
  while (/rate_limited/.test(answer.stderr)) answer = await prompt.run(['destinations', 'test', id, ...where]);
  status = 200;
  assert.deepEqual([answer.code, (JSON.parse(answer.stdout) as Json).response_code], [1, 418]);
  await run('destinations', 'delete', id);
});

describe('an event on its way', () => {
  let destination = '';
  before(async () => {
    ({ id: destination } = await row(
      'destinations',
      'create',
      receiver.url,
      '--retry-policy',
      '{"schedule_seconds":[]}',
    ));
  });

  test('is published with its bytes, once by its idempotency key, which --key is where it is no API key', async () => {
    const subscription = await row('subscriptions', 'create', destination, 'order.**');
    assert.deepEqual(await row('subscriptions', 'get', subscription.id), subscription);
    const body = '{"total":120.00000000000000000001,"b":1,"a":2}';
    const first = await row('publish', 'order.paid', '--data', body, '--key', 'order-1');
    const second = await row('publish', 'order.paid', '--data', body, '--idempotency-key', 'order-1');
    assert.equal(second.event_id, first.event_id);
    assert.equal(first.idempotency_key, 'order-1');
    const arrived = await receiver.arrival((request) => request.eventId === first.event_id);
    assert.ok(arrived.body.toString().endsWith(`"data":${body}}`), arrived.body.toString());
    const shown = [await run('events', 'get', first.event_id), await run('events', 'get', first.event_id, '--json')];
    for (const one of shown) assert.ok(one.includes(body), one);
    const text = await run('publish', 'order.paid', '--data', body);
    assert.match(text, new RegExp(`^evt_\\w+  order\\.paid  accepted\\n  dlv_\\w+  → ${destination}\\n$`));
    writeFileSync(join(folder, 'body.json'), '{"from":"file"}');
    const { event_id: id } = await row('publish', 'order.sent', '--data', `@${join(folder, 'body.json')}`);
    assert.deepEqual((await row('events', 'get', id)).body, { from: 'file' });
    const unwanted = await row('trigger', 'customer.created');
    assert.deepEqual(unwanted.deliveries, []);
    assert.equal((await row('events', 'get', unwanted.event_id)).body.sample, true);
    assert.deepEqual(
      (await rows('events', 'list', '--type', 'order.*', '--since', '1h')).map((one) => one.type),
      ['order.sent', 'order.paid', 'order.paid'],
    );
    assert.equal((await rows('events', 'list', '--limit', '2')).length, 2);
    assert.equal((await rows('events', 'list', '--all')).length, 4);
  });

  test('is explained', async () => {
    const [{ id }] = (await rows('subscriptions', 'list', '--destination', destination)) as [Json];
    await run('subscriptions', 'delete', id);
    await run('subscriptions', 'create', destination, 'order.**', '--filter', '{"$.total":{"$gte":100}}');
    const text = await run('explain', 'order.paid', '--data', '{"total":90}');
    assert.match(text, /^sub_\w+ {2}→ dst_\w+\n {2}✘ its filter does not hold\n {2}✘ \$\.total \$gte 100; found 90\n$/);
    const unwanted = await run('publish', 'order.paid', '--data', '{"total":90}');
    assert.match(
      unwanted,
      /^evt_\w+ {2}order\.paid {2}accepted; a running listen gets it, but no subscription wants it:\n/,
    );
    const [why] = unwanted.match(/explain --event evt_\w+$/m) as [string];
    assert.equal(await run(...why.split(' ')), text);
    assert.equal((await row('explain', 'order.paid', '--data', '{"total":100}')).matches, true);
    for (const shape of [[], ['--json']]) {
      const exact = await run('explain', 'order.paid', '--data', '{"total":99.99999999999999999999}', ...shape);
      assert.match(exact, /found"?[: ]99\.99999999999999999999\D/);
    }
    assert.match(await run('explain', 'order', '--data', '{}').catch(String), /TYPE: .*invalid_event_type/);
  });

  test('that died is sent again, alone and with others', async () => {
    status = 500;
    const event = await row('publish', 'order.paid', '--data', '{"total":500}');
    const [{ id }] = event.deliveries as [Json];
    await until(async () => (await row('deliveries', 'get', id)).status === 'dead');
    assert.deepEqual(
      (await rows('deliveries', 'list', '--status', 'dead', '--event', event.event_id)).map((one) => one.id),
      [id],
    );
    const details = await run('deliveries', 'get', id);
    assert.match(details, /^ATTEMPT {2}STARTED +TOOK +OUTCOME +ANSWER +ERROR\n1 +\S+ \S+ +\d+ ms +bad_status +500 /m);
    const letters = await run('dlq', 'list');
    assert.match(letters, /^ID .* CREATED +REASON +DESTINATION +EVENT$/m);
    assert.match(letters, new RegExp(`^${id}  dead    500      order\\.paid .* exhausted `, 'm'));
    status = 200;
    assert.equal((await row('deliveries', 'retry', id)).status, 'retrying');
    await until(async () => (await row('deliveries', 'get', id)).status === 'succeeded');
    status = 500;
    const next = await row('publish', 'order.paid', '--data', '{"total":500}');
    const dead = next.deliveries[0]!.id;
    await until(async () => (await row('deliveries', 'get', dead)).status === 'dead');
    status = 200;
    const choice = ['--destination', destination, '--since', '1h'];
    assert.equal((await row('dlq', 'replay', ...choice, '--dry-run')).count, 1);
    const operation = await row('dlq', 'replay', ...choice, '--wait');
    assert.match(operation.request.since, /:00\.000Z$/, 'the same for who asks twice at once');
    assert.deepEqual([operation.status, operation.done], ['done', 1]);
    await until(async () => (await row('deliveries', 'get', dead)).status === 'succeeded');
    assert.match(await run('operations', 'list'), new RegExp(`^${operation.id}  done    1 of 1 `, 'm'));
    const recovery = await row('destinations', 'recover', destination, '--since', '59s', '--wait');
    assert.match(recovery.request.since, /\.000Z$/);
    assert.equal((await row('operations', 'get', recovery.id)).kind, 'destination_recovery');
    const [replayed] = await rows('events', 'replay', next.event_id, '--destination', destination);
    assert.equal(replayed!.origin, 'replay');
    assert.equal((await row('events', 'replay', '--since', '1h', '--missing-only', '--dry-run')).count, 0);
  });

  test('is counted', async () => {
    const { now, data } = await row('stats');
    assert.equal(now.destinations.active, 1);
    assert.ok(data.length >= 60);
    const text = await run('stats');
    assert.match(text, /^destinations: 1 active {3}0 paused {3}0 failing$/m);
    for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
    assert.match(text, /^events accepted, each 1m, /m);
    const ofOne = await run('stats', '--destination', destination);
    assert.match(ofOne, /^attempts that succeeded, each 1m, /m);
    assert.doesNotMatch(ofOne, /events accepted/, 'they are not counted by destination');
  });

  test('shows in full what is wrong with a destination, and its id', async () => {
    const name = 'the webhooks of a customer whose name is long, whose address changed, and who was told twice';
    const { id } = await row('destinations', 'create', receiver.url, '--name', name);
    await run('subscriptions', 'create', id, 'never.seen');
    await run('destinations', 'update', id, '--status', 'paused');
    const event = await row('publish', 'never.seen', '--data', '{}');
    let text = await run('stats');
    // What is asked often is answered from a moment ago.
    while (!text.includes(' 1 paused ')) text = await run('stats');
    const lines = text.split('\n');
    for (const line of lines) assert.ok(line.length <= 80, line);
    const said = lines.join(' ').replaceAll(/ +/g, ' ');
    assert.ok(said.includes(`paused ${name}: `), said);
    assert.ok(said.includes(`(${id})`), said);
    assert.equal((event.deliveries as Json[]).length, 1);
    await run('destinations', 'delete', id);
  });
});

test('keys are those of the service where one is named, and of the store where none is', async () => {
  const { environment: own } = { environment: service.environment() };
  const admin = new Prompt({ ...own, XDG_CONFIG_HOME: folder });
  const made = await admin.run(['keys', 'create', '--mode', 'test', '--scopes', 'admin,read', '--json']);
  const where = ['--url', service.url, '--key', (JSON.parse(made.stdout) as Json).secret];
  const reader = await prompt.run([
    'keys',
    'create',
    '--mode',
    'test',
    '--scopes',
    'read',
    '--expires',
    '1d',
    ...where,
  ]);
  assert.equal(reader.code, 0, reader.stderr);
  assert.match(reader.stdout, /^pr_test_\w{36}\n$/);
  const list = await prompt.run(['keys', 'list', '--json', ...where]);
  const listed = rowsOf<Json>(list.stdout);
  const stored = rowsOf<Json>((await admin.run(['keys', 'list', '--json'])).stdout);
  assert.deepEqual(
    listed.map(({ id }) => id),
    stored.map(({ id }) => id),
  );
  const [{ id }] = listed as [Json];
  assert.equal((await prompt.run(['keys', 'delete', id, ...where])).code, 0);
  const refused = await fails(1, 'destinations', 'list', '--url', service.url, '--key', reader.stdout.trim());
  assert.match(refused, /does not take the key from --key: it is unknown there, revoked or expired/);
  assert.match(
    await fails(2, 'keys', 'list', '--data-dir', 'x', ...where),
    /--data-dir names a store and --url a service/,
  );
  await admin.close();
});

describe('which service and which key', () => {
  test('login keeps them where nobody else can read, once the service has taken the key', async () => {
    const wrong = `pr_test_${'0'.repeat(36)}`;
    const refused = await fails(1, 'login', '--url', service.url, '--key', wrong);
    assert.match(refused, /does not take the key[^]*Nothing was remembered/);
    const cut = await fails(1, 'login', '--url', service.url, '--key', 'pr_test_oops');
    assert.match(cut, /does not take the key from --key: it has 4 characters behind "pr_test_", and a key 36\n/);
    assert.throws(() => statSync(profiles), { code: 'ENOENT' });
    await run('login', '--profile', 'staging');
    assert.equal(statSync(profiles).mode & 0o777, 0o600);
    await run('login');
    assert.equal((await prompt.run(['events', 'list', '--limit', '1'])).code, 0);
    assert.equal((await prompt.run(['events', 'list', '--limit', '1', '--profile', 'staging'])).code, 0);
    chmodSync(profiles, 0o644);
    assert.match((await prompt.run(['events', 'list'])).stderr, /others on this machine can read the keys/);
  });

  test('a profile’s key is shown to its own service only', async () => {
    const refused = await fails(2, 'events', 'list', '--url', NOWHERE);
    assert.match(refused, new RegExp(`no API key for ${NOWHERE}, for the profile’s key is for ${service.url}`));
    assert.match(
      await fails(2, 'events', 'list', '--profile', 'prod'),
      /there is no profile "prod" \(there are staging, default\)/,
    );
  });

  test('the environment wins over the profile, a flag over both, and serve takes the variables', async () => {
    const variables = { ...environment, POSTRIDER_URL: NOWHERE, POSTRIDER_API_KEY: service.key };
    const other = new Prompt(variables);
    assert.match((await other.run(['events', 'list'])).stderr, new RegExp(`no answer from ${NOWHERE}`));
    assert.equal((await other.run(['events', 'list', '--url', service.url])).code, 0);
    assert.equal((await other.run(['events', 'list', '--profile', 'staging'])).code, 0);
    const missing = await other.run(['keys', 'list', '--data-dir', join(folder, 'none')]);
    assert.match(missing.stderr, /there is no store/, 'no unknown setting');
    await other.close();
  });

  test('a profile that says nothing more is not read, and a home that is no folder has none', async () => {
    const said = ['events', 'list', '--limit', '1', '--url', service.url, '--key', service.key];
    const unreadable = mkdtempSync(join(folder, 'unreadable-'));
    mkdirSync(join(unreadable, 'postrider/profiles.json'), { recursive: true });
    const unread = new Prompt({ ...environment, XDG_CONFIG_HOME: unreadable });
    assert.equal((await unread.run(said)).code, 0);
    assert.match((await unread.run(said.slice(0, -2))).stderr, /cannot read .*profiles\.json/);
    await unread.close();
    const homeless = new Prompt({ ...environment, XDG_CONFIG_HOME: '/dev/null' });
    assert.match((await homeless.run(said.slice(0, -2))).stderr, /no API key for/);
    await homeless.close();
  });

  test('logout forgets', async () => {
    assert.equal((await prompt.run(['logout'])).code, 0);
    assert.equal((await prompt.run(['logout', '--profile', 'staging'])).code, 0);
    assert.deepEqual(JSON.parse(readFileSync(profiles, 'utf8')), {});
    assert.match(await fails(1, 'logout'), /there is no profile "default"/);
    assert.match(
      await fails(2, 'events', 'list'),
      /no API key .*give --key, set POSTRIDER_API_KEY, or run "bin\/postrider login"/,
    );
  });
});

test('a mistake names the flag; what fails says how to go on', async () => {
  const where = ['--url', service.url, '--key', service.key];
  const mistakes: [code: number, message: RegExp, ...argv: string[]][] = [
    [2, /--status: "broken" is not one of active, paused/, 'destinations', 'list', '--status', 'broken'],
    [2, /--limit: "0" is not a whole number from 1 to 10000/, 'events', 'list', '--limit', '0'],
    [2, /--since: "soon" is no time/, 'events', 'list', '--since', 'soon'],
    [2, /URL is missing: destinations create https.*--url names the service/, 'destinations', 'create'],
    [2, /"evt_1" is not the id of a destination; they begin with dst_/, 'destinations', 'get', 'evt_1'],
    [2, /"dst_1" is not the id of an event; they begin with evt_/, 'events', 'get', 'dst_1'],
    [2, /say what to change: --status/, 'destinations', 'update', 'dst_1'],
    [2, /--metadata: not a JSON object/, 'destinations', 'create', 'https://x.example', '--metadata', '[1]'],
    [2, /--retry-policy: not a JSON object, which begins/, 'destinations', 'update', 'dst_x', '--retry-policy', 'null'],
    [2, /--data: not JSON: .*single quotes/, 'publish', 'order.paid', '--data', '{order:1}'],
    [2, /--data: cannot read the file: ENOENT/, 'publish', 'order.paid', '--data', '@nowhere.json'],
    [2, /say which: dlq replay dlv_…, or --destination/, 'dlq', 'replay'],
    [2, /--wait is for many: leave it out, or the id/, 'dlq', 'replay', 'dlv_1', '--wait'],
    [2, /--all and --watch do not go together/, 'events', 'list', '--all', '--watch'],
    [2, /--forward-to is missing/, 'listen'],
    [2, /--forward-to: "ftp:\/\/x" is no URL of a receiver/, 'listen', '--forward-to', 'ftp://x'],
    [
      2,
      /--types: "order\*": a wildcard is all of the last segment/,
      'listen',
      '--forward-to',
      '1',
      '--types',
      'order*',
    ],
    [1, /^postrider: URL: .*\(invalid_url, request req_\w+\)\n$/, 'destinations', 'create', 'ftp://x.example'],
    [1, /^postrider: --endpoint: .*\(invalid_url/, 'destinations', 'update', 'DST', '--endpoint', 'nonsense'],
    [
      1,
      /^postrider: --filter: .*\(invalid_filter/,
      'subscriptions',
      'create',
      'DST',
      'a.b',
      '--filter',
      '{"$.a":{"$x":1}}',
    ],
    [1, /^postrider: TYPE: .*\(invalid_event_type_pattern/, 'subscriptions', 'create', 'DST', '*.b'],
    [1, /^postrider: .*\(event_not_found/, 'events', 'get', 'evt_01m7ycvfh5e00w03wa9cjbx4r1'],
  ];
  const { id } = await row('destinations', 'create', receiver.url);
  writeFileSync(join(folder, 'twice.json'), '{"$.a":1,"$.a":2}');
  const exactly = ['{"$.a":9007199254740993}', '{"$.a":1,"$.a":2}', `@${join(folder, 'twice.json')}`];
  for (const filter of exactly) {
    mistakes.push([1, /--filter: .*\(invalid_filter/, 'subscriptions', 'create', id, 'a.b', '--filter', filter]);
  }
  for (const flag of ['metadata', 'headers', 'retry-policy']) {
    const message = new RegExp(`--${flag}: .*\\(invalid_request`);
    mistakes.push([1, message, 'destinations', 'update', id, `--${flag}`, '{"n":12345678901234567890}']);
  }
  const latin = join(folder, 'latin.json');
  writeFileSync(latin, Buffer.from('{"name":"Jos\xe9"}', 'latin1'));
  mistakes.push([2, /^postrider: --data: it is no UTF-8/, 'publish', 'order.paid', '--data', `@${latin}`]);
  for (const [code, message, ...argv] of mistakes) {
    const filled = argv.map((word) => (word === 'DST' ? id : word));
    assert.match(await fails(code, ...filled, ...where), message, argv.join(' '));
  }
  assert.match(await fails(2, 'destinations', 'create', '--url', receiver.url), /^postrider: URL is missing/);
  await run('publish', 'order.paid', '--key', 'taken');
  for (const flag of ['--key', '--idempotency-key']) {
    const refused = await fails(1, 'publish', 'order.sent', flag, 'taken', ...where);
    assert.match(refused, new RegExp(`^postrider: ${flag}: .*idempotency_key_conflict`));
  }
  const away = await fails(1, 'events', 'list', '--url', NOWHERE, '--key', service.key);
  assert.match(away, /no answer from http:\/\/127\.0\.0\.1:2 .*ECONNREFUSED.*"bin\/postrider serve" starts one/);
  const live = `pr_live_${'0'.repeat(36)}`;
  for (const argv of [
    ['trigger', 'a.b'],
    ['listen', '--forward-to', '1'],
  ]) {
    assert.match(await fails(2, ...argv, '--url', service.url, '--key', live), /this is a live key: .*say --live/);
  }
  const secret = await fails(2, 'events', 'list', '--key', 'whsec_secret');
  assert.doesNotMatch(secret, /whsec_secret/);
});

test('what is no UTF-8 on standard input is not published as something else', async () => {
  const { stdout, stderr } = await shell(String.raw`printf '{"name":"Jos\xe9"}' |
    "$0" publish order.paid --data - --url "$1" --key "$2"; echo "$?"`);
  assert.deepEqual([stdout, stderr.split('\n')[0]], ['2\n', 'postrider: --data: it is no UTF-8']);
});

/** $0: the program; $1 and $2: the service and its key. */
function shell(script: string): Promise<{ stdout: string; stderr: string }> {
  const argv = ['-c', script, PROGRAM, service.url, service.key];
  return promisify(execFile)('bash', argv, { env: environment });
}

test('a list of any length has one header, and one of nothing says so', async () => {
  const events = Array.from({ length: 1_000 }, () => ({ type: 'long.list', body: {} }));
  for (const count of [1_000, 1]) {
    const response = await fetch(`${service.url}/v1/events/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: events.slice(0, count) }),
    });
    assert.equal(response.status, 200);
  }
  const lines = (await run('events', 'list', '--all', '--type', 'long.list')).trimEnd().split('\n');
  assert.match(lines[0]!, /^ID +TYPE +ACCEPTED/);
  assert.deepEqual([lines.length, lines.filter((line) => line.startsWith('evt_')).length], [1_002, 1_001]);
  const where = ['--url', service.url, '--key', service.key];
  for (const more of [[], ['--all']]) {
    const { stdout, stderr } = await prompt.run(['events', 'list', '--type', 'no.list', ...more, ...where]);
    assert.deepEqual([stdout, stderr], ['', 'There are no such events.\n']);
  }
  for (const line of (await run('stats')).split('\n')) assert.ok(line.length <= 80, line);
});

test('who stops reading ends a list without a word', async () => {
  const script = '"$0" events list --all --json --url "$1" --key "$2" | head -1; echo "${PIPESTATUS[0]}"';
  const { stdout, stderr } = await shell(script);
  assert.match(stdout, /^\{"event_id":.*\}\n[01]\n$/);
  assert.equal(stderr, '');
});

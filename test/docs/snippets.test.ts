// The code of the documentation is run as it stands there: each verification snippet on real deliveries and on forged
// ones, each example in JSON on a real service.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { Api, type Destination } from '../e2e/api.ts';
import { ok, Receiver, startReceiver } from '../e2e/receiver.ts';
import { Service } from '../e2e/service.ts';
import { blocksOf, pagesOfDocs, ROOT } from './blocks.ts';

const run = promisify(execFile);
const VERIFY = 'docs/guides/verify-signatures.md';
/** More than the tolerance. */
const TOO_FAR_MS = 6 * 60_000;
/** For what runs for a moment. */
const JAVA = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

type Case = { what: string; secret: string; headers: Record<string, string>; body: string; isGenuine: boolean };

const folder = mkdtempSync(join(tmpdir(), 'postrider-snippets-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const service = new Service();
const api = new Api(service);
before(() => service.start());
after(() => service.end());

test('every block is a command, or is run here', () => {
  const here: Record<string, readonly string[]> = {
    [VERIFY]: ['js', 'python', 'go'],
    'docs/guides/filters.md': ['json'],
    'docs/guides/retries.md': ['json'],
    'docs/guides/clients.md': ['java'],
    // By test/sdk/package.test.ts.
    'docs/guides/typescript.md': Array.from({ length: 7 }, () => 'ts'),
    // test/relay/relay.test.ts runs them.
    'docs/guides/outbox.md': ['sql', 'sql', 'sql', 'sql'],
  };
  for (const page of pagesOfDocs()) {
    const languages = blocksOf(page).map(({ language }) => language);
    const others = languages.filter((language) => language !== '' && language !== 'sh');
    assert.deepEqual(others, here[page] ?? [], page);
  }
});

describe('verification', () => {
  const receiver = new Receiver(ok);
  before(() => receiver.listen());
  after(() => receiver.close());

  /** `program` judges the cases in a file, which are signed now: whatever took long was before. */
  async function assertJudges(program: string, ...argv: string[]): Promise<void> {
    const cases = await makeCases(receiver);
    writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
    writeFileSync(join(folder, 'cases.txt'), cases.map(lineOf).join('\n'));
    const { stdout } = await run(program, argv, { cwd: folder });
    const judged = JSON.parse(stdout) as boolean[];
    assert.deepEqual(
      cases.map(({ what }, i) => [what, judged[i]]),
      cases.map(({ what, isGenuine }) => [what, isGenuine]),
    );
  }

  test('in JavaScript', async () => {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'receive.mjs'), codeOf('js'));
    writeFileSync(
      join(folder, 'judge.mjs'),
      `import { readFileSync } from 'node:fs';
      const judged = [];
      globalThis.handle = async (event) => { if (event.type !== 'order.paid') throw new Error(event.type); };
      for (const [i, { secret, headers, body }] of JSON.parse(readFileSync('cases.json', 'utf8')).entries()) {
        process.env.SIGNING_SECRET = secret;
        const { receive } = await import('./receive.mjs?' + i);
        const answer = await receive(new Request('http://x/', { method: 'POST', headers, body }));
        judged.push(answer.status === 204);
      }
      console.log(JSON.stringify(judged));`,
    );
    await assertJudges(process.execPath, 'judge.mjs');
  });

  test('in Python', async (t) => {
    if (!(await isThere('python3'))) return t.skip('python3 is not on this machine');
    writeFileSync(join(folder, 'verify.py'), codeOf('python'));
    writeFileSync(
      join(folder, 'judge.py'),
      `import json
from verify import NotGenuine, verify
judged = []
for case in json.load(open("cases.json")):
    try:
        verify(case["secret"], case["headers"], case["body"].encode())
        judged.append(True)
    except NotGenuine:
        judged.append(False)
print(json.dumps(judged))`,
    );
    await assertJudges('python3', 'judge.py');
  });

  test('in Go', async (t) => {
    if (!(await isThere('go'))) return t.skip('go is not on this machine');
    mkdirSync(join(folder, 'webhook'));
    writeFileSync(join(folder, 'go.mod'), 'module snippet\n\ngo 1.21\n');
    writeFileSync(join(folder, 'webhook/verify.go'), codeOf('go'));
    writeFileSync(
      join(folder, 'main.go'),
      `package main

import (
	"encoding/json"
	"net/http"
	"os"
	"snippet/webhook"
)

func main() {
	var cases []struct {
		Secret, Body string
		Headers      map[string]string
	}
	text, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	judged := []bool{}
	for _, one := range cases {
		header := http.Header{}
		for name, value := range one.Headers {
			header.Set(name, value)
		}
		judged = append(judged, webhook.Verify(one.Secret, header, []byte(one.Body)) == nil)
	}
	json.NewEncoder(os.Stdout).Encode(judged)
}
`,
    );
    // What is not the machine's own is not asked for.
    const own = { GOPROXY: 'off', GOFLAGS: '', GOTOOLCHAIN: 'local', GOWORK: 'off', CGO_ENABLED: '0' };
    const env = { ...process.env, ...own };
    // On a fresh machine nearly all of it is Go's own library: a third less without optimisation and C.
    await run('go', ['build', '-gcflags=all=-N -l', '-o', 'judge', '.'], { cwd: folder, env });
    await assertJudges(join(folder, 'judge'));
    const { stdout: unformatted } = await run('gofmt', ['-l', 'webhook'], { cwd: folder });
    assert.equal(unformatted, '');
  });

  test('in Java', async (t) => {
    if (!(await isThere('javac'))) return t.skip('javac is not on this machine');
    writeFileSync(join(folder, 'Webhooks.java'), codeOf('java', 'docs/guides/clients.md'));
    writeFileSync(
      join(folder, 'Judge.java'),
      `import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;

class Judge {
  static String text(String field) {
    return field.equals("-") ? null : new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8);
  }

  public static void main(String[] argv) throws Exception {
    var judged = new ArrayList<Boolean>();
    for (var line : Files.readAllLines(Path.of("cases.txt"))) {
      var fields = line.split(" ");
      var body = Base64.getDecoder().decode(fields[4]);
      judged.add(Webhooks.isGenuine(text(fields[0]), text(fields[1]), text(fields[2]), text(fields[3]), body));
    }
    System.out.println(judged);
  }
}
`,
    );
    await run('javac', [...JAVA.map((option) => `-J${option}`), 'Webhooks.java', 'Judge.java'], { cwd: folder });
    await assertJudges('java', ...JAVA, 'Judge');
  });
});

test('the filter of the guide is one, and lets through what it says', async (t) => {
  const [block] = blocksOf('docs/guides/filters.md').filter(({ language }) => language === 'json');
  const filter = JSON.parse(block!.lines.join('\n')) as object;
  const receiver = await startReceiver(t);
  const destination = await api.expect<Destination>(201, 'POST', '/v1/destinations', { url: receiver.url });
  const subscription = { destination_id: destination.id, event_type: 'filter.guide', filter };
  await api.expect(201, 'POST', '/v1/subscriptions', subscription);
  const body = { customer: { country: 'DE' }, total: 100, items: [{ sku: 'pen' }, { sku: 'book-1' }], vip: true };
  for (const [changed, deliveries] of [
    [{}, 1],
    [{ total: 1_000 }, 0],
    [{ vip: false }, 0],
    [{ priority: 'high', vip: false }, 1],
    [{ test: null }, 0],
    [{ items: [{ sku: 'pen' }] }, 0],
  ] as const) {
    const event = { type: 'filter.guide', body: { ...body, ...changed } };
    const accepted = await api.expect<{ deliveries: object[] }>(202, 'POST', '/v1/events', event);
    assert.equal(accepted.deliveries.length, deliveries, JSON.stringify(changed));
  }
});

test('the retry policies of the guide are some', async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await api.expect<Destination>(201, 'POST', '/v1/destinations', { url: receiver.url });
  const [block] = blocksOf('docs/guides/retries.md').filter(({ language }) => language === 'json');
  assert.equal(block!.lines.length, 2);
  for (const line of block!.lines) await api.expect(200, 'PATCH', `/v1/destinations/${id}`, line);
});

/** A delivery during a rotation, so that two secrets hold, and what forgers and recorders would make of it. */
async function makeCases(receiver: Receiver): Promise<Case[]> {
  const { id, signing_secret: old } = await api.subscribed(receiver.url, 'order.paid');
  const rotation = `/v1/destinations/${id}/signing-keys/rotate`;
  const { signing_secret: secret } = await api.expect<Destination>(201, 'POST', rotation, {});
  const delivery = await api.publishToOne('order.paid', { total: 9.9, note: 'Grüße 🎉' });
  const request = await receiver.arrival(({ deliveryId }) => deliveryId === delivery);
  await api.expect(204, 'DELETE', `/v1/destinations/${id}`);
  const body = request.body.toString();
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => /^(webhook-|content-type)/.test(name)),
  );
  const genuine = { secret, headers, body };
  const signature = headers['webhook-signature']!;
  const signedAt = (at: number): Record<string, string> => ({
    ...headers,
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': new Webhook(secret).sign(headers['webhook-id']!, new Date(at), body),
  });
  const forged: Record<string, Partial<Case>> = {
    'another body': { body: body.replace('9.9', '0.9') },
    'another id': { headers: { ...headers, 'webhook-id': 'evt_other' } },
    'another secret': { secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` },
    'signed, but long ago': { headers: signedAt(Date.now() - TOO_FAR_MS) },
    'signed, but for later': { headers: signedAt(Date.now() + TOO_FAR_MS) },
    'a timestamp that is none': { headers: { ...headers, 'webhook-timestamp': 'now' } },
    'a timestamp without end': { headers: { ...headers, 'webhook-timestamp': '9'.repeat(5_000) } },
    'another version of signature': {
      headers: { ...headers, 'webhook-signature': signature.replaceAll('v1,', 'v2,') },
    },
    'half of a signature': { headers: { ...headers, 'webhook-signature': signature.slice(0, 20) } },
    'no signature': { headers: without(headers, 'webhook-signature') },
    'no timestamp': { headers: without(headers, 'webhook-timestamp') },
    'no id': { headers: without(headers, 'webhook-id') },
  };
  return [
    { what: 'by the new secret', ...genuine, isGenuine: true },
    { what: 'by the old secret', ...genuine, secret: old, isGenuine: true },
    { what: 'made anew', ...genuine, headers: signedAt(Date.now()), isGenuine: true },
    ...Object.entries(forged).map(([what, change]) => ({ what, ...genuine, ...change, isGenuine: false })),
  ];
}

/** For those who have no JSON at hand: fields in base64, `-` where there is none. */
function lineOf({ secret, headers, body }: Case): string {
  const signed = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  const fields = [secret, ...signed, body];
  return fields.map((field) => (field === undefined ? '-' : Buffer.from(field).toString('base64'))).join(' ');
}

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([one]) => one !== name));
}

function codeOf(language: string, page = VERIFY): string {
  const found = blocksOf(page).filter((block) => block.language === language);
  assert.equal(found.length, 1, language);
  return `${found[0]!.lines.join('\n')}\n`;
}

/** Asking it for its version would start a whole Java. */
async function isThere(program: string): Promise<boolean> {
  try {
    await run('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}

// Settings: default < file < environment < flag; what is unknown or wrong is refused and says where it came from.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { closestName, loadSettings, UsageError } from '../src/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-config-'));
const file = join(folder, 'postrider.json');
const outside = Object.keys(process.env).filter((name) => name.startsWith('POSTRIDER_'));
for (const name of outside) delete process.env[name];

after(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('POSTRIDER_')) delete process.env[name];
});

function refusal(load: () => unknown): string {
  let message = '';
  assert.throws(load, (error) => {
    message = (error as Error).message;
    return error instanceof UsageError;
  });
  return message;
}

test('a flag wins over the environment, that over the file, that over the default', () => {
  assert.equal(loadSettings({}, null).settings.PORT, 8_383);
  writeFileSync(file, '{"port": 1000, "HOST": "0.0.0.0"}');
  assert.equal(loadSettings({}, file).settings.PORT, 1_000);
  process.env['POSTRIDER_PORT'] = '2000';
  assert.equal(loadSettings({}, file).settings.PORT, 2_000);
  const { settings } = loadSettings({ PORT: '3000' }, file);
  assert.deepEqual([settings.PORT, settings.HOST], [3_000, '0.0.0.0']);
});

describe('an unknown setting is refused with a suggestion', () => {
  test('in the environment', () => {
    process.env['POSTRIDER_DATADIR'] = 'x';
    assert.match(
      refusal(() => loadSettings({}, null)),
      /POSTRIDER_DATADIR; did you mean POSTRIDER_DATA_DIR\?/,
    );
  });

  test('in the file', () => {
    writeFileSync(file, '{"body_retension": "1d"}');
    assert.match(
      refusal(() => loadSettings({}, file)),
      /body_retension; did you mean BODY_RETENTION\?/,
    );
  });

  test('but not a far-fetched one', () => {
    assert.equal(closestName('COLOUR', ['PORT', 'HOST']), null);
  });
});

test('what Kubernetes sets for a Service of that name is ignored with a warning', () => {
  const injected = {
    POSTRIDER_SERVICE_HOST: '10.0.0.1',
    POSTRIDER_SERVICE_PORT: '8383',
    POSTRIDER_SERVICE_PORT_HTTP: '8383',
    POSTRIDER_PORT: 'tcp://10.0.0.1:8383',
    POSTRIDER_PORT_8383_TCP: 'tcp://10.0.0.1:8383',
    POSTRIDER_PORT_8383_TCP_ADDR: '10.0.0.1',
    POSTRIDER_METRICS_SERVICE_HOST: '10.0.0.2',
    POSTRIDER_METRICS_PORT: 'tcp://10.0.0.2:9090',
    POSTRIDER_METRICS_PORT_9090_TCP_PROTO: 'tcp',
    POSTRIDER_DNS_PORT: 'udp://10.0.0.3:53',
  };
  Object.assign(process.env, injected);
  const { settings, warnings } = loadSettings({}, null);
  assert.equal(settings.PORT, 8_383);
  assert.equal(warnings.length, Object.keys(injected).length);
});

describe('a value that is wrong is refused, and the message says where it stands', () => {
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['PORT', '70000', /POSTRIDER_PORT: .*0 to 65535/],
    ['PORT', '8e3', /whole number/],
    ['BODY_RETENTION', '30', /duration/],
    ['BODY_RETENTION', '100d', /longer than ROW_RETENTION/],
    ['DISK_RESERVE', '1TB', /size/],
    ['REQUEST_BUFFER', '128', /POSTRIDER_REQUEST_BUFFER: 128 bytes .*at least 1MB/],
    ['LOG_LEVEL', 'loud', /not one of trace/],
    ['TEST_SUBNETS', '127.0.0.0/40', /POSTRIDER_TEST_SUBNETS/],
    ['REACHABILITY_CHECK', 'yes', /on, off/],
    ['DATABASE_URL', 'mysql://x', /postgres:\/\//],
    ['HOST', '', /POSTRIDER_HOST: .*empty/],
    ['DATA_DIR', '', /POSTRIDER_DATA_DIR: .*empty/],
    ['METRICS_TOKEN', 'two words', /METRICS_TOKEN: .*without spaces/],
  ];
  for (const [name, value, message] of wrong) {
    test(`${name}=${value}`, () => {
      process.env[`POSTRIDER_${name}`] = value;
      assert.match(
        refusal(() => loadSettings({}, null)),
        message,
      );
    });
  }

  test('a file that is not JSON, or not there', () => {
    writeFileSync(file, '{"port": ');
    assert.match(
      refusal(() => loadSettings({}, file)),
      /postrider\.json/,
    );
    assert.match(
      refusal(() => loadSettings({}, join(folder, 'none.json'))),
      /none\.json/,
    );
  });
});

test('durations and sizes are read in their units', () => {
  const { settings } = loadSettings({ BODY_RETENTION: '90s', FAILING_AFTER: '0', DISK_RESERVE: '2GB' }, null);
  assert.deepEqual(
    [settings.BODY_RETENTION, settings.FAILING_AFTER, settings.DISK_RESERVE],
    [90_000, 0, 2 * 1_024 ** 3],
  );
});

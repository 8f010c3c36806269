// What the URL says about TLS, with real servers: one that is who it says, one whose certificate is for another host,
// and one without TLS.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreError } from '../../src/store/store.ts';
import { environmentOf, runCommand } from '../e2e/service.ts';
import { atEnd } from './data-dirs.ts';
import { Databases, storeOptions } from './postgres/databases.ts';
import { identity, startPostgres, type OwnPostgres } from './postgres/server.ts';

const PASSWORD = 'pass-word-of-nobody-else';
const certificate = (name: string): string => fileURLToPath(new URL(`../attempt/certs/${name}`, import.meta.url));
const CA = certificate('ca.crt');

/** The second line is for the superuser's own queries. */
const RULES = [
  'hostssl all asks_certificate 127.0.0.1/32 trust clientcert=verify-ca',
  'host all postgres 127.0.0.1/32 trust',
  'hostssl all asks_tls 127.0.0.1/32 trust',
  'hostssl all asks_password 127.0.0.1/32 scram-sha-256',
];

describe('TLS to PostgreSQL', () => {
  let directory: string;
  let good: OwnPostgres;
  let otherHost: OwnPostgres;
  let plain: OwnPostgres;
  let databases: Databases;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'postrider-tls-'));
    const place = (name: string): string => {
      const path = join(directory, name);
      copyFileSync(certificate(name), path);
      return own(path);
    };
    const rules = join(directory, 'pg_hba.conf');
    writeFileSync(rules, `${RULES.join('\n')}\n`);
    own(rules);
    own(directory, 0o700);
    const settings = (name: string): string[] => [
      'fsync=off',
      'ssl=on',
      `ssl_cert_file=${place(`${name}.crt`)}`,
      `ssl_key_file=${place(`${name}.key`)}`,
      `ssl_ca_file=${place('ca.crt')}`,
    ];
    good = await startPostgres([...settings('good'), `hba_file=${rules}`]);
    otherHost = await startPostgres(settings('other-host'));
    plain = await startPostgres(['fsync=off']);
    databases = new Databases(() => good);
    for (const name of ['asks_certificate', 'asks_tls', 'asks_password']) {
      await good.query(`CREATE ROLE ${name} SUPERUSER LOGIN PASSWORD '${PASSWORD}'`);
    }
  });
  after(async () => {
    for (const server of [good, otherHost, plain]) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Whether each of the store's connections is encrypted, and who it says it is. */
  const connectionsOf = async (t: TestContext, url: string): Promise<Record<string, unknown>[]> => {
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    await new Promise<void>((resolve) => store.cluster!.listen({ onAnnounced: () => {}, onGap: resolve }));
    await store.readEnvironments();
    const database = new URL(url).pathname.slice(1);
    const rows = await good.query(
      `SELECT ssl, client_dn FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '${database}'
       AND application_name LIKE 'postrider%'`,
    );
    assert.ok(rows.length >= 2, 'one of a pool, and the one that listens');
    return rows;
  };

  const urlWith = (url: string, parameters: Record<string, string>, user?: string): string => {
    const changed = new URL(url);
    for (const [name, value] of Object.entries(parameters)) changed.searchParams.set(name, value);
    if (user !== undefined) changed.username = user;
    if (user === 'asks_password') changed.password = PASSWORD;
    return changed.href;
  };

  const encrypted: readonly Record<string, string>[] = [
    { sslmode: 'verify-full', sslrootcert: CA },
    { sslmode: 'verify-ca', sslrootcert: CA },
    { sslmode: 'require', sslrootcert: CA },
    { sslmode: 'require' },
    { sslrootcert: CA },
  ];
  for (const parameters of encrypted) {
    it(`${describeParameters(parameters)}: every connection is encrypted`, async (t) => {
      const rows = await connectionsOf(t, urlWith(await databases.make(t), parameters));
      for (const { ssl } of rows) assert.equal(ssl, true);
    });
  }

  it('sslmode=disable, and a URL that does not speak of it: none is', async (t) => {
    const either: Record<string, string>[] = [{}, { sslmode: 'disable' }];
    for (const parameters of either) {
      const rows = await connectionsOf(t, urlWith(await databases.make(t), parameters));
      for (const { ssl } of rows) assert.equal(ssl, false);
    }
  });

  it('a client certificate is shown, and one that is missing is asked for', async (t) => {
    const url = await databases.make(t);
    const [sslcert, sslkey] = [certificate('good.crt'), certificate('good.key')];
    const both = { sslmode: 'verify-full', sslrootcert: CA, sslcert, sslkey };
    const rows = await connectionsOf(t, urlWith(url, both, 'asks_certificate'));
    for (const { client_dn: name } of rows) assert.match(String(name), /Postrider test: good/);
    await refuses(
      urlWith(url, { sslmode: 'verify-full', sslrootcert: CA }, 'asks_certificate'),
      'unwritable',
      /certificate/,
    );
    await refuses(urlWith(url, { ...both, sslkey: certificate('other-host.key') }), 'unavailable', /key/);
  });

  it('a CA that the certificate is not from is refused, wherever there is one to be from', async () => {
    const sslrootcert = certificate('self-signed.crt');
    const refused: Record<string, string>[] = [
      { sslmode: 'verify-full', sslrootcert },
      { sslmode: 'verify-ca', sslrootcert },
      { sslmode: 'require', sslrootcert },
      // The public ones, that is.
      { sslmode: 'verify-full' },
      { sslmode: 'verify-full', sslrootcert: 'system' },
    ];
    for (const parameters of refused) {
      await refuses(
        urlWith(good.urlOf('postgres'), parameters),
        'unavailable',
        /TLS failed.*sslrootcert in the URL must name/,
      );
    }
  });

  it('a certificate for another host is refused by verify-full, and good enough for verify-ca', async () => {
    const url = otherHost.urlOf('postgres');
    await refuses(urlWith(url, { sslmode: 'verify-full', sslrootcert: CA }), 'unavailable', /TLS failed.*another host/);
    const store = await openPostgresStore(storeOptions(urlWith(url, { sslmode: 'verify-ca', sslrootcert: CA })));
    await store.close();
  });

  it('a server without TLS is refused where it is asked for', async () => {
    const asking: Record<string, string>[] = [{ sslmode: 'require' }, { sslmode: 'verify-full', sslrootcert: CA }];
    for (const parameters of asking) {
      await refuses(urlWith(plain.urlOf('postgres'), parameters), 'unavailable', /the server has no TLS/);
    }
  });

  it('a server that asks for TLS says so', async () => {
    await refuses(urlWith(good.urlOf('postgres'), {}, 'asks_tls'), 'unwritable', /sslmode.*no encryption/);
  });

  it('what would not be honoured is refused, and files that are not there', async () => {
    const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ sslmode: 'prefer' }, /in the clear/],
      [{ sslmode: 'verify_full' }, /disable, require, verify-ca, verify-full/],
      [{ sslmode: 'verify-ca' }, /sslrootcert/],
      [{ sslmode: 'require', sslcrl: '/nowhere' }, /sslcrl is not known/],
      [{ ssl: 'true' }, /sslmode/],
      [{ sslmode: 'verify-full', sslrootcert: '/nowhere/ca.crt' }, /sslrootcert.*\/nowhere\/ca\.crt/],
      [{ sslmode: 'require', sslcert: certificate('good.crt') }, /sslkey/],
      [{ sslmode: 'disable', sslnegotiation: 'direct' }, /sslnegotiation/],
    ];
    for (const [parameters, message] of wrong) {
      await refuses(urlWith(good.urlOf('postgres'), parameters), 'wrong_setting', message);
    }
  });

  it('no failure shows the password', async () => {
    const url = urlWith(good.urlOf('nowhere'), { sslmode: 'verify-full', sslrootcert: CA }, 'asks_password');
    const wrongPassword = url.replace(PASSWORD, `${PASSWORD}-wrong`);
    const wrong = [
      url,
      wrongPassword,
      urlWith(url, { sslmode: 'prefer' }),
      urlWith(url, { sslrootcert: '/nowhere' }),
      urlWith(url, { sslrootcert: certificate('self-signed.crt') }),
      url.replace('127.0.0.1', '127.0.0.1.invalid'),
      url.replace(/:\d+\//, ':1/'),
      url.replace(/:\d+\//, ':99999/'),
      url.replace('postgres:', 'mysql:'),
    ];
    for (const DATABASE_URL of wrong) {
      const environment = environmentOf({ DATABASE_URL, MASTER_KEY: '7'.repeat(64), LOG_LEVEL: 'trace', PORT: '0' });
      const { code, stdout, stderr } = await runCommand(['serve'], environment);
      assert.ok(code === 1 || code === 2, `${code} ${stderr}`);
      assert.notEqual(stderr, '');
      assert.ok(!`${stdout}${stderr}`.includes(PASSWORD), stderr);
    }
  });
});

async function refuses(url: string, code: StoreError['code'], message: RegExp): Promise<void> {
  await assert.rejects(openPostgresStore(storeOptions(url)), (error: unknown) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.match(error.message, message);
    assert.equal(error.code, code);
    return true;
  });
}

function own(path: string, mode = 0o600): string {
  chmodSync(path, mode);
  if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid);
  return path;
}

function describeParameters(parameters: Record<string, string>): string {
  return Object.entries(parameters)
    .map(([name, value]) => (name === 'sslmode' ? `sslmode=${value}` : name))
    .join(', ');
}

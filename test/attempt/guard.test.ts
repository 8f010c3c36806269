// The guard against the ranges written down in the decisions, and against what ipaddr.js knows of address space.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { createGuard, parseSubnet, type Guard } from '../../src/attempt/guard.ts';
import type { Mode } from '../../src/model/api-key.ts';

const closed = createGuard({ testSubnets: [], allowSubnets: [] });
const loopback = createGuard({ testSubnets: ['127.0.0.0/8', '::1'], allowSubnets: [] });
const MODES: Mode[] = ['live', 'test'];

type Setting = { guard?: Guard; mode?: Mode; port?: number };

/** The verdict on an address that a public name resolved to. */
function isVetted(address: string, { guard = closed, mode = 'live', port = 443 }: Setting = {}): boolean {
  return guard.vetAddresses({ addresses: [address], mode, hostname: 'hooks.example.com', port }).length === 1;
}

function check(url: string, { guard = closed, mode = 'live' }: Setting = {}): string | null {
  return guard.checkUrl(new URL(url), mode);
}

/** ipaddr.js lists one subnet or several under a name. */
type Pair = [network: ipaddr.IPv4 | ipaddr.IPv6, prefix: number];
type Special = Pair | Pair[];

function isPair(listed: Special): listed is Pair {
  return typeof listed[1] === 'number';
}

describe('addresses', () => {
  // First and last refused, and the neighbours on both sides that are open (null: the neighbour is refused, too).
  const IPV4: [first: string, last: string, before: string | null, after: string | null][] = [
    ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
    ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
    ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
    ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
    ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
    ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
    ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
    ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
    ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
    ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
    ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
    ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
    ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
    ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
    ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
    ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
    ['224.0.0.0', '239.255.255.255', '223.255.255.255', null],
    ['240.0.0.0', '255.255.255.255', null, null],
    ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ];
  const IPV6: typeof IPV4 = [
    ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null, '2000::'],
    ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff::', '2001:200::'],
    ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff::', '2001:db9::'],
    ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff::', '2003::'],
    ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff:ffff::', '2620:4f:8001::'],
    ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff::', '3fff:1000::'],
    ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:ffff::', null],
  ];

  for (const [first, last, before, after] of [...IPV4, ...IPV6]) {
    test(`${first} to ${last} are refused and nothing beside them`, () => {
      for (const mode of MODES) {
        assert.equal(isVetted(first, { mode }), false, first);
        assert.equal(isVetted(last, { mode }), false, last);
        if (before !== null) assert.equal(isVetted(before, { mode }), true, before);
        if (after !== null) assert.equal(isVetted(after, { mode }), true, after);
      }
    });
  }

  test('IPv6 forms that stand for an inner IPv4 address are refused', () => {
    for (const address of [
      '::ffff:127.0.0.1', // v4-mapped
      '::ffff:a00:1',
      '::127.0.0.1', // v4-compatible
      '64:ff9b::10.0.0.1', // NAT64
      '64:ff9b:1::a00:1', // NAT64, local
      '2002:7f00:1::', // 6to4
      '2001:0:4136:e378:8000:63bf:3fff:fdd2', // Teredo
      '::1',
      'fe80::1',
      'fd00:ec2::254',
      'ff02::1',
    ]) {
      assert.equal(isVetted(address), false, address);
    }
    assert.equal(isVetted('::ffff:8.8.8.8'), true);
  });

  test('what ipaddr.js calls special is refused, wherever in its ranges', () => {
    const ranges = [ipaddr.IPv4, ipaddr.IPv6].flatMap((kind) => {
      const { SpecialRanges: special } = kind.prototype as unknown as { SpecialRanges: Record<string, Special> };
      return Object.entries(special).flatMap(([name, listed]) =>
        (isPair(listed) ? [listed] : listed).map((subnet) => ({ name, subnet })),
      );
    });
    assert.ok(ranges.length > 25);
    const inRange = fc.constantFrom(...ranges).chain(({ name, subnet: [network, prefix] }) => {
      const base = network.toByteArray();
      return fc.uint8Array({ minLength: base.length, maxLength: base.length }).map((noise) => {
        const bytes = base.map((byte, i) => {
          const hostBits = Math.min(8, Math.max(0, (i + 1) * 8 - prefix));
          return byte | (noise[i]! & (2 ** hostBits - 1));
        });
        return { name, address: ipaddr.fromByteArray(bytes) };
      });
    });
    fc.assert(
      fc.property(inRange, ({ name, address }) => {
        // v4-mapped is judged as the IPv4 address inside, which may well be public.
        const judged = ipaddr.process(address.toString());
        if (name === 'ipv4Mapped' && judged.range() === 'unicast') return;
        assert.equal(isVetted(address.toString()), false, `${name} ${address.toString()}`);
      }),
      { numRuns: 2_000 },
    );
  });

  test('no address is vetted that ipaddr.js does not call unicast', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(address, (text) => {
        if (isVetted(text)) assert.equal(ipaddr.process(text).range(), 'unicast', text);
      }),
      { numRuns: 5_000 },
    );
  });

  test('of mixed answers only the vetted are used, in canonical form and in order', () => {
    const addresses = ['10.0.0.1', '::ffff:8.8.4.4', '2606:4700:0:0::1111', 'nonsense', '2606:4700::2%eth0', '8.8.8.8'];
    assert.deepEqual(closed.vetAddresses({ addresses, mode: 'live', hostname: 'a.example.com', port: 443 }), [
      '8.8.4.4',
      '2606:4700::1111',
      '8.8.8.8',
    ]);
  });
});

describe('URLs', () => {
  test('odd spellings of addresses are seen through', () => {
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '127.0.0.1.',
      '①②⑦.0.0.1',
      '127。0。0。1',
      '%31%32%37.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[0:0:0:0:0:ffff:7f00:1]',
      '[::]',
      '0',
      '169.254.169.254',
      '[fd00:ec2::254]',
    ]) {
      for (const mode of MODES) {
        assert.match(check(`https://${host}:8443/`, { mode }) ?? 'null', /not publicly reachable/, host);
      }
    }
    assert.equal(check('https://8.8.8.8/'), null);
    assert.equal(check('https://[2606:4700::1111]:8443/'), null);
  });

  test('in test mode it is said which setting allows an address or a name that is not public; in live mode not', () => {
    for (const url of ['http://127.0.0.1:8384/', 'http://localhost:8384/']) {
      assert.match(check(url, { mode: 'test' })!, /, or an address that the setting TEST_SUBNETS allows$/);
      assert.doesNotMatch(check(url.replace('http:', 'https:'))!, /TEST_SUBNETS/);
    }
  });

  test('names that are not public are refused', () => {
    for (const name of [
      'localhost',
      'localhost.',
      'LOCALHOST',
      'api.localhost',
      'intranet',
      'printer.local',
      'metadata.google.internal',
      'metadata.google.internal.',
      'router.home.arpa',
      'home.arpa',
      'abcdefghij234567.onion',
      'a..example.com',
      'example.com..',
      '.example.com',
    ]) {
      for (const mode of MODES) assert.match(check(`https://${name}/`, { mode }) ?? 'null', /host name/, name);
    }
    for (const name of [
      'example.com',
      'example.com.',
      'local.example.com',
      'onion.example.com',
      'mylocalhost.com',
      'xn--bcher-kva.example',
    ]) {
      assert.equal(check(`https://${name}/`), null, name);
    }
  });

  test('plain http is for test mode', () => {
    assert.match(check('http://example.com/')!, /https:\/\//);
    assert.equal(check('http://example.com/', { mode: 'test' }), null);
    for (const mode of MODES) {
      for (const url of ['ftp://example.com/', 'ws://example.com/', 'file:///etc/passwd', 'data:,x', 'javascript:1']) {
        assert.match(check(url, { mode })!, /must begin with https:\/\//, url);
      }
    }
  });

  test('no user name, password or fragment', () => {
    for (const url of ['https://u@example.com/', 'https://u:p@example.com/', 'https://:p@example.com/']) {
      assert.match(check(url)!, /user name or password/, url);
    }
    for (const url of ['https://example.com/#a', 'https://example.com/#', 'https://example.com#']) {
      assert.match(check(url)!, /fragment/, url);
    }
    assert.equal(check('https://example.com/%23?a=%23'), null);
  });

  test('ports below 1024 are refused but for 443, and 80 in test mode', () => {
    const allowed = (mode: Mode): number[] => {
      const isOpen = (port: number): boolean => check(`https://example.com:${port}/`, { mode }) === null;
      return Array.from({ length: 1_026 }, (_, port) => port).filter(isOpen);
    };
    assert.deepEqual(allowed('live'), [443, 1024, 1025]);
    assert.deepEqual(allowed('test'), [80, 443, 1024, 1025]);
    assert.equal(check('https://example.com:65535/'), null);
    assert.match(check('https://8.8.8.8:22/')!, /port 22 is refused; use 443 or a port from 1024 up/);
    assert.equal(isVetted('8.8.8.8', { port: 22 }), false);
    assert.equal(isVetted('8.8.8.8', { port: 80, mode: 'test' }), true);
    assert.equal(isVetted('8.8.8.8', { port: 80 }), false);
  });
});

describe('subnets', () => {
  test('TEST_SUBNETS count in test mode, ALLOW_SUBNETS in both', () => {
    const guard = createGuard({ testSubnets: ['127.0.0.0/8'], allowSubnets: ['10.1.0.0/16', 'fd00::/8'] });
    assert.equal(isVetted('127.0.0.1', { guard, mode: 'test' }), true);
    assert.equal(isVetted('127.0.0.1', { guard, mode: 'live' }), false);
    for (const mode of MODES) {
      assert.equal(isVetted('10.1.2.3', { guard, mode }), true);
      assert.equal(isVetted('::ffff:10.1.2.3', { guard, mode }), true);
      assert.equal(isVetted('fd12::1', { guard, mode }), true);
      assert.equal(isVetted('10.2.0.1', { guard, mode }), false);
    }
  });

  test('inside a subnet any port goes, for names and literals', () => {
    assert.equal(check('http://127.0.0.1:22/', { guard: loopback, mode: 'test' }), null);
    assert.equal(check('http://[::1]:1/', { guard: loopback, mode: 'test' }), null);
    assert.equal(isVetted('127.0.0.1', { guard: loopback, mode: 'test', port: 22 }), true);
    assert.match(check('http://127.0.0.1:22/', { guard: loopback, mode: 'live' })!, /https/);
    assert.match(check('https://127.0.0.1:22/', { guard: loopback, mode: 'live' })!, /not publicly/);
  });

  test('with subnets a name is judged by what it resolves to, a literal at once', () => {
    for (const host of ['localhost', 'postgres', 'db.internal', 'example.com:22']) {
      assert.equal(check(`http://${host}/`, { guard: loopback, mode: 'test' }), null, host);
    }
    assert.match(check('http://10.0.0.1/', { guard: loopback, mode: 'test' })!, /not publicly/);
    const vet = (hostname: string, addresses: string[], port = 443): string[] =>
      loopback.vetAddresses({ addresses, mode: 'test', hostname, port });
    // Outside the subnet the rules for names and ports hold, whatever the address.
    assert.deepEqual(vet('localhost', ['127.0.0.1', '::1', '8.8.8.8']), ['127.0.0.1', '::1']);
    assert.deepEqual(vet('printer.local', ['8.8.8.8']), []);
    assert.deepEqual(vet('example.com', ['8.8.8.8', '127.0.0.1'], 22), ['127.0.0.1']);
    assert.deepEqual(vet('example.com', ['8.8.8.8', '10.0.0.1']), ['8.8.8.8']);
    // And in live mode, which has no subnets here, nothing has changed.
    assert.match(check('https://localhost/', { guard: loopback })!, /host name/);
  });

  test('ALLOW_SUBNETS does not lift https in live mode', () => {
    const guard = createGuard({ testSubnets: [], allowSubnets: ['10.0.0.0/8'] });
    assert.match(check('http://10.0.0.1/', { guard })!, /https/);
    assert.equal(check('https://10.0.0.1:22/', { guard }), null);
  });
});

describe('the own listening address', () => {
  const open = { testSubnets: ['0.0.0.0/0', '::/0'], allowSubnets: [] };
  const own = (address: string): Guard => {
    const guard = createGuard(open);
    guard.setOwnAddress({ address, port: 8383 });
    return guard;
  };
  const canReach = (address: string, guard: Guard, port = 8383): boolean => {
    const vetted = isVetted(address, { guard, mode: 'test', port });
    const host = address.includes(':') ? `[${address}]` : address;
    assert.equal(check(`http://${host}:${port}/`, { guard, mode: 'test' }) === null, vetted, 'literal and name agree');
    return vetted;
  };

  test('is refused at its port only', () => {
    const guard = own('127.0.0.1');
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '0.0.0.0', '::']) {
      assert.equal(canReach(address, guard), false, address);
      assert.equal(canReach(address, guard, 8384), true, address);
    }
    assert.equal(canReach('127.0.0.2', guard), true);
    assert.equal(canReach('::1', guard), true);
  });

  test('on 0.0.0.0 or :: is every address of this machine', () => {
    const local = Object.values(networkInterfaces()).flatMap((all) => all!.map(({ address }) => address));
    for (const address of ['0.0.0.0', '::']) {
      const guard = own(address);
      for (const refused of ['127.0.0.1', '127.9.9.9', '::1', ...local.filter((text) => !text.includes('%'))]) {
        assert.equal(canReach(refused, guard), false, refused);
        assert.equal(canReach(refused, guard, 8384), true, refused);
      }
      assert.equal(canReach('192.0.2.7', guard), true);
    }
  });

  test('may be set later', () => {
    const guard = createGuard(open);
    assert.equal(canReach('127.0.0.1', guard), true);
    guard.setOwnAddress({ address: '127.0.0.1', port: 8383 });
    assert.equal(canReach('127.0.0.1', guard), false);
  });

  test('is not told from any other inner address', () => {
    const literal = check('http://127.0.0.1:8383/', { guard: own('127.0.0.1'), mode: 'test' });
    assert.equal(literal, check('http://10.0.0.1/', { mode: 'test' }));
  });
});

describe('parseSubnet', () => {
  test('takes subnets and single addresses of both families', () => {
    for (const text of ['127.0.0.0/8', '10.1.2.3', '0.0.0.0/0', '10.1.2.3/32', '::/0', 'fd00::/8', '::1', '::1/128']) {
      assert.doesNotThrow(() => parseSubnet(text), text);
    }
  });

  test('says what would be right', () => {
    for (const [text, reason] of [
      ['', /is not a subnet; write/],
      ['localhost', /is not a subnet; write/],
      ['10.0.0.0/8/8', /is not a subnet; write/],
      ['010.0.0.0/8', /is not a subnet; write/],
      ['10.0.0/8', /is not a subnet; write/],
      ['fe80::1%eth0', /is not a subnet; write/],
      ['10.0.0.0/33', /must be 0 to 32/],
      ['10.0.0.0/', /must be 0 to 32/],
      ['10.0.0.0/-1', /must be 0 to 32/],
      ['10.0.0.0/08x', /must be 0 to 32/],
      ['fd00::/129', /must be 0 to 128/],
      ['10.1.2.3/8', /10\.0\.0\.0\/8 is the subnet around it/],
      ['fd00::1/8', /fd00::\/8 is the subnet around it/],
      ['::ffff:10.0.0.0/104', /write it as an IPv4 subnet/],
    ] as const) {
      assert.throws(() => parseSubnet(text), { message: reason }, text);
    }
  });
});

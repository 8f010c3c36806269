// Names to addresses, through DNS sockets of our own and never `dns.lookup`: that one runs getaddrinfo on four
// threads shared by the whole process, and four names whose servers hang would stop every delivery.
// Search domains of resolv.conf do not apply: a name in a URL is a full name.
import { Resolver as DnsResolver } from 'node:dns/promises';
import type { Clock } from '../runtime/clock.ts';
import { NoDescriptors, areNoneLeft } from './descriptors.ts';
import { createHostsFile } from './hosts-file.ts';

export type Resolver = ReturnType<typeof createResolver>;

/** `not_found`: the name does not exist or has no address. `unavailable`: no name server would say. */
export type DnsFailure = 'not_found' | 'unavailable';

export class DnsError extends Error {
  readonly failure: DnsFailure;
  constructor(failure: DnsFailure) {
    super(failure);
    this.failure = failure;
  }
}

type Answer = { ipv4: string[]; ipv6: string[]; failure: DnsFailure | null; ttlMs: number };
type Entry = Answer & { expiresAt: number; uses: number };

const TTL_MS_MIN = 1_000;
const TTL_MS_MAX = 60_000;
/** Short: a name that was just created should not stay unknown for minutes. */
const NOT_FOUND_TTL_MS = 5_000;
const UNAVAILABLE_TTL_MS = 1_000;
const CACHED_NAMES_MAX = 10_000;
const ADDRESSES_PER_FAMILY_MAX = 16;
/** Less than the 5 s of connecting, so that a dead name server shows as `dns_failed`. */
const LOOKUP_MS_MAX = 4_000;
/** Of a server that is quick with others c-ares waits a second or less for each: two were over after 1.5 s. */
const TRIES = 4;
/** While all servers are away thousands of look-ups may fail in a second. */
const SERVERS_INTERVAL_MS = 1_000;
/** RFC 8305, section 3: how long the family that answered first waits for the other. */
const SECOND_FAMILY_MS_MAX = 50;
const LOOPBACK: Answer = { ipv4: ['127.0.0.1'], ipv6: ['::1'], failure: null, ttlMs: TTL_MS_MAX };

/** `readServers` defaults to what the system says (/etc/resolv.conf); `hostsPath` to /etc/hosts. */
export function createResolver(options: { clock: Clock; readServers?: () => readonly string[]; hostsPath?: string }) {
  const { clock } = options;
  const nameServers = createNameServers({ clock, read: options.readServers });
  const hosts = createHostsFile({ clock, path: options.hostsPath ?? '/etc/hosts' });
  const cache = new Map<string, Entry>();
  const underWay = new Map<string, Promise<Entry>>();

  const lookUp = async (name: string): Promise<Entry> => {
    try {
      const answer = await findAnswer(name);
      const entry = { ...answer, expiresAt: clock.monotonic() + answer.ttlMs, uses: 0 };
      cache.delete(name);
      // The oldest goes first: with so many names in use a fresh answer is the likelier to be asked again.
      if (cache.size >= CACHED_NAMES_MAX) cache.delete(cache.keys().next().value!);
      cache.set(name, entry);
      return entry;
    } finally {
      underWay.delete(name);
    }
  };

  const findAnswer = async (name: string): Promise<Answer> => {
    // RFC 6761, section 6.3: these names are loopback whatever a server says.
    if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
    const local = await hosts.addressesOf(name);
    if (local.length > 0) return answerOf(local.map((address) => ({ address, ttl: 0 })));
    const answer = await query({ dns: nameServers.current(), clock, name });
    if (answer.failure !== 'unavailable') return answer;
    // Of a socket that it could not open c-ares says that the name server refused. Kept as an answer that would blame
    // receivers when there are sockets again; and a list of name servers that cannot be read is one of localhost.
    if (areNoneLeft()) throw new NoDescriptors();
    nameServers.lookAgain();
    return answer;
  };

  return {
    /** The addresses of a name in the order to try them, at least one; rejects with DnsError or NoDescriptors. */
    async resolve(hostname: string): Promise<readonly string[]> {
      const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
      let entry = cache.get(name);
      if (entry === undefined || entry.expiresAt <= clock.monotonic()) {
        const pending = underWay.get(name) ?? lookUp(name);
        underWay.set(name, pending);
        entry = await pending;
      }
      if (entry.failure !== null) throw new DnsError(entry.failure);
      return inTryingOrder(entry);
    },
  };
}

/**
 * c-ares reads the system's name servers once, when its resolver is made: on a machine that has moved to another
 * network since, every name would stay unavailable until the next start.
 */
function createNameServers({ clock, read }: { clock: Clock; read: (() => readonly string[]) | undefined }) {
  const open = (): DnsResolver => {
    const dns = new DnsResolver({ timeout: 1_000, tries: TRIES });
    if (read !== undefined) dns.setServers(read());
    return dns;
  };
  let dns = open();
  let lookAt = Number.NEGATIVE_INFINITY;

  return {
    current: (): DnsResolver => dns,
    /** Reads the name servers anew; queries that are under way stay with those that they were sent to. */
    lookAgain(): void {
      if (clock.monotonic() < lookAt) return;
      lookAt = clock.monotonic() + SERVERS_INTERVAL_MS;
      const fresh = open();
      // Of the same servers the resolver in use knows which of them answer.
      if (fresh.getServers().join() !== dns.getServers().join()) dns = fresh;
    },
  };
}

type AddressRecord = { address: string; ttl: number };

/** Asks for both families at once. One that fails or hangs does not take the other with it. */
function query({ dns, clock, name }: { dns: DnsResolver; clock: Clock; name: string }): Promise<Answer> {
  return new Promise((resolve) => {
    const records: AddressRecord[] = [];
    let failure: DnsFailure = 'not_found';
    let pending = 2;
    const finish = (): void => {
      timer.cancel();
      if (records.length > 0) resolve(answerOf(records));
      else resolve(FAILED[pending > 0 ? 'unavailable' : failure]);
    };
    let timer = clock.setTimer(finish, LOOKUP_MS_MAX);
    const settle = (): void => {
      pending--;
      if (pending === 0) return finish();
      if (records.length === 0) return;
      timer.cancel();
      timer = clock.setTimer(finish, SECOND_FAMILY_MS_MAX);
    };
    const take = (answer: AddressRecord[]): void => {
      records.push(...answer);
      settle();
    };
    const miss = (error: { code?: string }): void => {
      if (!NOT_FOUND_CODES.has(error.code ?? '')) failure = 'unavailable';
      settle();
    };
    dns.resolve4(name, { ttl: true }).then(take, miss);
    dns.resolve6(name, { ttl: true }).then(take, miss);
  });
}

/** What c-ares says of names that do not exist, have no such record, or cannot be names at all. */
const NOT_FOUND_CODES = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
const FAILED: Record<DnsFailure, Answer> = {
  not_found: { ipv4: [], ipv6: [], failure: 'not_found', ttlMs: NOT_FOUND_TTL_MS },
  unavailable: { ipv4: [], ipv6: [], failure: 'unavailable', ttlMs: UNAVAILABLE_TTL_MS },
};

function answerOf(records: readonly AddressRecord[]): Answer {
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl * 1000));
  const addresses = records.map(({ address }) => address);
  return {
    ipv4: addresses.filter((address) => !address.includes(':')).slice(0, ADDRESSES_PER_FAMILY_MAX),
    ipv6: addresses.filter((address) => address.includes(':')).slice(0, ADDRESSES_PER_FAMILY_MAX),
    failure: null,
    ttlMs: Math.min(Math.max(ttlMs, TTL_MS_MIN), TTL_MS_MAX),
  };
}

/**
 * Families in turn (RFC 8305), each beginning one further every time, so that a cached answer still spreads load.
 * IPv4 first: receivers that list whom they let in list IPv4, and where IPv6 does not work nobody waits for it.
 */
function inTryingOrder(entry: Entry): string[] {
  const turn = entry.uses++;
  const order: string[] = [];
  for (let i = 0; i < Math.max(entry.ipv4.length, entry.ipv6.length); i++) {
    for (const family of [entry.ipv4, entry.ipv6]) {
      if (i < family.length) order.push(family[(i + turn) % family.length]!);
    }
  }
  return order;
}

// Where a destination may lie (SSRF guard): judges a URL when it is registered, and again every address a name
// resolves to, on every connect, so that a name cannot pass here and lead inside later (DNS rebinding).
// Messages never tell which inner subnets exist or what a name resolved to.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import type { Mode } from '../model/api-key.ts';

type Address = IPv4 | IPv6;
type Subnet = [network: Address, prefixLength: number];
type ListeningAddress = { address: string; port: number };
type AddressQuestion = { addresses: readonly string[]; mode: Mode; hostname: string; port: number };

export type Guard = ReturnType<typeof createGuard>;

const REFUSED_SUFFIXES = ['.localhost', '.local', '.internal', '.home.arpa', '.onion'];
const HTTPS_PORT = 443;
const HTTP_PORT = 80;
const FREE_PORT_MIN = 1_024;

// The addresses a destination may never have unless a setting allows its subnet: IANA's special-purpose
// registries (iana-ipv4-special-registry, iana-ipv6-special-registry) and what else only leads inside.

/** IPv4 is open but for these. */
const REFUSED_IPV4 = [
  '0.0.0.0/8', // "this network"; Linux connects 0.0.0.0 to itself
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, and many a cloud's inner services
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local: the metadata service of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '168.63.129.16/32', // a public-looking address that in Azure is the host's own agent
] as const;

/** IPv6 is closed but for this: all global unicast there is. Not in it: ::1, fc00::/7, fe80::/10, 64:ff9b::/96, … */
const OPEN_IPV6 = '2000::/3';

/** … less these, most of which carry an IPv4 address inside that would be reached instead. */
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID, benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
] as const;

const refusedIPv4 = REFUSED_IPV4.map((text) => parseSubnet(text));
const openIPv6 = parseSubnet(OPEN_IPV6);
const refusedIPv6 = REFUSED_IPV6.map((text) => parseSubnet(text));

/** Subnets are CIDR texts that `parseSubnet` accepts; `testSubnets` count in test mode only. */
export function createGuard(options: { testSubnets: readonly string[]; allowSubnets: readonly string[] }) {
  const allowed = options.allowSubnets.map((text) => parseSubnet(text));
  const subnets = { live: allowed, test: [...allowed, ...options.testSubnets.map((text) => parseSubnet(text))] };
  let own: ListeningAddress | null = null;

  const isAllowed = (address: Address, mode: Mode): boolean => isInside(address, subnets[mode]);
  const isOwn = (address: Address, port: number): boolean => own !== null && own.port === port && leadsTo(address, own);

  const checkLiteral = (address: Address, port: number, mode: Mode): string | null => {
    const fault = NOT_PUBLIC + testHint(mode);
    if (isOwn(address, port)) return fault;
    if (isAllowed(address, mode)) return null;
    return isPublic(address) ? findPortFault(port, mode) : fault;
  };

  return {
    /** What is wrong with a URL as far as the URL itself can tell: a sentence for its owner, or null. */
    checkUrl(url: URL, mode: Mode): string | null {
      const fault = findFormFault(url, mode);
      if (fault !== null) return fault;
      const literal = literalAddress(url.hostname);
      if (literal !== null) return checkLiteral(parseAddress(literal)!, portOf(url), mode);
      // What a name or port is worth depends on the address behind it, and that is judged on connecting.
      if (subnets[mode].length > 0) return null;
      const nameFault = findNameFault(url.hostname);
      return nameFault === null ? findPortFault(portOf(url), mode) : nameFault + testHint(mode);
    },
    /** Those of the resolved addresses that may be connected to, as canonical text, in the order given. */
    vetAddresses({ addresses, mode, hostname, port }: AddressQuestion): string[] {
      const isName = literalAddress(hostname) === null;
      const isOpen = (!isName || findNameFault(hostname) === null) && findPortFault(port, mode) === null;
      return addresses
        .map((text) => parseAddress(text))
        .filter((address) => address !== null)
        .filter((address) => !isOwn(address, port) && (isAllowed(address, mode) || (isOpen && isPublic(address))))
        .map((address) => address.toString());
    },
    /** The service's own address and port, known once it listens: refused whatever the subnets say. */
    setOwnAddress(address: ListeningAddress): void {
      own = address;
    },
  };
}

const NOT_PUBLIC = 'the address of this URL is not publicly reachable; use a host on the public internet';

/** Whoever tries things out has a receiver at hand, not on the public internet. */
function testHint(mode: Mode): string {
  return mode === 'test' ? ', or an address that the setting TEST_SUBNETS allows' : '';
}

/** Reads a subnet in CIDR form, or a single address; throws an Error whose message says what would be right. */
export function parseSubnet(text: string): Subnet {
  const [base = '', prefix, ...rest] = text.split('/');
  const version = isIP(base);
  if (version === 0 || base.includes('%') || rest.length > 0) {
    throw new Error(`"${text}" is not a subnet; write an address and a prefix length, like 10.0.0.0/8 or fd00::/8`);
  }
  const bits = version === 4 ? 32 : 128;
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bits)) {
    throw new Error(`"${text}" has the prefix length ${prefix}; it must be 0 to ${bits}`);
  }
  const network = ipaddr.parse(base);
  if (isMapped(network)) throw new Error(`"${text}" is IPv4 in disguise; write it as an IPv4 subnet`);
  const length = Number(prefix ?? bits);
  const first = firstAddress(network, length);
  if (first !== network.toString()) {
    throw new Error(`"${text}" has bits set beyond its prefix; ${first}/${length} is the subnet around it`);
  }
  return [network, length];
}

function firstAddress(network: Address, prefixLength: number): string {
  const cidr = `${network.toString()}/${prefixLength}`;
  const first =
    network.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return first.toString();
}

/** The address in a URL's host without its brackets, or null for a name. */
export function literalAddress(hostname: string): string | null {
  const text = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(text) === 0 ? null : text;
}

/** The port a URL leads to. `:0` is a port, too, so no falsy shortcut. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT;
}

/** One text for one address: v4-mapped IPv6 becomes IPv4. Null: not an address. */
export function canonicalAddress(text: string): string | null {
  return parseAddress(text)?.toString() ?? null;
}

function parseAddress(text: string): Address | null {
  // ipaddr.js alone would also read "010.1" and the like; resolvers and URLs only hand out plain forms.
  if (isIP(text) === 0 || text.includes('%')) return null;
  return ipaddr.process(text);
}

function isMapped(address: Address): boolean {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
}

function isInside(address: Address, subnets: readonly Subnet[]): boolean {
  return subnets.some(([network, length]) => network.kind() === address.kind() && address.match(network, length));
}

function isPublic(address: Address): boolean {
  if (address.kind() === 'ipv4') return !isInside(address, refusedIPv4);
  return isInside(address, [openIPv6]) && !isInside(address, refusedIPv6);
}

/** Whether connecting to `address` reaches a listener on `own` of this machine. */
function leadsTo(address: Address, own: ListeningAddress): boolean {
  const target = address.toString();
  // Connecting to the unspecified address reaches loopback; with another port it harms no one here.
  if (target === '0.0.0.0' || target === '::') return true;
  const listening = canonicalAddress(own.address);
  if (listening !== '0.0.0.0' && listening !== '::') return target === listening;
  return address.range() === 'loopback' || localAddresses().includes(target);
}

/** Read anew each time: interfaces come and go, and this is asked only for our own port. */
function localAddresses(): (string | null)[] {
  return Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => canonicalAddress(address)),
  );
}

function findFormFault(url: URL, mode: Mode): string | null {
  if (url.protocol !== 'https:' && mode === 'live') return 'the URL must begin with https://';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'the URL must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') {
    return 'the URL must not contain a user name or password; send credentials in "headers" instead';
  }
  // `hash` is empty for a bare "#", which the serialised URL keeps.
  if (url.href.includes('#')) return 'the URL must not contain a fragment ("#"), which is never sent';
  return null;
}

function findNameFault(hostname: string): string | null {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  const isOdd = !name.includes('.') || name.startsWith('.') || name.includes('..') || name.endsWith('.');
  if (!isOdd && !REFUSED_SUFFIXES.some((suffix) => `.${name}`.endsWith(suffix))) return null;
  return `the host name "${hostname}" is not a public one; use a full name in a public domain`;
}

function findPortFault(port: number, mode: Mode): string | null {
  if (port >= FREE_PORT_MIN || port === HTTPS_PORT || (mode === 'test' && port === HTTP_PORT)) return null;
  const usual = mode === 'test' ? '443, 80' : '443';
  return `port ${port} is refused; use ${usual} or a port from ${FREE_PORT_MIN} up`;
}

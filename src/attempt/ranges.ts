// The addresses a destination may never have unless a setting allows its subnet: IANA's special-purpose
// registries (iana-ipv4-special-registry, iana-ipv6-special-registry) and what else only leads inside.

/** IPv4 is open but for these. */
export const REFUSED_IPV4 = [
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
export const OPEN_IPV6 = '2000::/3';

/** … less these, most of which carry an IPv4 address inside that would be reached instead. */
export const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID, benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
] as const;

import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { isIP, isIPv4, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { TransferError } from '../base/transfer-error.ts';
import type { SourcePolicy } from '../base/types.ts';
import { isListed, toldHost } from './host-list.ts';

/**
 * The gate before every request for a file. Its address comes from outside and is not trusted: `checkAddress` judges
 * what is written, for the first address and for each redirect, and `guardedLookup` judges what the name resolves to at
 * the moment of the connection. Neither is enough alone: a name may change its addresses between a check and the
 * connection, and Node asks no lookup for an IP address. The address is a secret: no message quotes it.
 */

/** How names are resolved: `dns.lookup` for all addresses. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Schemes that a message may name; anything else before a colon may be part of a secret. */
const TOLD_SCHEMES = ['http:', 'ftp:', 'file:', 'data:', 'javascript:', 'blob:', 'ws:', 'wss:', 's3:'];

/**
 * Parses the address of a file once and checks it; the URL that is returned is the one to ask, without its fragment.
 *
 * @param base the checked URL that redirected to this address, which may be relative to it
 * @param hop number of this redirect, for the message
 * @throws TransferError `address-rejected`
 */
export function checkAddress(address: string, policy: SourcePolicy, base?: URL, hop = base ? 1 : 0): URL {
  const url = URL.parse(address, base?.href);
  const objection = url ? objectionTo(url, policy, base) : 'cannot be read';
  if (!url || objection) {
    const subject = hop > 0 ? `Redirect ${hop} of the address of the file` : 'The address of the file';
    throw new TransferError('address-rejected', `${subject} ${objection}.`);
  }
  url.hash = '';
  return url;
}

function objectionTo(url: URL, { hosts, local }: SourcePolicy, base: URL | undefined): string | undefined {
  const { protocol, hostname, port } = url;
  if (url.username || url.password) return 'has a user name or a password in it';
  if (protocol === 'http:' && base?.protocol === 'https:') return 'leads from https: to http:';
  if (local && isLoopback(hostname) && /^https?:$/.test(protocol)) return undefined;
  if (protocol !== 'https:') return wrongScheme(protocol);
  // The parser has brought every notation of an IPv4 address to four numbers, and IPv6 into brackets.
  if (isIPv4(hostname) || hostname.startsWith('[')) return 'names an IP address in place of a host in crm.fileHosts';
  if (hostname.endsWith('.')) return 'ends its host with a dot';
  if (!isListed(hostname, hosts)) {
    return `leads to ${toldHost(hostname)}, which is not in crm.fileHosts of the configuration; if the service does keep its files there, add that host and deploy`;
  }
  return port === '' ? undefined : 'names a port other than 443';
}

function wrongScheme(protocol: string): string {
  return TOLD_SCHEMES.includes(protocol) ? `begins with ${protocol} instead of https:` : 'does not begin with https:';
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

/**
 * The `lookup` of requests for a file. One address that is not public refuses the name with all its addresses; else the
 * connection gets exactly the addresses that were tested, so that no second answer comes between test and connection.
 *
 * The request fails with `TransferError` `address-rejected` where an address is refused, `source-unavailable` where there
 * is none, and with the error of the resolver itself, which quotes the host.
 */
export function guardedLookup({ local }: SourcePolicy, resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, { all, family, hints }, callback) => {
    resolve(hostname, { all: true, order: 'verbatim', hints }, (error, found) => {
      if (error) return callback(error, []);
      const refused = found.map(({ address }) => rangeOf(address)).find((range) => !isAllowed(range, local));
      if (refused) return callback(notPublic(refused), []);
      const usable = found.filter((one) => !family || one.family === familyNumber(family));
      const [first] = usable;
      if (!first) return callback(new TransferError('source-unavailable', 'The host of the file has no address.'), []);
      return all ? callback(null, usable) : callback(null, first.address, first.family);
    });
  };
}

function notPublic(range: string): TransferError {
  return new TransferError(
    'address-rejected',
    `The host of the file resolves to an address that is not public: ${range}.`,
  );
}

function isAllowed(range: string, local: boolean): boolean {
  return range === 'unicast' || (local && range === 'loopback');
}

function familyNumber(family: number | 'IPv4' | 'IPv6'): number {
  return typeof family === 'number' ? family : Number(family.slice(-1));
}

/** Today's global unicast (RFC 4291, IANA): ipaddr.js calls everything unicast that has no other use yet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
/** Well-known prefix of translators to IPv4 (RFC 6052): what counts is the IPv4 address behind it. */
const NAT64 = ipaddr.IPv6.parse('64:ff9b::');

/** What an address is for, in the words of ipaddr.js; `unicast` is public. */
function rangeOf(address: string): string {
  // Stricter than ipaddr.js, which reads "1" and "0177.0.0.1" as addresses.
  if (isIP(address) === 0) return 'unreadable';
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.range();
  if (parsed.match(NAT64, 96)) return new ipaddr.IPv4(parsed.toByteArray().slice(12)).range();
  const range = parsed.range();
  return range === 'unicast' && !parsed.match(GLOBAL_UNICAST, 3) ? 'unassigned' : range;
}

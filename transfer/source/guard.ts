import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { isIP, isIPv4, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { TransferError } from '../base/transfer-errors.ts';
import type { SourcePolicy } from '../base/types.ts';

/**
 * The address of a file is untrusted. `checkAddress` checks the address and each redirect; `guardedLookup` checks the
 * resolved IP addresses on connection. Both are needed: a name may change its addresses, and Node looks up no IP
 * address. The address is a secret: no message quotes it.
 */

/** How names are resolved: `dns.lookup` for all addresses. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * An exact host name, or a leading dot for every name below it. A pattern has at least two labels, and the last is not
 * a number: it can be neither an IP address nor a name of the local network.
 */
export const HOST_PATTERN = /^\.?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The longest host name as text (RFC 1035). */
const LONGEST_HOST = 253;
/** Matches a label for a message. A longer one may be a token that the CRM has put into the name. */
const PRINTABLE_LABEL = /^[a-z0-9-]{1,40}$/;

/**
 * Parses and checks the address of a file. Request the returned URL, not the text; it has no fragment.
 * @param base the checked URL that redirected to this address
 * @param hop number of this redirect, for the message
 * @throws TransferError `address-rejected`
 */
export function checkAddress(address: string, policy: SourcePolicy, base?: URL, hop = base ? 1 : 0): URL {
  const url = URL.parse(address, base?.href);
  const subject = hop > 0 ? `Redirect ${hop} of the address of the file` : 'The address of the file';
  const objection = url ? objectionTo(url, policy, base) : 'cannot be read';
  if (!url || objection) throw new TransferError('address-rejected', `${subject} ${objection}.`);
  if (!isAllowedHost(url.hostname, policy)) {
    const text = `leads to ${printableHost(url.hostname)}, which is not in crm.fileHosts of the configuration; if the CRM does keep its files there, add that host and deploy`;
    throw new TransferError('address-rejected', `${subject} ${text}.`, { setting: 'crm.fileHosts' });
  }
  url.hash = '';
  return url;
}

/** The reason, if no setting can allow an address. */
function objectionTo(url: URL, { local }: SourcePolicy, base: URL | undefined): string | undefined {
  const { protocol, hostname, port } = url;
  if (url.username || url.password) return 'has a user name or a password in it';
  if (protocol === 'http:' && base?.protocol === 'https:') return 'leads from https: to http:';
  if (local && isLoopback(hostname) && /^https?:$/.test(protocol)) return undefined;
  if (protocol !== 'https:') return 'does not begin with https:';
  // The parser normalises every notation of an IPv4 address to four numbers, and puts IPv6 into brackets.
  if (isIPv4(hostname) || hostname.startsWith('[')) return 'names an IP address in place of a host in crm.fileHosts';
  if (hostname.endsWith('.')) return 'ends its host with a dot';
  return port === '' ? undefined : 'names a port other than 443';
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

/** Whether the policy already allows files from a host. */
export function isAllowedHost(host: string, { hosts, local }: SourcePolicy): boolean {
  const isMeant = (entry: string) =>
    entry.startsWith('.') ? host.endsWith(entry) && host.length > entry.length : host === entry;
  return (local && isLoopback(host)) || hosts.some(isMeant);
}

/** The host for a message, or a placeholder if the name might contain a secret. */
export function printableHost(host: string): string {
  const isPrintable = host.split('.').every((label) => PRINTABLE_LABEL.test(label));
  return isPrintable && host.length <= LONGEST_HOST ? host : 'a host whose name is not shown';
}

/**
 * The `lookup` of requests for a file. One non-public address refuses the name, unless the policy lists it as a private
 * host and the address is in a network range. Otherwise the connection gets exactly the checked addresses. Fails with
 * TransferError, or with the resolver's error, which quotes the host.
 */
export function guardedLookup(
  { local, privateHosts = [] }: SourcePolicy,
  resolve: Resolve = systemLookup,
): LookupFunction {
  // Node asks for all addresses and tries one after the other (`autoSelectFamily`).
  return (hostname, { hints }, callback) => {
    const ranges = [
      'unicast',
      ...(local ? ['loopback'] : []),
      ...(privateHosts.includes(hostname) ? NETWORK_RANGES : []),
    ];
    resolve(hostname, { all: true, order: 'verbatim', hints }, (error, found) => {
      if (error) return callback(error, []);
      const refused = found.map(({ address }) => rangeOf(address)).find((range) => !ranges.includes(range));
      if (refused) {
        const message = `The host of the file resolves to an address that is not public: ${refused}.`;
        const setting = NETWORK_RANGES.includes(refused) ? 'crm.privateHosts' : undefined;
        return callback(new TransferError('address-rejected', message, { setting }), []);
      }
      return callback(null, found);
    });
  };
}

/** Address ranges of private networks (RFC 1918, 6598 and 4193). */
const NETWORK_RANGES = ['private', 'carrierGradeNat', 'uniqueLocal'];
/**
 * AWS's own range in every VPC: the metadata service, which gives out credentials, and its neighbours (unique local).
 */
const PLATFORM = ipaddr.IPv6.parse('fd00:ec2::');
/** Global unicast (RFC 4291). ipaddr.js also reports unassigned addresses as unicast. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
/** Prefix of translators to IPv4 (RFC 6052). The IPv4 address after the prefix counts. */
const NAT64 = ipaddr.IPv6.parse('64:ff9b::');

/** The range of an address as ipaddr.js names it; `unicast` is public. */
function rangeOf(address: string): string {
  // Stricter than ipaddr.js, which reads "1" and "0177.0.0.1" as addresses.
  if (isIP(address) === 0) return 'unreadable';
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.range();
  if (parsed.match(NAT64, 96)) return new ipaddr.IPv4(parsed.toByteArray().slice(12)).range();
  if (parsed.match(PLATFORM, 32)) return 'linkLocal';
  const range = parsed.range();
  return range === 'unicast' && !parsed.match(GLOBAL_UNICAST, 3) ? 'unassigned' : range;
}

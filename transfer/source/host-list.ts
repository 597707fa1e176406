/**
 * Host names of a list: exact ("files.example.com"), or with a leading dot every name below one (".example.com" matches
 * "eu.example.com", not "example.com"). At least two labels, and a last label that cannot be read as a number: neither
 * an IP address nor a name of the own network can be written this way.
 */
export const HOST_PATTERN = /^\.?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Most characters of a host name (RFC 1035, in text). */
const LONGEST_HOST = 253;

/** A longer label may be a token that the service has put into the name. */
const LONGEST_TOLD_LABEL = 40;

/** Whether a list of names and suffixes has this host. */
export function isListed(host: string, list: readonly string[]): boolean {
  return list.some((entry) =>
    entry.startsWith('.') ? host.endsWith(entry) && host.length > entry.length : host === entry,
  );
}

/** The host for a message that a person reads: its name where that is plain enough to be no secret. */
export function toldHost(host: string): string {
  const labels = host.split('.');
  const plain = labels.every((label) => /^[a-z0-9-]+$/.test(label) && label.length <= LONGEST_TOLD_LABEL);
  return plain && host.length <= LONGEST_HOST ? host : 'a host whose name is not shown';
}

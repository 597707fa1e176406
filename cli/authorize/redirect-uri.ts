import { CommandError, USAGE } from '../support/exit.ts';

/** Where the CRM sends the browser back to. */
export interface Callback {
  /** Addresses of this machine; empty when the redirect goes elsewhere, and its address can only be pasted. */
  hosts: string[];
  /** 0 takes any free port. */
  port: number;
  path: string;
  /** The redirect URI, once the port is known. */
  uriAt: (port: number) => string;
}

/** Names of this machine in a URI; servers that compare with `localhost` may resolve it to either address. */
const LOOPBACK: Record<string, string[]> = {
  '127.0.0.1': ['127.0.0.1'],
  '[::1]': ['::1'],
  localhost: ['127.0.0.1', '::1'],
};

/**
 * The callback on 127.0.0.1 with any port (RFC 8252, 7.3), or what a CRM that compares exactly has registered: host,
 * port and path as given, where the port 0 means any free one.
 * @throws CommandError (exit code 2) when the redirect URI is none
 */
export function callbackOf({
  port = 0,
  redirectUri,
}: {
  port?: number | undefined;
  redirectUri?: string | undefined;
}): Callback {
  const wanted = redirectUri ?? `http://127.0.0.1:${port}/callback`;
  const url = URL.parse(wanted);
  if (!url?.host || url.hash || url.username) {
    throw new CommandError(
      'The redirect URI must be an absolute address without a fragment, such as http://localhost:8400/callback.',
      USAGE,
    );
  }
  const hosts = url.protocol === 'http:' ? (LOOPBACK[url.hostname] ?? []) : [];
  return {
    hosts,
    port: Number(url.port || 80),
    path: url.pathname,
    // The address stays as it was given, because the service compares it letter by letter.
    uriAt: (actual) => (url.port === '0' ? wanted.replace(`${url.hostname}:0`, `${url.hostname}:${actual}`) : wanted),
  };
}

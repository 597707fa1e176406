import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Fields of a form or response with the grant itself or a means to get it. */
const SECRET_FIELDS = ['refresh_token', 'access_token', 'client_secret', 'code', 'code_verifier'];

/**
 * A proxy in front of a server's OAuth endpoints. It remembers every secret in requests and responses, so that a test
 * can search for all of them afterwards.
 */
export async function startWitness(authUrl: string) {
  const secrets = new Set<string>();
  const server = createServer((request, response) => {
    pass(request, response, authUrl, secrets).catch(() => response.destroy()); // as the server did
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    authUrl: `http://127.0.0.1:${port}${new URL(authUrl).pathname}`,
    secrets,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function pass(request: IncomingMessage, response: ServerResponse, authUrl: string, secrets: Set<string>) {
  const { method, url: path, headers } = request;
  const body = await buffer(request);
  note(Object.fromEntries(new URLSearchParams(body.toString())), secrets);
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1];
  if (basic) for (const secret of [basic, passwordOf(basic)]) secrets.add(secret);

  const { hostname, port } = new URL(authUrl);
  const onward = httpRequest({ hostname, port, method, path, headers });
  onward.end(body);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  const text = await buffer(answer);
  if (answer.headers['content-type']?.includes('json')) note(JSON.parse(text.toString()), secrets);
  response.writeHead(answer.statusCode ?? 502, answer.headers).end(text);
}

function note(fields: Record<string, unknown>, secrets: Set<string>): void {
  for (const name of SECRET_FIELDS) {
    const value = fields[name];
    if (typeof value === 'string' && value !== '') secrets.add(value);
  }
}

function passwordOf(basic: string): string {
  return decodeURIComponent(Buffer.from(basic, 'base64').toString().split(':')[1] ?? '');
}

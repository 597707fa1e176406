import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';
import { isLoopback } from '../core/config/configuration.ts';
import { addCustomers } from './api/customer-routes.ts';
import { addExports } from './api/export-routes.ts';
import { Records } from './data/records.ts';
import { Faults, faultSchema } from './faults.ts';
import { addFiles } from './files/route.ts';
import { addAuthorizeEndpoint } from './oauth/authorization.ts';
import { Grants, type IssuedTokens, SCOPES } from './oauth/grants.ts';
import { addTokenEndpoint } from './oauth/token.ts';
import { Clock, DEFAULTS, type SandboxOptions } from './sandbox-settings.ts';
import { problem, track } from './track.ts';
import { createJobs, createLedger, type SandboxApp, type SandboxEnv, type World } from './world.ts';

/** A running sandbox CRM. */
export interface Sandbox extends World {
  url: string;
  /** `{base_url}` of the interface document, `/api/v1` included. */
  baseUrl: string;
  /** `{auth_url}` of the interface document. */
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Issues the tokens of a new grant without a browser; by default with all scopes. */
  issueTokens: (options?: { scopes?: string[]; expiresInSeconds?: number }) => IssuedTokens;
  /** Makes every access token so far expire. */
  expireAccessTokens: () => void;
  /** Ends the server and all its connections. */
  close: () => Promise<void>;
}

function makeWorld(options: SandboxOptions, closing: AbortSignal): World {
  const settings = { ...DEFAULTS, ...options };
  const clock = new Clock();
  return {
    settings,
    clock,
    closing,
    faults: new Faults(),
    ledger: createLedger(clock),
    grants: new Grants(settings, clock),
    jobs: createJobs(settings, clock),
    records: new Records(),
    fileKey: randomBytes(32),
  };
}

function makeApp(world: World): SandboxApp {
  const app: SandboxApp = new Hono<SandboxEnv>();
  for (const add of [addControl, addAuthorizeEndpoint, addTokenEndpoint, addExports, addCustomers, addFiles]) {
    add(app, world);
  }
  app.all('*', track(world, 'other'), () => {
    throw problem(world, 404, 'not_found', 'No such resource.');
  });
  app.onError((error) => {
    if (error instanceof HTTPException) return error.getResponse();
    return Response.json({ error: { code: 'sandbox_defect', message: error.stack ?? error.message } }, { status: 500 });
  });
  return app;
}

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  // A server on TCP has an address with a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a sandbox CRM on 127.0.0.1. @throws Error with code EADDRINUSE if the port is taken. */
export async function startSandbox({ port = 0, ...options }: SandboxOptions = {}): Promise<Sandbox> {
  const closing = new AbortController();
  const world = makeWorld(options, closing.signal);
  const server = createServer(getRequestListener(makeApp(world).fetch, { overrideGlobalObjects: false }));
  const url = await listen(server, port);
  const { clientId, clientSecret } = world.settings;
  return {
    ...world,
    url,
    baseUrl: `${url}/api/v1`,
    authUrl: `${url}/auth`,
    clientId,
    clientSecret,
    issueTokens: ({ scopes = [...SCOPES], expiresInSeconds } = {}) => world.grants.issue(scopes, expiresInSeconds),
    expireAccessTokens: () => world.grants.expireAccessTokens(),
    close: async () => {
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** `/_sandbox`, without authentication. It accepts loopback names and JSON only, so that no web page can call it. */
function addControl(app: SandboxApp, world: World): void {
  app.use('/_sandbox/*', async (c, next) => {
    if (!isLoopback(c.req.url)) return c.json({ error: 'loopback only' }, 403);
    return next();
  });
  app.get('/_sandbox/ledger', (c) => c.json(world.ledger.calls()));
  app.delete('/_sandbox/ledger', (c) => {
    world.ledger.clear();
    return c.body(null, 204);
  });
  app.delete('/_sandbox/faults', (c) => {
    world.faults.clear();
    return c.body(null, 204);
  });
  app.post('/_sandbox/faults', async (c) => {
    if (!c.req.header('content-type')?.startsWith('application/json')) return c.json({ error: 'JSON only' }, 415);
    const parsed = faultSchema.safeParse(await c.req.json().catch(() => undefined));
    if (!parsed.success) return c.json({ error: z.prettifyError(parsed.error) }, 400);
    return c.json({ id: world.faults.add(parsed.data) }, 201);
  });
}

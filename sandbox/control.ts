import { z } from 'zod';
import { faultSchema } from './world/fault-schema.ts';
import type { SandboxApp, World } from './world/world.ts';

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** `/_sandbox`, without authentication: loopback names and JSON only, so that no web page in a browser can reach it. */
export function addControl(app: SandboxApp, world: World): void {
  app.use('/_sandbox/*', async (c, next) => {
    if (!LOOPBACK.has(new URL(c.req.url).hostname)) return c.json({ error: 'loopback only' }, 403);
    return next();
  });
  app.get('/_sandbox/health', (c) => c.json({ status: 'ok' }));
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

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approveConsent } from '../../../sandbox/approve.ts';
import { tree } from '../../lib/support/files.ts';
import { inTerminal } from '../../support/pty.ts';
import { sandboxFor } from './support/probed.ts';

test('Ctrl-C at the question for the host of the file ends the probe at once, and no file is fetched', async () => {
  const sandbox = await sandboxFor({ linkHost: 'files.crm.test', jobChecks: 1 });
  const { baseUrl, authUrl, clientId, clientSecret } = sandbox;
  const file = join(tree({}), 'crm.json');
  writeFileSync(file, JSON.stringify({ local: true, crm: { baseUrl, authUrl } }));
  const args = ['cli/main.js', 'probe', '--configuration', file, '--client-id', clientId, '--no-browser', '--write'];
  const terminal = inTerminal(args, { env: { CRM_CLIENT_SECRET: clientSecret } });
  await approveConsent(await terminal.shows(/Open: (\S+)/));
  await terminal.shows(/Fetch up to 16 MB of it\?/);

  terminal.type('\x03');

  expect(await terminal.ended).toBe(130);
  expect(terminal.shown()).toContain('Interrupted: nothing more was asked.');
  expect(sandbox.ledger.count({ kind: 'file' })).toBe(0);
});

import { afterAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../local/ministack/ports.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { endAll, run } from '../support/running.ts';
import { START } from './support/start-documents.ts';

/** Tests the first contact with a CRM before an AWS account exists: `npm start -- --keep --crm-url …`, then `probe`. */

afterAll(endAll);

test('npm start authorizes a client with a fixed redirect address, and its printed command probes the CRM', async () => {
  const sandbox = await startSandbox({ rows: 3, jobChecks: 1 });
  onTestFinished(() => sandbox.close());
  const { baseUrl, authUrl, clientId, clientSecret } = sandbox;
  const redirectUri = `http://localhost:${await freePort()}/from/the/crm`;
  const crm = ['--crm-url', baseUrl, '--auth-url', authUrl, '--client-id', clientId, '--redirect-uri', redirectUri];
  const start = run(START, ['--keep', '--entity', 'leads', '--poll-seconds', '1', ...crm], {
    CRM_CLIENT_SECRET: clientSecret,
  });

  const [, url = ''] = await start.says(/^Open: (http\S+)$/m);
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(redirectUri);
  expect(await approveConsent(url)).toMatch(/^200 /);
  const [, exported = ''] = await start.says(/^ {2}export (.+)$/m);
  await start.says(/^ {2}npx --no -- crm-export probe$/m);

  const environment = Object.fromEntries(exported.split(' ').map((each) => each.split('=')));
  const probe = run('cli/main.js', ['probe'], environment);
  expect(await probe.ended, probe.stderr()).toBe(0);
  expect(probe.stdout()).toMatch(/^ {2}GET \/leads\/fields -> 200 application\/json /m);
  expect(probe.stdout()).toMatch(/^✓ file-format +as assumed: It is csv, utf-8, line breaks \S+\.$/m);
  start.child.kill('SIGINT');
  expect(await start.ended, start.stderr()).toBe(0);
});

import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { parseOptions } from '../../local/options.ts';
import { expectTexts } from '../support/screen.ts';

const secret = { CRM_CLIENT_SECRET: 'the-secret' };
const crm = ['--crm-url', 'https://crm.example/api/v1/', '--auth-url', 'https://crm.example/auth', '--client-id', 'me'];

/** commander writes errors to standard error, and help to standard output. */
beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterAll(() => {
  vi.restoreAllMocks();
});

test('reads every option', () => {
  const args = ['--keep', '--json', '--endpoint-url', 'http://localhost:4566/', '--poll-seconds', '7', '--updates'];
  expect(parseOptions([...args, ...crm, '--port', '8400'], secret)).toEqual({
    entities: ENTITIES,
    keep: true,
    json: true,
    // S3 clients put the bucket in front of the host, and bucket.localhost does not resolve everywhere.
    endpointUrl: 'http://127.0.0.1:4566',
    pollSeconds: 7,
    updates: true,
    crm: {
      baseUrl: 'https://crm.example/api/v1',
      authUrl: 'https://crm.example/auth',
      clientId: 'me',
      clientSecret: 'the-secret',
      callback: { port: 8400 },
    },
  });
});

const redirect = (uri: string) => [...crm, '--redirect-uri', uri];

test('refuses wrong options in one sentence', async () => {
  const rows: [what: string, args: string[], env?: NodeJS.ProcessEnv][] = [
    ['an unknown entity', ['--entity', 'contact']],
    ['an unknown option', ['--jsn']],
    ['a poll interval of 0', ['--poll-seconds', '0']],
    ['two redirect addresses', ['--port', '1', ...redirect('http://localhost:2/')]],
    ['a file as an address', ['--crm-url', 'file:///etc/passwd']],
    ['a cloud on another host', ['--endpoint-url', 'http://127.0.0.1.evil.example']],
    ['a CRM without its secret', crm, {}],
    ['an incomplete CRM', crm.slice(0, 2)],
    ['an address that the configuration refuses', ['--crm-url', 'https://crm.example', ...crm.slice(2)]],
    ['a redirect address on another host', redirect('https://crm.example/back')],
    ['a relative redirect address', redirect('back')],
    ['a port without a CRM', ['--port', '8400'], {}],
    ['a second night without meetings', ['--second-night', '--entity', 'leads']],
    ['a second night of another CRM', ['--second-night', ...crm]],
  ];
  const refused = (args: string[], env: NodeJS.ProcessEnv) => {
    try {
      return `accepted: ${JSON.stringify(parseOptions(args, env))}`;
    } catch (error) {
      return String(error);
    }
  };
  await expectTexts(
    'start-refusals',
    rows.map(([what, args, env = secret]) => [what, refused(args, env)]),
  );
});

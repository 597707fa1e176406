import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { parseOptions } from '../../local/options.ts';

const secret = { CRM_CLIENT_SECRET: 'the-secret' };
const crm = ['--crm-url', 'https://crm.example/api/v1/', '--auth-url', 'https://crm.example/auth', '--client-id', 'me'];

/** commander writes errors to standard error, and help to standard output. */
beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterAll(() => {
  vi.restoreAllMocks();
});

test('without options, all seven entities are exported once', () => {
  expect(parseOptions([], {})).toEqual({ entities: ENTITIES });
});

test('reads every option', () => {
  const args = ['--keep', '--json', '--endpoint-url', 'http://localhost:4566/', '--poll-seconds', '7', '--updates'];
  expect(parseOptions([...args, ...crm, '--port', '8400', '--file-host', 'files.example'], secret)).toEqual({
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
      fileHosts: ['files.example'],
      callback: { port: 8400 },
    },
  });
});

const redirect = (uri: string) => [...crm, '--redirect-uri', uri];

test.for<[string, string[], NodeJS.ProcessEnv, RegExp]>([
  ['an unknown entity', ['--entity', 'contact'], {}, /no entity "contact" \(did you mean "contacts"\?\); there are /],
  ['an unknown option', ['--jsn'], {}, /unknown option '--jsn'.*--json/s],
  ['a poll interval of 0', ['--poll-seconds', '0'], {}, /A whole number from 1 to 3600/],
  ['two redirect addresses', ['--port', '1', ...redirect('http://localhost:2/')], {}, /cannot be used with option/],
  ['a file as an address', ['--crm-url', 'file:///etc/passwd'], {}, /An address begins with http/],
  ['a cloud on another host', ['--endpoint-url', 'http://127.0.0.1.evil.example'], {}, /loopback/],
  ['a CRM without its secret', crm, {}, /: the environment variable CRM_CLIENT_SECRET is missing\.$/],
  ['an incomplete CRM', crm.slice(0, 2), secret, /: --auth-url, --client-id is missing\.$/],
  [
    'an address that the configuration refuses',
    ['--crm-url', 'https://crm.example', ...crm.slice(2)],
    secret,
    /baseUrl/,
  ],
  [
    'a redirect address on another host',
    redirect('https://crm.example/back'),
    secret,
    /an http address of this machine/,
  ],
  ['a relative redirect address', redirect('back'), secret, /must be an absolute address/],
  ['a port without a CRM', ['--port', '8400'], {}, /: --crm-url, --auth-url, --client-id, .* is missing\.$/],
  ['a second night without meetings', ['--second-night', '--entity', 'leads'], {}, /--entity meetings/],
  ['a second night of another CRM', ['--second-night', ...crm], secret, /leave out --crm-url/],
])('refuses %s', ([, args, env, sentence]) => {
  expect(() => parseOptions(args, env)).toThrow(sentence);
});

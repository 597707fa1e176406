import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { parseOptions } from '../../local/options.ts';

const none = {};
const secret = { CRM_CLIENT_SECRET: 'the-secret' };
const crm = ['--crm-url', 'https://crm.example/api/v1/', '--auth-url', 'https://crm.example/auth', '--client-id', 'me'];

/** commander writes what is wrong to standard error, and help to standard output. */
const written: string[] = [];
beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  }
});
afterAll(() => {
  vi.restoreAllMocks();
});

test('without options all seven entities are exported, once', () => {
  expect(parseOptions([], none)).toEqual({
    entities: ENTITIES,
    keep: false,
    json: false,
    secondNight: false,
    tables: false,
    updates: false,
  });
});

test('every option is read', () => {
  const args = [
    '--keep',
    '--json',
    '--endpoint-url',
    'http://127.0.0.1:4566/',
    '--poll-seconds',
    '7',
    '--updates',
    ...crm,
  ];
  expect(parseOptions(args, secret)).toEqual({
    entities: ENTITIES,
    keep: true,
    json: true,
    endpointUrl: 'http://127.0.0.1:4566',
    pollSeconds: 7,
    updates: true,
    secondNight: false,
    tables: false,
    crm: {
      url: 'https://crm.example/api/v1',
      authUrl: 'https://crm.example/auth',
      clientId: 'me',
      clientSecret: 'the-secret',
      callback: {},
    },
  });
});

test('a client of another CRM may have a fixed redirect address on this machine', () => {
  const callback = (...args: string[]) => parseOptions([...crm, ...args], secret).crm?.callback;
  expect(callback('--port', '8400')).toEqual({ port: 8400 });
  const redirectUri = 'http://localhost:8400/back';
  expect(callback('--redirect-uri', redirectUri)).toEqual({ redirectUri });
  expect(() => callback('--redirect-uri', 'https://crm.example/back')).toThrow(
    /must be an http address of this machine/,
  );
  expect(() => callback('--redirect-uri', 'back')).toThrow(/must be an absolute address/);
  expect(() => parseOptions(['--port', '8400'], none)).toThrow(/add --crm-url/);
});

const refused: [string, string[], RegExp][] = [
  [
    'an unknown entity',
    ['--entity', 'contact'],
    /no entity "contact" \(did you mean "contacts"\?\); there are leads, /,
  ],
  ['an unknown option', ['--jsn'], /unknown option '--jsn'.*--json/],
  ['waits of no length', ['--poll-seconds', '0'], /Whole seconds from 1 to 3600/],
  [
    'two redirect addresses',
    ['--port', '1', '--redirect-uri', 'http://localhost:2/'],
    /cannot be used with option '--port/,
  ],
  ['a file as an address', ['--crm-url', 'file:///etc/passwd'], /An address begins with http/],
  ['a cloud that looks near', ['--endpoint-url', 'http://127.0.0.1.evil.example'], /loopback/],
];

test.for(refused)('%s is refused', ([, args, sentence]) => {
  expect(() => parseOptions(args, none)).toThrow(
    expect.objectContaining({ name: 'CommanderError', message: expect.stringMatching(new RegExp(sentence, 's')) }),
  );
});

test('half a CRM is refused, and what is missing is named', () => {
  const wrong = (args: string[], env: NodeJS.ProcessEnv) => {
    try {
      return parseOptions(args, env);
    } catch (error) {
      return error;
    }
  };
  expect(wrong(crm, none)).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/: the environment variable CRM_CLIENT_SECRET is missing\.$/),
  });
  expect(wrong(crm.slice(0, 2), secret)).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/: --auth-url, --client-id is missing\.$/),
  });
});

test('a second night is one of the sandbox, with its meetings', () => {
  expect(parseOptions(['--second-night'], none)).toMatchObject({ secondNight: true });
  expect(() => parseOptions(['--second-night', '--entity', 'leads'], none)).toThrow(/--entity meetings/);
  expect(() => parseOptions(['--second-night', ...crm], secret)).toThrow(/leave out --crm-url/);
});

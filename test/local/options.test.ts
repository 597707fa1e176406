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

test('entities are taken in the order given, each once', () => {
  const args = ['--entity', 'customers', '--entity', 'agent-numbers', '--entity', 'customers'];
  expect(parseOptions(args, none).entities).toEqual(['customers', 'agent-numbers']);
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

test('the files of another CRM may lie on hosts of their own', () => {
  const hosts = ['--file-host', 'files.example', '--file-host', '.cdn.example'];
  expect(parseOptions([...crm, ...hosts], secret).crm?.fileHosts).toEqual(['files.example', '.cdn.example']);
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

test('a secret in the environment alone does not ask for another CRM', () => {
  expect(parseOptions([], secret).crm).toBeUndefined();
});

test('a local cloud is at a loopback address, by any of its names', () => {
  const read = (url: string) => parseOptions(['--endpoint-url', url], none).endpointUrl;
  expect(read('http://localhost:4566')).toBe('http://127.0.0.1:4566');
  expect(read('http://[::1]:4566')).toBe('http://[::1]:4566');
  expect(read('http://127.1.2.3:4566')).toBe('http://127.1.2.3:4566');
});

const refused: [string, string[], RegExp][] = [
  [
    'an unknown entity',
    ['--entity', 'contact'],
    /no entity "contact" \(did you mean "contacts"\?\); there are leads, /,
  ],
  ['an unknown option', ['--jsn'], /unknown option '--jsn'.*--json/],
  ['a stray word', ['leads'], /too many arguments/],
  ['an option without its value', ['--entity'], /argument missing/],
  ['waits of no length', ['--poll-seconds', '0'], /Whole seconds from 1 to 3600/],
  ['waits that are no number', ['--poll-seconds', 'soon'], /Whole seconds/],
  ['waits of half a second', ['--poll-seconds', '0.5'], /Whole seconds/],
  ['a port that is none', ['--port', '0'], /A port is a whole number from 1 to 65535/],
  [
    'two redirect addresses',
    ['--port', '1', '--redirect-uri', 'http://localhost:2/'],
    /cannot be used with option '--port/,
  ],
  ['a file as an address', ['--crm-url', 'file:///etc/passwd'], /An address begins with http/],
  ['no address', ['--auth-url', 'crm'], /An address begins with http/],
  ['a cloud elsewhere', ['--endpoint-url', 'https://s3.amazonaws.com'], /loopback/],
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

test('addresses that no configuration may have are refused at once, in the words of the configuration', () => {
  const addresses = ['--crm-url', 'https://crm.example', '--auth-url', 'https://crm.example/auth/authorize'];
  expect(() => parseOptions([...addresses, '--client-id', 'me'], secret)).toThrow(
    expect.objectContaining({
      exitCode: 2,
      message: expect.stringMatching(
        /^crm\.baseUrl: must end in \/api\/v1: .*\ncrm\.authUrl: must not end in \/authorize: /,
      ),
    }),
  );
});

test('help names every option', () => {
  written.length = 0;
  expect(() => parseOptions(['--help'], none)).toThrow(expect.objectContaining({ exitCode: 0 }));
  for (const option of [
    '--entity',
    '--keep',
    '--json',
    '--crm-url',
    '--port',
    '--redirect-uri',
    '--endpoint-url',
    '--poll-seconds',
  ]) {
    expect(written.join('')).toContain(option);
  }
});

test('tables are made of any entity, of any CRM', () => {
  expect(parseOptions(['--tables', '--entity', 'meetings'], none)).toMatchObject({ tables: true });
  expect(parseOptions(['--tables', ...crm], secret)).toMatchObject({ tables: true });
});

test('a second night is one of the sandbox, with its meetings', () => {
  expect(parseOptions(['--second-night'], none)).toMatchObject({ secondNight: true });
  expect(() => parseOptions(['--second-night', '--entity', 'leads'], none)).toThrow(/--entity meetings/);
  expect(() => parseOptions(['--second-night', ...crm], secret)).toThrow(/leave out --crm-url/);
});

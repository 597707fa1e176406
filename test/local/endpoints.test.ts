import { expect, test } from 'vitest';
import { LOADERS } from '../../cli/loaders.ts';
import { createProgram } from '../../cli/program.ts';
import { endpointLines } from '../../local/endpoints.ts';
import { faultSchema } from '../../sandbox/faults.ts';

const RUNNING = {
  cloud: { endpoint: 'http://127.0.0.1:4566' },
  crm: { url: 'http://127.0.0.1:4010/api/v1', authUrl: 'http://127.0.0.1:4010/auth' },
  target: { StateMachineArn: 'arn:aws:states:x', BucketName: 'bucket' },
  configurationFile: '/cache/local.json',
};

const withSandbox = endpointLines({ ...RUNNING, sandbox: { url: 'http://127.0.0.1:4010' }, updates: true }, []);
const commands = withSandbox.flatMap((line) => /^ {2}npx --no -- crm-export (.+)$/.exec(line)?.[1] ?? []);

test('the commands to look around with are named', () => {
  expect(commands.map((command) => command.split(' ')[0])).toEqual(
    expect.arrayContaining(['start', 'show', 'report', 'doctor', 'probe', 'authorize', 'update']),
  );
});

test.each(commands)('the command knows: %s', async (line) => {
  const [name = '', ...args] = line.split(' ');
  const program = await createProgram(LOADERS);
  let parsed = false;
  program.commands
    .find((each) => each.name() === name)
    ?.action(() => {
      parsed = true;
    });
  await program.parseAsync([name, ...args], { from: 'user' });
  expect(parsed).toBe(true);
});

test.each(['doctor', 'probe'])('%s, which reads a configuration, is given the one that is deployed', (name) => {
  const found = commands.find((command) => command.startsWith(`${name} `));
  expect(found).toContain(`--configuration ${RUNNING.configurationFile}`);
});

test('how to make a fault, and to end it, is printed for the sandbox only', () => {
  const [, url, fault = ''] = /curl (\S+) --json '(.+)'/.exec(withSandbox.join('\n')) ?? [];
  expect(url).toBe('http://127.0.0.1:4010/_sandbox/faults');
  expect(faultSchema.safeParse(JSON.parse(fault)).error).toBeUndefined();
  expect(withSandbox.join('\n')).toContain('curl -X DELETE http://127.0.0.1:4010/_sandbox/faults');
  expect(endpointLines({ ...RUNNING, sandbox: undefined, updates: false }, []).join('\n')).not.toMatch(
    /_sandbox|cli -- update/,
  );
});

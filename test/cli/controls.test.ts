import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { CommandName } from '../../cli/program.ts';
import { tempDir, tempFile } from '../support/project.ts';
import { fault, refused } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { executions } from './support/cloud/executions.ts';
import { stack, UPDATES_MACHINE } from './support/cloud/stack.ts';
import { updatingCloud } from './support/cloud/updates.ts';
import type { CliResult } from './support/run-cli.ts';
import { runCli, runCliWith } from './support/run-cli.ts';
import { fileOf, jsonl, people } from './support/sent-batch.ts';

const codes = [...Array(32).keys(), ...Array.from({ length: 33 }, (_, code) => 0x7f + code)];
const CONTROLS = String.fromCharCode(...codes, 0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069);
/** Every control character, and the sequences that set a title, clear the terminal, or set a colour. */
const HOSTILE = `\x1b]0;owned\x07\x1b[2J\x9b31m\x1b[8m${CONTROLS}.`;
/** Characters that no command may print, whatever its input. */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

function expectHarmless({ stdout, stderr }: CliResult): string {
  const shown = `${stdout}${stderr}`;
  expect(shown.replace(/[\n\t]/g, '')).not.toMatch(OBEYED);
  return shown;
}

/** The calls of each command: required arguments, and `--json` if it has it. */
const CALLS: Record<CommandName, string[][]> = {
  init: [['--crm-url', `https://crm.example/${HOSTILE}`, '--auth-url', HOSTILE, '--time-zone', HOSTILE]],
  status: [[], ['--json']],
  start: [['leads'], ['leads', '--json']],
  follow: [['leads'], [HOSTILE]],
  list: [[], ['--json']],
  show: [['leads'], ['leads', '--json'], [HOSTILE]],
  logs: [['leads']],
  download: [
    ['leads', '--force', '--json'],
    ['--all', '--date', '2026-11-20'],
    ['leads', '--excel'],
  ],
  peek: [['leads'], ['leads', '--columns'], ['leads', '--run', HOSTILE]],
  diff: [
    ['leads', '--show-keys'],
    ['leads', '--show-keys', '--json'],
  ],
  report: [['-o', '-']],
  retry: [['leads']],
  backfill: [['leads', '--from', '2026-11-18', '--to', '2026-11-20', '--dry-run']],
  release: [['leads', '--reason', HOSTILE]],
  table: [['leads']],
  changes: [['leads'], ['leads', '--json']],
  readers: [[HOSTILE], ['arn:aws:iam::111122223333:role/x']],
  stop: [['leads', '--yes']],
  plan: [['leads', '--configuration', 'config/example.json', '--json']],
  pause: [['leads'], [HOSTILE]],
  resume: [['leads']],
  authorize: [['--client-id', HOSTILE, '--no-browser', '--timeout', '1']],
  probe: [[], ['--json']],
  doctor: [[], ['--json']],
  verify: [['--json'], []],
  update: [['--resume', 'update-1', '--yes', '--json']],
  'update-status': [[], ['--json'], ['update-1']],
};
const calls = Object.entries(CALLS).flatMap(([name, all]) => all.map((args) => [name, ...args]));

beforeEach(async () => {
  // Commands write downloads and configurations into the current folder.
  const folder = await tempDir();
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  return () => vi.restoreAllMocks();
});

describe('names, records and causes that are full of control characters', () => {
  const run = {
    name: 'leads-20261120T020000Z-1a2b3c',
    input: { entity: 'leads' },
    start: '2026-11-20T02:00:00.000Z',
    stop: '2026-11-20T02:01:00.000Z',
  };
  const failed = { ...run, status: 'FAILED', error: `Export${HOSTILE}Failed`, cause: `The CRM says ${HOSTILE}` };

  async function hostileCloud() {
    const line = { level: 'INFO', message: HOSTILE, execution: failed.name, step: HOSTILE, [HOSTILE]: HOSTILE };
    const cloud = await aws(
      { FilterLogEvents: { events: [{ message: JSON.stringify(line), timestamp: 1 }] }, StopExecution: {} },
      stack({ UpdatesStateMachineArn: UPDATES_MACHINE }),
      executions([failed]),
    );
    const column = `na${HOSTILE.replace(/[\n\r]/g, '')}me`;
    const content = (name: string) => `id,"${column}"\n1,"${HOSTILE}${name}"\n"2${HOSTILE}",b${name}\n`;
    for (const [date, name] of [
      ['2026-11-19', 'a'],
      ['2026-11-20', 'b'],
    ] as const) {
      const fields = [{ name: column, type: HOSTILE, label: HOSTILE }];
      const manifest = { warnings: [`A column ${HOSTILE}`], fields, file: { header: ['id', column], rows: 2 } };
      cloud.publish({ date, execution: `leads-${date}${HOSTILE}`, content: content(name), manifest });
    }
    return cloud;
  }

  test.each(calls)('are never printed raw by: %s', async (...args) => {
    const { cli } = await hostileCloud();
    expectHarmless(await cli(...args));
  });

  test.each([[['logs', 'leads']], [['peek', 'leads']], [['diff', 'leads', '--show-keys']], [['show', 'leads']]])(
    '%s prints them as escapes',
    async (args) => {
      const { cli } = await hostileCloud();
      expect(expectHarmless(await cli(...args))).toContain(String.raw`\u001b]0;owned\u0007`);
    },
  );

  test('a terminal gets only the colours of the command itself', async () => {
    const { place } = await hostileCloud();
    const { isTTY } = process.stdout;
    process.stdout.isTTY = true;
    const { stdout } = await runCliWith({ NO_COLOR: undefined }, 'show', 'leads', ...place);
    process.stdout.isTTY = isTTY;
    expect(stdout).toContain('\x1b[31m');
    expect(stdout).toContain(String.raw`\u001b[8m`);
    expect(stdout).not.toContain('\x1b[8m');
  });
});

describe('errors of AWS that are full of control characters', () => {
  const trouble = fault('*', refused(`Error${HOSTILE}`, `It says ${HOSTILE}`));

  test.each(calls)('are never printed raw by: %s', async (...args) => {
    const { cli } = await aws(trouble, stack({ UpdatesStateMachineArn: UPDATES_MACHINE }));
    expectHarmless(await cli(...args));
  });

  test('are never printed raw by the function that finds the stack for every command', async () => {
    const message = `It says ${HOSTILE.replaceAll('\0', '')}`;
    const { cli } = await aws(fault('DescribeStacks', refused('ValidationError', message)));
    expect(expectHarmless(await cli('list'))).toContain('It says');
  });
});

test('no control character is printed from update files, or from names and causes of batches', async () => {
  const crash = { error: `StepCrashed${HOSTILE}`, cause: `It died.${HOSTILE}` };
  const { cli, batches } = await updatingCloud({ crash, looks: 1 });
  const bad = fileOf(
    jsonl([
      { id: HOSTILE, [HOSTILE]: HOSTILE },
      { id: '1', city: 2 },
    ]),
  );
  expectHarmless(await cli('update', bad, '--dry-run'));
  expect(expectHarmless(await cli('update', fileOf(jsonl(people(2))), '--yes'))).toContain('StepCrashed');
  const [found] = [...batches.values()];
  if (found) found.input = JSON.stringify({ file: `updates/named${HOSTILE}/input.jsonl` });
  expect(expectHarmless(await cli('update-status'))).toContain('StepCrashed');
  const document = await cli('update-status', '--json');
  expectHarmless(document);
  expect(JSON.parse(document.stdout).batches[0]).toMatchObject({ ...crash, batch: `named${HOSTILE}` });
});

test('no control character is printed from names that a person types, or from a configuration', async () => {
  const file = tempFile(JSON.stringify({ [HOSTILE]: HOSTILE, crm: { baseUrl: HOSTILE } }), 'bad.json');
  const typed = [
    [HOSTILE],
    ['show', 'x', `--${HOSTILE}`],
    ['list', '--deployment', HOSTILE],
    ['update', HOSTILE, '--deployment', 'x', '--dry-run'],
    ['plan', '--deployment', 'x', '--configuration', file],
    ['plan', '--deployment', 'x', '--configuration', HOSTILE],
    ['completion', HOSTILE],
    ['help', HOSTILE],
  ];
  for (const args of typed) expectHarmless(await runCli(...args));
  expectHarmless(await runCliWith({ CRM_EXPORT_DEPLOYMENT: HOSTILE }, 'list'));
});

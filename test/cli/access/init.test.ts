import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfiguration } from '../../../core/config/configuration.ts';
import { tree } from '../../lib/support/files.ts';
import { inTerminal } from '../../support/pty.ts';
import { runCli } from '../support/run-cli.ts';

const LOOPBACK = 'http://127.0.0.1:4566';
const CRM = ['--crm-url', 'https://crm.test/api/v1', '--auth-url', 'https://auth.test'];
const crm = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };

/** Ctrl-U empties the line, which still contains the refused answer. */
const CLEAR = '\x15';

/** A folder for the configuration of a deployment, and its later content. */
function place() {
  const folder = tree({});
  const file = join(folder, 'prod.json');
  return {
    file,
    args: ['init', '--deployment', 'prod', '--configuration', file],
    files: () => readdirSync(folder),
    written: () => JSON.parse(readFileSync(file, 'utf8')),
  };
}

test('without a terminal, init takes its answers from options and writes no defaults', async () => {
  const { args, files, written, file } = place();

  const { code, stdout, stderr } = await runCli(...args, ...CRM);

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(written()).toEqual({ crm });
  expect(files()).toEqual(['prod.json']);
  expect(stdout.split('\n')).toEqual([
    `Written: ${file}. Every other setting has its default (docs/configuration.md): customerUpdates is off. Next:`,
    `  npx --no -- crm-export plan --configuration ${file} --deployment prod`,
    `  npx cdk deploy -c deployment=prod -c configuration=${file}`,
    '  npx --no -- crm-export authorize --client-id ID --port PORT --run leads --deployment prod',
    '  npx --no -- crm-export probe --deployment prod',
    '  npx --no -- crm-export doctor --deployment prod',
    '',
  ]);
});

test('init has an option for every question, and writes a file that a deployment can read', async () => {
  const { args, written, file } = place();
  const more = ['--time-zone', 'Asia/Jerusalem', '--at', '02:15', '--entities', 'leads, customers'];

  const { code } = await runCli(...args, ...CRM, ...more, '--email', 'a@b.test,c@d.test');

  expect(code).toBe(0);
  const off = { enabled: false };
  expect(written()).toEqual({
    crm,
    timeZone: 'Asia/Jerusalem',
    nightly: { at: '02:15' },
    entities: { 'agent-numbers': off, workflows: off, contacts: off, meetings: off, employers: off },
    alarms: { email: ['a@b.test', 'c@d.test'] },
  });
  const { deployment } = readConfiguration('prod', file, undefined);
  const nightly = Object.entries(deployment.entities).filter(([, { enabled }]) => enabled);
  expect(nightly.map(([entity]) => entity)).toEqual(['leads', 'customers']);
});

test('for a local cloud, init writes a local configuration, which may use loopback addresses', async () => {
  const { args, file } = place();
  const url = ['--crm-url', 'http://127.0.0.1:8080/api/v1', '--auth-url', 'http://127.0.0.1:8080/auth'];

  const { code, stdout, stderr } = await runCli(...args, ...url, '--endpoint-url', LOOPBACK);

  expect(code).toBe(0);
  expect(stderr).toBe(`It is for the local cloud at ${LOOPBACK}: "local" is true.\n`);
  expect(stdout).toContain(`  AWS_ENDPOINT_URL=${LOOPBACK} npx cdk deploy -c deployment=prod`);
  expect(readConfiguration('prod', file, LOOPBACK).deployment.local).toBe(true);
});

test.each([
  ['that does not exist', '/nowhere/prod.json', 'ENOENT'],
  ['that is a file', `${import.meta.filename}/prod.json`, 'ENOTDIR'],
])('init reports a folder %s in one line', async (_, file, why) => {
  const { code, stderr } = await runCli('init', '--deployment', 'prod', ...CRM, '--configuration', file);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: `${file} could not be written (${why}): name a file elsewhere with --configuration.\n`,
  });
});

test('at a terminal, init checks each answer at once, and Enter takes the default that it shows', async () => {
  const { file, written } = place();
  const { type, shows, ended, shown } = inTerminal(['cli/main.js', 'init', '--configuration', file]);

  await shows(/Name of the new deployment/);
  type('Prod\r');
  await shows(/> A name starts with a letter and has at most 31 /);
  type(`${CLEAR}prod\r`);
  await shows(/ends in \/api\/v1:/);
  type('http://crm.test/api/v1\r');
  await shows(/> crm\.baseUrl: must start with https: \(http is for local deployments\)\./);
  type(`${CLEAR}https://crm.test/api/v1\r`);
  await shows(/before \/authorize and \/oauth\/token:/);
  type('https://auth.test\r');
  await shows(/IANA time zone [^\n]*: \(UTC\)/);
  type('Asia/Jerusalem\r');
  await shows(/Start of the night [^\n]*: \(01:00 UTC\)/);
  type('\r');
  await shows(/Entities to export every night[^\n]*: \(all\)/);
  type('leads meetings leeds\r');
  await shows(/> There is no entity "leeds" \(did you mean "leads"\?\)/);
  type(`${CLEAR}all\r`);
  await shows(/mail for every alarm[^\n]*: \(none\)/);
  type('night@watch.test\r');

  expect(await ended, shown()).toBe(0);
  expect(written()).toEqual({ crm, timeZone: 'Asia/Jerusalem', alarms: { email: ['night@watch.test'] } });
  expect(shown()).toMatch(/Next:\r\n {2}npx --no -- crm-export plan /);
});

test.for([
  ['Ctrl-C', '\x03', 130],
  ['end of input', '\x04', 2],
] as const)('init writes no file if its questions end with %s', async ([, key, code]) => {
  const { args, files } = place();
  const { shows, shown, type, ended } = inTerminal(['cli/main.js', ...args, ...CRM]);
  await shows(/IANA time zone[^\n]*: /);
  type(key);

  expect(await ended, shown()).toBe(code);
  expect(shown()).toContain('Nothing was written.');
  expect(files()).toEqual([]);
});

test('init asks for nothing that an option answers, and does not overwrite a file that appears meanwhile', async () => {
  const { args, file, files } = place();
  const options = [...CRM, '--at', '01:00', '--email', 'none'];
  const { shows, type, ended, shown } = inTerminal(['cli/main.js', ...args, ...options]);
  await shows(/IANA time zone[^\n]*: /);
  writeFileSync(file, 'of somebody else');
  type('\r');
  await shows(/Entities to export every night[^\n]*: /);
  type('\r');

  expect(await ended, shown()).toBe(2);
  expect(shown()).not.toMatch(/Name of|Address of|Start of the night|mail/);
  expect(files()).toEqual(['prod.json']);
  expect(readFileSync(file, 'utf8')).toBe('of somebody else');
});

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { readConfiguration } from '../../../core/config/configuration.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { tree } from '../../lib/support/files.ts';
import { inTerminal } from '../../support/pty.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';

const LOOPBACK = 'http://127.0.0.1:4566';
const CRM = ['--crm-url', 'https://crm.test/api/v1', '--auth-url', 'https://auth.test'];
const crm = { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' };
const entities = Object.fromEntries(ENTITIES.map((entity) => [entity, {}]));

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

test('without a terminal, init writes what the options say, and lists the next commands or one mistake', async () => {
  const { args, files, written, file } = place();
  const local = place();
  const loopback = ['--crm-url', 'http://127.0.0.1:8080/api/v1', '--auth-url', 'http://127.0.0.1:8080/auth'];
  const elsewhere = (folder: string) => [...CRM, '--deployment', 'prod', '--configuration', `${folder}/prod.json`];
  const lines: [string, string[]][] = [
    ['the addresses of the CRM', [...args, ...CRM]],
    ['the same file again', [...args, ...CRM]],
    ['no address', place().args],
    ['a local cloud', [...local.args, ...loopback, '--endpoint-url', LOOPBACK]],
    ['a folder that does not exist', ['init', ...elsewhere('/nowhere')]],
    ['a folder that is a file', ['init', ...elsewhere(file)]],
  ];
  const results: [string, CliResult][] = [];
  for (const [what, line] of lines) results.push([what, await runCli(...line)]);

  await expectResults('init', results);
  expect([files(), written()]).toEqual([['prod.json'], { crm, entities }]);
  expect(readConfiguration('prod', file, undefined).deployment.local).toBe(false);
  expect(readConfiguration('prod', local.file, LOOPBACK).deployment.local).toBe(true);
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
    entities: { ...entities, 'agent-numbers': off, workflows: off, contacts: off, meetings: off, employers: off },
    alarms: { email: ['a@b.test', 'c@d.test'] },
  });
  const { deployment } = readConfiguration('prod', file, undefined);
  const nightly = Object.entries(deployment.entities).filter(([, { enabled }]) => enabled);
  expect(nightly.map(([entity]) => entity)).toEqual(['leads', 'customers']);
});

test('at a terminal, init checks each answer at once, and Enter takes the default that it shows', async () => {
  const { file, written } = place();
  const { type, shows, ended, shown } = inTerminal(['cli/main.js', 'init', '--configuration', file]);

  await shows(/new deployment/);
  type('Prod\r');
  await shows(/> A name /);
  type(`${CLEAR}prod\r`);
  await shows(/\/api\/v1:/);
  type('http://crm.test/api/v1\r');
  await shows(/> crm\.baseUrl: /);
  type(`${CLEAR}https://crm.test/api/v1\r`);
  await shows(/\/oauth\/token:/);
  type('https://auth.test\r');
  await shows(/: \(UTC\)/);
  type('Asia/Jerusalem\r');
  await shows(/: \(01:00 UTC\)/);
  type('\r');
  await shows(/: \(all\)/);
  type('leads meetings leeds\r');
  await shows(/> .*"leeds"/);
  type(`${CLEAR}all\r`);
  await shows(/: \(none\)/);
  type('night@watch.test\r');

  expect(await ended, shown()).toBe(0);
  expect(written()).toEqual({ crm, timeZone: 'Asia/Jerusalem', entities, alarms: { email: ['night@watch.test'] } });
  expect(shown()).toMatch(/Next:\r\n {2}.* plan /);
});

test.for([
  ['Ctrl-C', '\x03', 130],
  ['end of input', '\x04', 2],
] as const)('init writes no file if its questions end with %s', async ([end, key, code]) => {
  const { args, files } = place();
  const { shows, shown, type, ended } = inTerminal(['cli/main.js', ...args, ...CRM]);
  await shows(/: \(UTC\)/);
  type(key);

  expect(await ended, shown()).toBe(code);
  expect(files()).toEqual([]);
  const lines = stripVTControlCharacters(shown())
    .trimEnd()
    .split(/[\r\n]+/);
  await expectTexts(`init-ended-${code}`, [[end, lines.at(-1) ?? '']]);
});

test('init asks for nothing that an option answers, and does not overwrite a file that appears meanwhile', async () => {
  const { args, file, files } = place();
  const options = [...CRM, '--at', '01:00', '--email', 'none'];
  const { shows, type, ended, shown } = inTerminal(['cli/main.js', ...args, ...options]);
  await shows(/: \(UTC\)/);
  writeFileSync(file, 'of somebody else');
  type('\r');
  await shows(/: \(all\)/);
  type('\r');

  // It waits for no further answer.
  expect(await ended, shown()).toBe(2);
  expect(files()).toEqual(['prod.json']);
  expect(readFileSync(file, 'utf8')).toBe('of somebody else');
});

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '../../cli/program.ts';
import { COMMAND_RIGHTS } from '../../scripts/command-tables.ts';
import { callsIn } from '../support/aws-calls.ts';

/** Calls whose right has another name. */
const ACTIONS: Record<string, string> = {
  CreateMultipartUpload: 'PutObject',
  HeadObject: 'GetObject',
  ListObjectsV2: 'ListBucket',
  ListObjectVersions: 'ListBucketVersions',
};
/**
 * Rights that are no calls of the SDK's clients: the key is used by AWS, a role is passed on, and lib-storage makes the
 * upload.
 */
const BEHIND = /^kms:|^iam:PassRole$|^s3:AbortMultipartUpload$/;

/** Asked of a local cloud alone, which has no rights. */
const OF_LOCAL_CLOUDS = ['s3:GetBucketEncryption', 'cloudwatch:ListMetrics'];

/** The file and all that it imports, now or later. */
function closure(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(file)) return seen;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) (?!type )[^;]*? from '(\.[^']+)';|import\('(\.[^']+)'\)/gm,
  );
  for (const [, now, later] of imports) closure(join(dirname(file), now ?? later ?? ''), seen);
  return seen;
}

/** Rights for the calls of AWS in a file. */
function actionsIn(file: string): string[] {
  const byVersion = /DeleteObjectCommand\(\{[^}]*VersionId/.test(readFileSync(file, 'utf8'));
  const actions = byVersion ? { ...ACTIONS, DeleteObject: 'DeleteObjectVersion' } : ACTIONS;
  return callsIn(file).map(({ service, call }) => `${service}:${actions[call] ?? call}`);
}

const definitions = globSync('cli/commands/*-commands.ts')
  .map((file) => readFileSync(file, 'utf8'))
  .join('');
const called = new Map(
  [...definitions.matchAll(/^ {2}'?([\w-]+)'?: \{\n[\s\S]*?import\('\.\.\/(.*?)'\)/gm)].map(
    ([, name = '', file = '']) => {
      return [name, new Set([...closure(join('cli', file))].flatMap(actionsIn))];
    },
  ),
);
const listed = new Set(COMMAND_RIGHTS.map(({ action }) => action));

test('init imports no client of AWS', () => {
  const texts = [...closure('cli/access/init.ts')].map((file) => readFileSync(file, 'utf8'));

  expect(texts.length).toBeGreaterThan(10);
  expect(texts.filter((text) => /^import (?!type )[^;]*? from '@aws-sdk\//m.test(text))).toEqual([]);
});

test('every command except init and completion has rights, and no other command is listed', async () => {
  const names = (await createProgram()).commands.map((command) => command.name());
  const withRights = COMMAND_RIGHTS.flatMap(({ commands }) => commands.map((command) => command.split(' ')[0]));

  expect(new Set(withRights)).toEqual(new Set(names.filter((name) => !/^(complet|init$)/.test(name))));
  expect([...called.keys()].toSorted()).toEqual([...new Set([...withRights, 'init'])].toSorted());
});

test('every AWS call of a command has a right in the table', () => {
  const calls = new Set([...called.values()].flatMap((actions) => [...actions]));

  const without = ['cloudformation:DescribeStacks', ...OF_LOCAL_CLOUDS];
  expect([...calls].filter((action) => !listed.has(action) && !without.includes(action))).toEqual([]);
});

test.each(COMMAND_RIGHTS.filter(({ action }) => !BEHIND.test(action)))(
  '$action on $on is needed by each command that the table names',
  ({ action, commands }) => {
    expect(commands.filter((command) => !called.get(command.split(' ')[0] ?? '')?.has(action))).toEqual([]);
  },
);

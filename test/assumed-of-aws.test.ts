import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DOCTOR_QUESTIONS } from '../cli/health/doctor.ts';
import { ALL_CHECKS } from '../cli/health/verify.ts';
import { LEFT_OVERS } from '../cli/health/verify-temporary.ts';
import { fullDeployment } from '../scripts/deployments.ts';
import { synthesise } from '../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../scripts/template.ts';
import { callsIn } from './support/aws-calls.ts';

/**
 * Holds docs/design/aws-assumptions.md against the code. A new call, resource type or integration
 * needs a row, as the head of the document says. Remove one that is gone from the second column.
 */

const FILE = 'docs/design/aws-assumptions.md';
const document = readFileSync(FILE, 'utf8');
/** Calls that `transfer/store` and `lib-storage` make without a command of the SDK. */
const BY_HAND = [
  's3:AbortMultipartUpload',
  's3:CompleteMultipartUpload',
  's3:CreateMultipartUpload',
  's3:GetObject',
  's3:HeadObject',
  's3:ListParts',
  's3:PutObject',
  's3:UploadPart',
];
const CHECKS = new Set([
  ...[...ALL_CHECKS, LEFT_OVERS].map(({ id }) => `verify ${id}`),
  ...Object.keys(DOCTOR_QUESTIONS).map((id) => `doctor ${id}`),
]);

interface Row {
  line: string;
  of: string[];
  source: string;
  shown: string[];
  last: string;
}

const rows = document
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (Fact|---) /.test(line))
  .map((line): Row => {
    const [, where = '', source = ''] = line.slice(2, -2).split(' | ');
    const [, asked = '', shown = ''] = /^((?:`[^`]+`(?:, )?)+): (.*)$/.exec(where) ?? [];
    return { line, of: codesIn(asked), source, shown: codesIn(shown), last: shown };
  });
const named = new Set(rows.flatMap(({ of }) => of));

function codesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Selects by the answer of AWS only. */
const isRecorded = ({ source }: Row) => source.includes('][') && !source.includes('](');
const lines = (some: Row[]) => some.map(({ line }) => line);

/** The calls, types and integrations of AWS that the product uses, each with one place that uses it. */
function used(): Map<string, string> {
  const found = new Map(BY_HAND.map((call) => [call, 'transfer/store']));
  for (const file of globSync('{cli,core,lambdas,transfer}/**/*.ts')) {
    for (const { service, call } of callsIn(file)) found.set(`${service}:${call}`, file);
  }
  const template = synthesise(fullDeployment());
  for (const [id, { Type }] of Object.entries(template.Resources)) found.set(Type, id);
  for (const name of ['ExportRun', 'CustomerUpdates'] as const) {
    for (const resource of resourcesOf(definitionOf(template, name))) found.set(resource, name);
  }
  return found;
}

/** `states:::lambda:invoke` and the like: what the states of a machine ask of other services. */
function resourcesOf({ States }: Definition): string[] {
  return Object.values(States).flatMap(({ Resource, ItemReader, ItemProcessor }) => {
    const own = [Resource, ItemReader?.Resource].flatMap((arn) => arn?.replace('arn:aws:', '') ?? []);
    return [...own, ...(ItemProcessor ? resourcesOf(ItemProcessor) : [])];
  });
}

describe('docs/design/aws-assumptions.md', () => {
  const all = used();

  test('has a row for every resource type, call and integration that the product uses', () => {
    const lacking = [...all].filter(([what]) => !named.has(what));

    expect(lacking.map(([what, where]) => `${what} (${where}) has no row in ${FILE}`)).toEqual([]);
  });

  test('has no row for a call, type or integration that the product does not use', () => {
    expect([...named].filter((what) => !all.has(what)).map((what) => `${what} is used no more: ${FILE}`)).toEqual([]);
  });

  test('has a source in every row, or says that the fact is assumed', () => {
    expect(lines(rows.filter(({ source }) => !/\]\(https:\/\/|\]\[|^assumed/.test(source)))).toEqual([]);
  });

  test('names only checks and tests that exist, and at least one in every row', () => {
    const unknown = rows.flatMap(({ shown }) => shown.filter((one) => !CHECKS.has(one) && !existsSync(one)));

    expect(unknown).toEqual([]);
    expect(lines(rows.filter(({ shown }) => shown.length === 0))).toEqual([]);
  });

  test('names a check of verify for every fact without a recording, or says why there is no check', () => {
    const open = rows.filter((row) => !isRecorded(row) && !row.shown.some((one) => one.startsWith('verify ')));

    expect(lines(open.filter(({ last }) => !/\bNo check: \S/.test(last)))).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { exampleDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { oneOf } from './support/template.ts';

const retentionDays = 11;
const updatesDays = 12;
const logRetentionDays = 7;
const template = synthesise(
  exampleDeployment({ retentionDays, updates: { retentionDays: updatesDays }, logRetentionDays }),
);
const KEPT: Record<number, string> = {
  [retentionDays]: '`retentionDays`',
  [updatesDays]: '`updates.retentionDays`',
  [logRetentionDays]: '`logRetentionDays`',
};

interface Rule {
  Prefix?: string;
  ExpirationInDays?: number;
  NoncurrentVersionExpiration?: { NoncurrentDays: number };
  AbortIncompleteMultipartUpload?: { DaysAfterInitiation: number };
}

const rulesOf = (bucket: string): Rule[] =>
  oneOf(template, 'AWS::S3::Bucket', bucket)[1].Properties.LifecycleConfiguration.Rules;
const rows = readFileSync('docs/removing-a-customer.md', 'utf8')
  .split('\n## ')[1]
  ?.split('\n')
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
/** The retention that the document gives for each place with this prefix. */
const saidOf = (place: string) =>
  new Set(rows?.filter(([first]) => first?.startsWith(place)).map((cells) => cells.at(-1)));

describe('docs/removing-a-customer.md', () => {
  const prefixes = rulesOf('ExportsBucket').flatMap(({ Prefix = '', ExpirationInDays = 0 }) =>
    Prefix ? [{ Prefix, ExpirationInDays }] : [],
  );

  test.each(prefixes)('says how long $Prefix is kept', ({ Prefix, ExpirationInDays }) => {
    expect(saidOf(`\`${Prefix}\``)).toEqual(new Set([KEPT[ExpirationInDays]]));
  });

  test('says how long versions, unfinished uploads and access logs are kept', () => {
    const [noncurrent] = rulesOf('ExportsBucket').flatMap((rule) => rule.NoncurrentVersionExpiration ?? []);
    const [unfinished] = rulesOf('ExportsBucket').flatMap((rule) => rule.AbortIncompleteMultipartUpload ?? []);
    const [lines] = rulesOf('ExportsAccessLogs').flatMap((rule) => rule.ExpirationInDays ?? []);

    expect(saidOf('Noncurrent versions')).toEqual(new Set([`${noncurrent?.NoncurrentDays} day`]));
    expect(saidOf('Unfinished uploads')).toEqual(new Set([`${unfinished?.DaysAfterInitiation} days`]));
    expect(saidOf('Bucket of access logs')).toEqual(new Set([KEPT[lines ?? 0]]));
  });
});

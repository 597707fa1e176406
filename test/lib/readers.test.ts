import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/settings.ts';
import { refuseLargePolicies } from '../../lib/export-app.ts';
import { feedDeployment, tableDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';
import { stackOf } from './support/stack.ts';
import { oneOf, statementsOf } from './support/template.ts';

/** The effect of the setting `readers` on the template. */

const ALL: Reader = { principal: '444455556666', entities: 'all', of: ['tables', 'files'] };
const ROLE: Reader = { ...ALL, principal: 'arn:aws:iam::777788889999:role/analyst' };
const sharing = (...readers: Reader[]) => ({ ...tableDeployment(), readers });

/** The resources, except for parts that change with every configuration. */
const resourcesOf = (...readers: Reader[]) =>
  Object.entries(synthesise(sharing(...readers)).Resources).filter(([id]) => !id.startsWith('Configuration'));

/** Functions contain the configuration, so their code always changes. */
const CODE = /^AWS::Lambda::/;

test('readers change the policies of bucket and key, and no other resource', () => {
  const before = new Map(resourcesOf().map(([id, resource]) => [id, JSON.stringify(resource)]));
  const changed = resourcesOf(ALL).filter(([id, resource]) => before.get(id) !== JSON.stringify(resource));

  expect(changed.map(([, { Type }]) => Type).filter((type) => !CODE.test(type))).toEqual([
    'AWS::KMS::Key',
    'AWS::S3::BucketPolicy',
  ]);
});

test('readers of tables may read feeds of their entities, and a stack without feeds does not name them', () => {
  const patterns = (deployment: Deployment) => [
    ...new Set(
      JSON.stringify(oneOf(synthesise(deployment), 'AWS::S3::BucketPolicy', 'ExportsBucket')).match(
        /changes\/entity=[^"]*/g,
      ),
    ),
  ];
  const ofLeads: Reader = { ...ALL, principal: '777788889999', entities: ['leads'] };
  const ofFiles: Reader = { principal: '111122223333', entities: ['leads'], of: ['files'] };

  expect(patterns(sharing(ALL))).toEqual([]);
  expect(patterns({ ...feedDeployment(), readers: [ALL, ofFiles] })).toEqual(['changes/entity=*/date=*']);
  expect(patterns({ ...feedDeployment(), readers: [ofLeads] })).toEqual(['changes/entity=leads/date=*']);
});

test.each<[string, Reader[], string[]]>([
  ['without readers', [], ['/tables/*']],
  ['with readers of tables', [{ ...ALL, of: ['tables'] }], ['/tables/*']],
  ['with readers of files', [{ ...ALL, entities: ['leads'] }], ['/runs/entity=leads/*', '/tables/*']],
])('%s, the functions may tag only what they share', (_, readers, keys) => {
  const [, policy] = oneOf(synthesise(sharing(...readers)), 'AWS::S3::BucketPolicy', 'ExportsBucket');
  const tagging = statementsOf(policy).filter(({ Action }) => [Action].flat().includes('s3:PutObjectTagging'));

  const resources = tagging.flatMap(({ Resource }) => [Resource].flat().map((one) => resolved(one)));
  expect(resources.map((arn) => arn.slice(arn.indexOf('/')))).toEqual(keys);
});

describe('policies that are too large for AWS', () => {
  const roles = (count: number) =>
    Array.from({ length: count }, (_, index): Reader => {
      return { ...ALL, principal: `arn:aws:iam::444455556666:role/analyst-${index}` };
    });
  const TOO_LARGE = /^readers: .* [23]\d,\d{3} bytes, .* 20,480/;
  const refusedFor = (deployment: Deployment) => refuseLargePolicies(stackOf(deployment).stack);

  test('are refused at synthesis, with their size', () => {
    expect(() => refusedFor(sharing(...roles(30)))).not.toThrow();
    const refused = () => refusedFor(sharing(...roles(100)));
    expect(refused).toThrow(expect.objectContaining({ constructor: ConfigurationError }));
    expect(refused).toThrow(TOO_LARGE);
  });

  test('are not those that fit even with the longest name of a bucket', () => {
    const kinds = [['tables', 'files'], ['tables'], ['files']] satisfies Reader['of'][];
    const choices = ['all', ['leads'], ['contacts'], ['leads', 'contacts']] satisfies Reader['entities'][];
    const readers = kinds
      .flatMap((of) => choices.map((entities) => ({ of, entities })))
      .map((reads, index): Reader => ({ principal: String(111122223333 + index), ...reads }));

    // They fit because the ARN of a bucket is 19 characters shorter than the longest one of a role.
    expect(() => refusedFor({ ...feedDeployment(), readers: readers.slice(0, 11) })).not.toThrow();
    expect(() => refusedFor({ ...feedDeployment(), readers })).toThrow(TOO_LARGE);
  });
});

test('roles with the same rights share their statements', () => {
  const other = { ...ALL, principal: 'arn:aws:iam::777788889999:role/loader' };
  const sids = (...readers: Reader[]) =>
    new Set(JSON.stringify(resourcesOf(...readers)).match(/"Sid":"Readers\d\w+"/g)).size;

  expect(sids(ROLE, other, ALL)).toBe(2 * sids(ALL));
});

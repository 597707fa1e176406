import { expect, test } from 'vitest';
import { differences, type Policy, policyOf } from '../../../../cli/checks/policies/document.ts';

const ROLE = 'arn:aws:iam::000000000000:role/PublishFile';
const DENY = {
  Sid: 'OtherKey',
  Effect: 'Deny',
  Principal: '*',
  Action: 's3:PutObject',
  Resource: 'arn:aws:s3:::b/*',
  Condition: { Null: { 's3:x-amz-key': 'false' }, NumericLessThan: { 's3:TlsVersion': 1.2 } },
};
const ALLOW = {
  Effect: 'Allow',
  Principal: { AWS: ROLE },
  Action: ['s3:GetObject', 's3:ListBucket'],
  Resource: ['arn:aws:s3:::b', 'arn:aws:s3:::b/runs/*'],
};
const ROOT = { Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::000000000000:root' }, Action: 'kms:*', Resource: '*' };

const policy = (...Statement: object[]) => policyOf(JSON.stringify({ Version: '2012-10-17', Statement })) as Policy;
const found = (...live: object[]) => differences(policy(DENY, ALLOW, ROOT), policy(...live));

test('what is written otherwise says the same: order, one value or a list, the case of names, numbers as text, the Sid', () => {
  const deny = {
    ...DENY,
    Sid: 'Rewritten20261123192507',
    Principal: { AWS: '*' },
    Action: ['S3:putobject'],
    Resource: ['arn:aws:s3:::b/*'],
    Condition: { NumericLessThan: { 'S3:tlsversion': ['1.2'] }, Null: { 's3:x-amz-key': false } },
  };
  const allow = {
    ...ALLOW,
    Principal: { AWS: [ROLE] },
    Action: ALLOW.Action.toReversed(),
    Resource: [...ALLOW.Resource.toReversed(), 'arn:aws:s3:::b'],
  };
  const root = { ...ROOT, Principal: { AWS: '000000000000' } };

  expect(found(root, allow, deny)).toEqual([]);
});

test('one statement needs no list', () => {
  const one = policyOf(JSON.stringify({ Version: '2012-10-17', Statement: ROOT })) as Policy;

  expect(differences(policy(ROOT), one)).toEqual([]);
});

test('a changed statement is named by its Sid, or by what it allows to whom, with what it lacks and has', () => {
  const deny = { ...DENY, Action: 's3:GetObject', Condition: { Null: { 's3:x-amz-key': 'true' } } };
  const allow = { ...ALLOW, Action: ['s3:GetObject', 's3:*'] };

  expect(found(deny, allow, ROOT)).toEqual([
    'OtherKey: Action lacks s3:PutObject and has s3:GetObject, Null s3:x-amz-key lacks false and has true, NumericLessThan s3:TlsVersion lacks 1.2',
    'Allow s3:GetObject and 1 more of PublishFile: Action lacks s3:ListBucket and has s3:*',
  ]);
});

test('a condition that nothing meets, for its list is empty or its key is there twice, is a difference', () => {
  const never = (Condition: object) => found(DENY, { ...ALLOW, Condition }, ROOT);
  const name = 'Allow s3:GetObject and 1 more of PublishFile';

  expect(never({ StringEquals: { 'aws:SourceVpc': [] } })).toEqual([
    `${name}: StringEquals aws:SourceVpc has (no value)`,
  ]);
  const twice = { ...DENY.Condition, null: { 'S3:X-Amz-Key': 'true' } };
  expect(found({ ...DENY, Condition: twice }, ALLOW, ROOT)).toEqual(['OtherKey: Null s3:x-amz-key has true']);
  expect(found({ ...DENY, Condition: { null: { 'S3:X-Amz-Key': 'true' }, ...DENY.Condition } }, ALLOW, ROOT)).toEqual([
    'OtherKey: Null s3:x-amz-key has true',
  ]);
});

test('a deleted role, whose id S3 shows in its place, is said as such', () => {
  const deleted = 'AROAEXAMPLEID1234567';

  expect(found(DENY, { ...ALLOW, Principal: { AWS: deleted } }, ROOT)).toEqual([
    `Allow s3:GetObject and 1 more of PublishFile: Principal lacks ${ROLE} and has ${deleted} (the id of a role or user that was deleted)`,
  ]);
});

test('a statement that is missing, and one that somebody added, are named', () => {
  const open = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::b/*' };

  expect(found(ALLOW, ROOT, open)).toEqual(['OtherKey is missing', 'Allow s3:GetObject of * is not in the template']);
});

test('the version counts, for variables have no meaning in the older one', () => {
  const older = policyOf(JSON.stringify({ Statement: [ROOT] })) as Policy;

  expect(differences(policy(ROOT), older)).toEqual(['its version is 2008-10-17, in the template 2012-10-17']);
});

test.each([undefined, '', '{', '[]', '{"Statement":"no"}', '{"Statement":[{"Action":1}]}'])(
  '%s is no policy',
  (text) => {
    expect(policyOf(text)).toBeUndefined();
  },
);

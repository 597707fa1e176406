import { describe, expect, test } from 'vitest';
import { type Accepted, compare, type Finding } from '../../scripts/scan/accepted.ts';
import { readAudit } from '../../scripts/scan/audit.ts';

const finding: Finding = { check: 'CKV_1', resource: 'AWS::Lambda::Function.CheckStatusFunction0C', text: 'No VPC' };
const accepted: Accepted = {
  check: 'CKV_1',
  resources: ['AWS::Lambda::Function'],
  reason: 'It calls public services only.',
  link: 'https://example.com',
};

describe('accepted findings', () => {
  test('cover a type of resource, or resources whose ids have a common prefix', () => {
    expect(compare([finding], [accepted])).toEqual([]);
    expect(compare([finding], [{ ...accepted, resources: ['AWS::Lambda::Function.CheckStatus'] }])).toEqual([]);
  });

  test('do not cover another check, type or id', () => {
    const other = 'CKV_2 AWS::Lambda::Function.CheckStatusFunction0C: No VPC';
    expect(compare([finding, { ...finding, check: 'CKV_2' }], [accepted])).toEqual([other]);
    expect(compare([finding], [{ ...accepted, resources: ['AWS::Lambda::Function.Create'] }])).toHaveLength(2);
  });

  test('do not cover an error of cfn-lint', () => {
    expect(compare([{ ...finding, check: 'E3002' }], [{ ...accepted, check: 'E3002' }])).toHaveLength(2);
  });

  test('that are no longer found are reported for each resource', () => {
    const more = { ...accepted, resources: [...accepted.resources, 'AWS::S3::Bucket'] };
    const gone = 'scripts/scan/accepted.ts: nothing is found for CKV_1 AWS::S3::Bucket any more';
    expect(compare([finding], [more])).toEqual([gone]);
  });
});

describe('advisories', () => {
  test('of high and critical severity are reported, and no others', () => {
    const vulnerabilities = {
      a: { severity: 'high', range: '<2.0.0' },
      b: { severity: 'critical', range: '*' },
      c: { severity: 'moderate', range: '*' },
    };

    expect(readAudit(JSON.stringify({ vulnerabilities }))).toEqual({ problems: ['a <2.0.0: high', 'b *: critical'] });
  });

  test('that the registry refuses are reported as refused, not as an empty list', () => {
    expect(readAudit('{"message":"405 Method Not Allowed","statusCode":405}')).toEqual({
      refused: '405 Method Not Allowed',
    });
  });
});

import { describe, expect, test } from 'vitest';
import { type Answer, compare, type Finding, readAnswers } from '../../scripts/scan/answers.ts';
import { readAudit } from '../../scripts/scan/audit.ts';

const finding: Finding = { check: 'CKV_1', resource: 'AWS::Lambda::Function.CheckStatusFunction0C', text: 'No VPC' };
const answer: Answer = {
  check: 'CKV_1',
  resource: 'AWS::Lambda::Function',
  reason: 'It calls public services only.',
  link: '[docs](https://example.com)',
};

describe('answers to findings', () => {
  test('stand in the table of the document', () => {
    const document = [
      '# Security',
      '',
      '## Findings of scanners that stay',
      '',
      '| Check | Resources | Why | Source |',
      '| --- | --- | --- | --- |',
      '| `CKV_1` | `AWS::Lambda::Function` | It calls public services only. | [docs](https://example.com) |',
      '',
      '## Next',
      '| `CKV_2` | `AWS::Lambda::Function` | In another chapter, so no answer. | [docs](https://example.com) |',
    ].join('\n');

    expect(readAnswers(document)).toEqual([answer]);
  });

  test('cover a type of resources, or those whose ids begin alike', () => {
    expect(compare([finding], [answer])).toEqual([]);
    expect(compare([finding], [{ ...answer, resource: 'AWS::Lambda::Function.CheckStatus' }])).toEqual([]);
  });

  test('are missing for a finding of another check, type or id', () => {
    expect(compare([{ ...finding, check: 'CKV_2' }], [])).toEqual([
      'CKV_2 AWS::Lambda::Function.CheckStatusFunction0C: No VPC',
    ]);
    expect(compare([finding], [{ ...answer, resource: 'AWS::Lambda::Function.Create' }])).toHaveLength(2);
  });

  test('do not cover an error of cfn-lint', () => {
    expect(compare([{ ...finding, check: 'E3002' }], [{ ...answer, check: 'E3002' }])).toHaveLength(2);
  });

  test('to nothing are reported', () => {
    expect(compare([], [answer])).toEqual([
      'docs/security.md: nothing is found for CKV_1 AWS::Lambda::Function any more',
    ]);
  });
});

describe('advisories', () => {
  test('of high and critical severity are reported, others are not', () => {
    const vulnerabilities = {
      a: { severity: 'high', range: '<2.0.0' },
      b: { severity: 'critical', range: '*' },
      c: { severity: 'moderate', range: '*' },
    };

    expect(readAudit(JSON.stringify({ vulnerabilities }))).toEqual({ problems: ['a <2.0.0: high', 'b *: critical'] });
  });

  test('that the registry does not give are not taken for none', () => {
    expect(readAudit('{"message":"405 Method Not Allowed","statusCode":405}')).toEqual({
      refused: '405 Method Not Allowed',
    });
  });
});

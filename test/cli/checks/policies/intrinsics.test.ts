import { expect, test } from 'vitest';
import { stackOf } from '../../../../cli/checks/deployed-stack.ts';
import { placeOf, resolve } from '../../../../cli/checks/policies/intrinsics.ts';
import { fullDeployment, synthesise } from '../../../../scripts/definition.ts';

const CHINA = placeOf('arn:aws-cn:states:cn-north-1:000000000000:stateMachine:crm-export-example-ExportRun');

/** The stack with everything on, whose physical ids are its logical ones. */
const stack = stackOf(
  Object.entries(synthesise(fullDeployment()).Resources).map(([logicalId, { Type, Properties = {} }]) => {
    return { logicalId, type: Type, properties: Properties, physicalId: logicalId };
  }),
);
const policies = [
  ...['S3::Bucket', 'SQS::Queue', 'SNS::Topic', 'IAM::'].flatMap((of) => stack.ofType(`AWS::${of}Policy`)),
  ...stack.ofType('AWS::KMS::Key'),
];

test('every reference in a policy of the template is known: whoever names another kind of resource adds its ARN', () => {
  const resolved = JSON.stringify(policies.map(({ properties }) => resolve(properties, stack, CHINA)));

  expect(policies.length).toBeGreaterThan(15);
  expect(resolved).not.toMatch(/"(Ref|Fn::\w+)"|undefined|\[object/);
});

test('partition, region and account are those of the deployment', () => {
  const at = (value: unknown) => resolve(value, stack, CHINA);
  const key = stack.ofType('AWS::KMS::Key')[0]?.physicalId ?? '';

  expect(at({ 'Fn::GetAtt': [key, 'Arn'] })).toBe(`arn:aws-cn:kms:cn-north-1:000000000000:key/${key}`);
  expect(at({ 'Fn::Join': ['.', ['logs', { Ref: 'AWS::Region' }, { Ref: 'AWS::URLSuffix' }]] })).toBe(
    'logs.cn-north-1.amazonaws.com.cn',
  );
});

test.each([
  ['another function', { 'Fn::Sub': 'x' }, /Fn::Sub/],
  ['another attribute', { 'Fn::GetAtt': ['Encryption', 'KeyId'] }, /Fn::GetAtt/],
  ['a resource that the stack does not have', { Ref: 'Nothing' }, /names Nothing, which the stack does not have/],
])('%s cannot be told', (_, value, message) => {
  expect(() => resolve({ Resource: [value] }, stack, CHINA)).toThrow(message);
});
